package interop

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/interop/astrasim"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// Settings is what a file says of switches, NICs and the run without being a network or a job.
type Settings struct {
	Kind   Kind
	Config netsim.Config // the zero value of a field means its default
	Stop   units.Duration
	Notes  spec.Problems
}

// ReadSettings reads a configuration of HPCC, whose topology and flows are not looked at, or a system of ASTRA-sim. f is the
// fabric of the run; offset is the instant of the file's time at which the run begins (hpcc.Job.Offset), 0 for other
// jobs. The error is a spec.Problems where the file could be read.
func ReadSettings(path string, f *fabric.Fabric, offset units.Duration) (*Settings, error) {
	kind, err := Sniff(path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case HPCCConfig:
		c, err := read(path, hpcc.ReadConfig)
		if err != nil {
			return nil, err
		}
		s := &Settings{Kind: kind, Config: c.Netsim(f, offset), Stop: max(0, c.Stop-offset)}
		s.Notes = c.Report.Notes
		if err := c.Err(); err != nil {
			return nil, err
		}
		return s, nil
	case AstraSystem:
		x, err := read(path, astrasim.ReadSystem)
		if err != nil {
			return nil, err
		}
		return &Settings{Kind: kind, Config: x.Netsim(), Notes: x.Report.Notes}, nil
	}
	return nil, not(path, kind, nil, "configuration")
}
