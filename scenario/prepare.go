package scenario

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/workload"
)

// Prepare builds the network, writes the job out and fills in the configuration, for those who look at a job without running it.
func (s *Scenario) Prepare() (*fabric.Fabric, *workload.Plan, netsim.Config, error) {
	f, err := s.build()
	if err != nil {
		return nil, nil, netsim.Config{}, err
	}
	if s.TooLarge() {
		return nil, nil, netsim.Config{}, ErrTooMany
	}
	plan, c, err := s.prepare(f)
	return f, plan, c, err
}
