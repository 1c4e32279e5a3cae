package goal

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/workload"
)

// Job writes the schedule out for a fabric: rank i is GPU i. The error is a spec.Problems. A schedule can be written out
// once.
func (s *Schedule) Job(f *fabric.Fabric, priority uint8) (*dataflow.Result, error) {
	if s.processors != nil {
		s.Report.Note(s.processors, "a GPU computes one thing at a time: calculations on other processors than 0 wait for each other")
	}
	if s.any != nil {
		s.Report.Note(s.any, "receives from anyone (-1) get the message that would come first if all took equally long")
	}
	r := s.Graph.Plan(f, dataflow.Options{Span: workload.Span{Name: "schedule"}, Ranks: s.Ranks, Priority: priority}, s.Report)
	if err := s.Report.Err(); err != nil {
		return nil, err
	}
	return r, nil
}
