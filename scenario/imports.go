package scenario

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/interop"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Import takes the network, the job and settings from files of other simulators (docs/interop.md). Paths are relative to
// the scenario's folder. What a file says of switches and NICs holds where the scenario has no switch: or nic: of its own.
type Import struct {
	Fabric    string         `yaml:"fabric" example:"leaf_spine.topo" doc:"network: htsim .topo, HPCC or SimAI topology, ASTRA-sim network; stands for fabric:"`
	Job       string         `yaml:"job" example:"perm_128n.cm" doc:"job: htsim matrix, HPCC flows or flow sizes, SimAI workload, Chakra traces, MSCCL, GOAL; stands for job:"`
	Settings  string         `yaml:"settings" doc:"an HPCC configuration or an ASTRA-sim system, for its parameters"`
	StartUnit StartUnit      `yaml:"start_unit" doc:"htsim matrix: what start counts, which sources disagree about (default ps)"`
	NoAcks    bool           `yaml:"no_acks" doc:"htsim matrix: a send_done_trigger fires when the last byte is placed, without waiting for the acknowledgement"`
	Size      units.Bytes    `yaml:"size" min:"1B" doc:"MSCCL: bytes of the call"`
	TP        int            `yaml:"tp" min:"1" doc:"SimAI: tensor-parallel ranks where the file does not say"`
	Load      units.Fraction `yaml:"load" example:"50%" doc:"flow sizes: share of the hosts' rate"`
	Time      units.Duration `yaml:"time" min:"1ps" doc:"flow sizes: how long flows begin"`
	Groups    string         `yaml:"groups" doc:"Chakra: file of communicator groups"`
	System    string         `yaml:"system" doc:"Chakra: file of the system"`
	Dims      []int          `yaml:"dims" doc:"Chakra: logical dimensions"`
}

// StartUnit is what the start of a connection in a matrix counts.
type StartUnit string

// Choices lists the units.
func (StartUnit) Choices() []string { return []string{"ps", "us"} }

// network makes the network of the scenario, from its own spec or from a file.
func (s *Scenario) network(report func(path, text string)) *fabric.Fabric {
	if s.Import == nil || s.Import.Fabric == "" {
		return s.built.build(s.Fabric, func(path, text string) {
			if path == "" {
				report("fabric", text)
				return
			}
			report("fabric."+path, text)
		})
	}
	if s.doc != nil && s.doc.Has("fabric") {
		report("fabric", "import.fabric stands for the network already; remove one of the two")
		return nil
	}
	n, err := interop.Fabric(s.beside(s.Import.Fabric))
	if err != nil {
		report("import.fabric", err.Error())
		return nil
	}
	s.imported.Switch, s.imported.NIC = n.Config.Switch, n.Config.NIC
	s.note(n.Notes)
	return n.Fabric
}

// missing reports the parts without which a file is no scenario.
func (s *Scenario) missing() spec.Problems {
	var problems spec.Problems
	if !s.doc.Has("fabric") && !s.doc.Has("import.fabric") {
		problems = append(problems, s.doc.Problem("", "there is no network; add fabric:, or import: {fabric: FILE}"))
	}
	if !s.doc.Has("job") && !s.doc.Has("import.job") {
		problems = append(problems, s.doc.Problem("", "there is no job; add job:, or import: {job: FILE}"))
	}
	return problems
}

// imports writes the job of a file out, and remembers what the file says of the network's settings.
func (s *Scenario) imports(f *fabric.Fabric, report func(path, text string)) *workload.Plan {
	if s.doc != nil && s.doc.Has("job") {
		report("job", "import.job stands for the job already; remove one of the two")
		return nil
	}
	if len(s.Background) > 0 {
		report("background", "background traffic cannot be added to a job from a file; remove it")
		return nil
	}
	im := s.Import
	o := interop.Options{Priority: s.Job.Priority, StartUnit: units.Picosecond, NoAcks: im.NoAcks, Size: im.Size, TP: im.TP, Load: im.Load, Time: im.Time, Seed: s.Seed, Dims: im.Dims}
	if im.StartUnit == "us" {
		o.StartUnit = units.Microsecond
	}
	for _, file := range []struct {
		from string
		to   *string
	}{{im.Groups, &o.Groups}, {im.System, &o.System}} {
		if file.from != "" {
			*file.to = s.beside(file.from)
		}
	}
	w, err := interop.Job(s.beside(im.Job), f, o)
	if err != nil {
		report("import.job", err.Error())
		return nil
	}
	s.settle(w.Config, w.Stop)
	s.note(w.Notes)
	if im.Settings != "" {
		var offset units.Duration
		if w.HPCC != nil {
			offset = w.HPCC.Offset
		}
		s.readSettings(f, offset, report)
	}
	return w.Plan
}

func (s *Scenario) readSettings(f *fabric.Fabric, offset units.Duration, report func(path, text string)) {
	set, err := interop.ReadSettings(s.beside(s.Import.Settings), f, offset)
	if err != nil {
		report("import.settings", err.Error())
		return
	}
	s.settle(set.Config, set.Stop)
	s.note(set.Notes)
}

// settle takes over what a file says of switches, NICs, path choice and faults.
func (s *Scenario) settle(c netsim.Config, stop units.Duration) {
	imported := &s.imported
	keep := imported.Config
	imported.Config = c
	if c.Switch.Buffer == 0 && c.Switch.XOFF == 0 && c.Switch.ECN.KMin == 0 { // the job says nothing of switches: the network's file may have
		imported.Switch = keep.Switch
	}
	imported.Faults = append(keep.Faults, c.Faults...)
	if stop > 0 {
		imported.stop = stop
	}
}

// imported is what files of other simulators said besides network and job.
type imported struct {
	netsim.Config
	stop  units.Duration
	notes []evidence.Unreadable
}

func (s *Scenario) note(notes spec.Problems) {
	for _, n := range notes {
		s.imported.notes = append(s.imported.notes, evidence.Unreadable{From: evidence.Source{File: n.File, Line: n.Line}, Why: n.Text})
	}
}

// beside is a path as the scenario's file means it.
func (s *Scenario) beside(path string) string {
	if filepath.IsAbs(path) || s.doc == nil {
		return path
	}
	return filepath.Join(filepath.Dir(s.doc.File), path)
}

// withImported fills in what the scenario leaves to its imported files.
func (s *Scenario) withImported(c netsim.Config) netsim.Config {
	if s.Import == nil {
		return c
	}
	if s.doc == nil || !s.doc.Has("switch") {
		c.Switch = s.imported.Switch
	}
	if s.doc == nil || !s.doc.Has("nic") {
		c.NIC = s.imported.NIC
	}
	if c.Path == "" {
		c.Path, c.PathParams = s.imported.Path, s.imported.PathParams
	}
	c.Faults = append(c.Faults, s.imported.Faults...)
	return c
}

// checkImport reports what does not go together.
func (s *Scenario) checkImport() error {
	if s.Import != nil && s.Import.Settings != "" && s.Import.Job == "" {
		return errors.New("import.settings goes with import.job")
	}
	if s.Import != nil && s.Import.Fabric == "" && s.Import.Job == "" {
		return fmt.Errorf("import names no file; add fabric or job to it")
	}
	return nil
}
