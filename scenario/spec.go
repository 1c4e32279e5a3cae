package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// FileName is the name a scenario goes by in a folder of its own.
const FileName = "scenario.yaml"

// Scenario is a whole experiment as people write it.
type Scenario struct {
	_             struct{}            `doc:"An experiment: a network, a job on it, and what goes wrong."`
	Title         string              `yaml:"title" required:"true" doc:"one line that says what the experiment is"`
	Seed          uint64              `yaml:"seed" doc:"seed of every random choice (default 0)"`
	Import        *Import             `yaml:"import" doc:"network and job from files of other simulators"`
	Fabric        fabric.Spec         `yaml:"fabric" doc:"the network"`
	Switch        netsim.SwitchConfig `yaml:"switch" doc:"buffers, PFC, ECN and scheduling of every switch"`
	NIC           netsim.NICConfig    `yaml:"nic" doc:"transport and congestion control of every NIC"`
	PathChoice    netsim.PathChoice   `yaml:"path_choice" doc:"how one of several equal-cost paths is chosen"`
	Path          netsim.PathConfig   `yaml:"path" doc:"parameters of the path choices"`
	workload.Spec                     // job and background
	Faults        []Fault             `yaml:"faults" doc:"what goes wrong during the run"`
	Limit         units.Duration      `yaml:"limit" min:"1us" doc:"simulated time at which the run is cut (default 1s)"`
	Expect        Expect              `yaml:"expect" doc:"what a diagnosis must come to; checked by the tests and by nothing else"`

	// Traced has the packet engine keep which way the packets of each QP took. It is no field of a file.
	Traced bool

	doc      *spec.Doc
	built    *built
	imported imported
}

// FaultKind is netsim's with its choices for the reader of the file.
type FaultKind string

// Choices lists the faults of netsim.
func (FaultKind) Choices() []string {
	return netsim.FaultKind("").Choices()
}

// Fault is one thing that goes wrong during a run. A link-down takes both directions; the others that name a link take the
// direction that leaves the first node of it.
type Fault struct {
	Kind    FaultKind      `yaml:"kind" required:"true" doc:"what goes wrong"`
	Link    []string       `yaml:"link" max:"2" example:"[leaf0, spine1]" doc:"the two nodes of the link; the direction that leaves the first"`
	Index   int            `yaml:"index" min:"0" doc:"which of several links between the two, or which NIC port of the host (default 0)"`
	Host    string         `yaml:"host" doc:"the host of a slow-receiver or nic-reset"`
	Switch  string         `yaml:"switch" example:"spine0" doc:"the switch of a switch-reboot"`
	At      units.Duration `yaml:"at" example:"100us" doc:"when it begins (default: at the start)"`
	For     units.Duration `yaml:"for" example:"50us" doc:"how long it lasts (default: to the end)"`
	Every   units.Duration `yaml:"every" example:"1ms" doc:"it comes back after this long, again and again (default: once)"`
	Detect  units.Duration `yaml:"detect" example:"30us" doc:"time until the switches route around it; unset: a link-down, switch-reboot and nic-reset by BFD where switch.bfd is set and else at once, a one-way-down by BFD alone, and nothing else ever"`
	Recover units.Duration `yaml:"recover" example:"1ms" doc:"time from its end until the switches use the link again (default: as detect)"`
	Loss    float64        `yaml:"loss" min:"0" max:"1" example:"0.001" doc:"silent-drop: probability that a packet is lost"`
	Flows   float64        `yaml:"flows" min:"0" max:"1" example:"0.1" doc:"silent-drop: share of the flows it befalls (default: all)"`
	Rate    units.Rate     `yaml:"rate" example:"200Gbps" doc:"rate-degraded: what the link falls to; slow-receiver: what the host drains at"`
	BER     float64        `yaml:"ber" min:"0" max:"1" example:"1e-7" doc:"bit-errors: probability that a bit arrives wrong"`
}

// Expect is what a diagnosis of the scenario must come to.
type Expect struct {
	Findings []string `yaml:"findings" doc:"codes of the findings in order, and no others; empty: none above note"`
	Where    string   `yaml:"where" doc:"object the first finding must name"`
	// Gain is the least share of the metric the first finding's fix must save when it is tried.
	Gain units.Fraction `yaml:"gain" doc:"least gain of the first fix when it is tried"`
}

// defaultLimit ends runs that would not end by themselves: a training step takes well under a second.
const defaultLimit = units.Second

// Load reads a scenario from a file, or from scenario.yaml in a folder. The error is a spec.Problems when the file is
// there but wrong: every mistake with line and column.
func Load(path string) (*Scenario, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, src)
}

// Parse reads a scenario; file is the name that problems are reported under.
func Parse(file string, src []byte) (*Scenario, error) {
	doc, problems := spec.Parse(file, src)
	if len(problems) > 0 {
		return nil, problems
	}
	return read(doc, nil, (*Scenario).check)
}

// read turns a document into a scenario; check reports what its fields together have wrong, and b remembers the network.
func read(doc *spec.Doc, b *built, check func(s *Scenario, problems *spec.Problems)) (*Scenario, error) {
	s := &Scenario{doc: doc, built: b, Limit: defaultLimit}
	problems := append(doc.Decode(s), s.missing()...)
	// What the fields mean together is checked even when some are wrong by themselves, so that all comes out at once;
	// but a fabric or job whose own fields are wrong would only be complained about twice.
	if len(problems) == 0 {
		check(s, &problems)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// check builds everything once and reports what does not fit.
func (s *Scenario) check(problems *spec.Problems) {
	s.checkWith(problems, func(f *fabric.Fabric, report func(path, text string)) { s.plan(f, report) })
}

// checkWith is check with another check of the job.
func (s *Scenario) checkWith(problems *spec.Problems, job func(f *fabric.Fabric, report func(path, text string))) {
	if err := s.checkImport(); err != nil {
		*problems = append(*problems, s.doc.Problem("import", err.Error()))
		return
	}
	f := s.network(s.doc.Reporter(problems, ""))
	if f != nil {
		job(f, s.doc.Reporter(problems, ""))
		s.faults(f, s.doc.Reporter(problems, ""))
		s.firmware(f, s.doc.Reporter(problems, ""))
	}
	s.checkConfig(s.doc.Reporter(problems, ""))
	for i, code := range s.Expect.Findings {
		if !knownCode(code) {
			*problems = append(*problems, s.doc.Problem(fmt.Sprintf("expect.findings[%d]", i), fmt.Sprintf("no cause has the code %q; shunt codes lists them", code)))
		}
	}
}

// checkConfig reports what the simulator finds wrong with the parameters of switches, NICs and path choice, each at its field. The simulator knows no
// files: its messages begin with the names that lead to the field, as in "path buckets count 0: ...".
func (s *Scenario) checkConfig(report func(path, text string)) {
	err := s.config(nil).Validate()
	if err == nil {
		return
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		text := strings.TrimPrefix(err.Error(), "netsim: ")
		path := ""
		for word := range strings.FieldsSeq(text) {
			at := strings.TrimPrefix(path+"."+strings.TrimRight(word, ",:"), ".")
			if !s.doc.Has(at) {
				break
			}
			path = at
		}
		report(path, text)
	}
}

func knownCode(code string) bool {
	for _, c := range diagnose.Causes() {
		if c.Code == code {
			return true
		}
	}
	return false
}

// plan writes out the job and the background traffic on a fabric.
func (s *Scenario) plan(f *fabric.Fabric, report func(path, text string)) *workload.Plan {
	if s.Import != nil && s.Import.Job != "" {
		return s.imports(f, report)
	}
	return s.Spec.Plan(f, s.Seed, report)
}

// config is the configuration of the simulator, with its defaults filled in.
func (s *Scenario) config(faults []netsim.Fault) netsim.Config {
	return netsim.Defaults(s.withImported(netsim.Config{Seed: s.Seed, Switch: s.Switch, NIC: s.NIC, Path: s.PathChoice, PathParams: s.Path, Faults: faults}))
}

// faults resolves the names of the faults to ports of the fabric.
func (s *Scenario) faults(f *fabric.Fabric, report func(path, text string)) []netsim.Fault {
	var out []netsim.Fault
	for i, ft := range s.Faults {
		at := fmt.Sprintf("faults[%d]", i)
		port, ok := ft.port(f, at, report)
		if !ok {
			continue
		}
		switch netsim.FaultKind(ft.Kind) {
		case netsim.RateDegraded, netsim.SlowReceiver:
			if ft.Rate <= 0 {
				report(at, fmt.Sprintf("a %s fault needs a rate; add rate: 200Gbps", ft.Kind))
			}
		case netsim.SilentDrop:
			if ft.Loss <= 0 {
				report(at, "a silent-drop fault needs loss; add loss: 0.001")
			}
		case netsim.BitErrors:
			if ft.BER <= 0 {
				report(at, "a bit-errors fault needs ber; add ber: 1e-7")
			}
		}
		if ft.Every > 0 && (ft.For <= 0 || ft.For >= ft.Every) {
			report(at+".every", "a fault that comes back needs for, shorter than every")
		}
		out = append(out, netsim.Fault{Kind: netsim.FaultKind(ft.Kind), Port: uint32(port), At: ft.At, For: ft.For, Rate: ft.Rate, BER: ft.BER, Loss: ft.Loss, Flows: ft.Flows,
			Detect: ft.Detect, Recover: ft.Recover, Every: ft.Every})
	}
	return out
}

// firmware checks the hosts that differ from the others by their layout or their interrupts.
func (s *Scenario) firmware(f *fabric.Fabric, report func(path, text string)) {
	for i, h := range s.NIC.PPCID.Hosts {
		if id, ok := f.NodeByName(h.Host); !ok || f.Nodes[id].Role != fabric.Host {
			report(fmt.Sprintf("nic.ppcid.hosts[%d].host", i), fmt.Sprintf("no host is called %q", h.Host))
		}
	}
	for i, l := range s.NIC.Deal.Late {
		at := fmt.Sprintf("nic.deal.late[%d]", i)
		id, ok := f.NodeByName(l.Host)
		switch {
		case !ok || f.Nodes[id].Role != fabric.Host:
			report(at+".host", fmt.Sprintf("no host is called %q", l.Host))
		case l.NIC >= f.Nodes[id].NumPorts:
			report(at+".nic", fmt.Sprintf("%s has %d NIC ports; write 0 to %d", l.Host, f.Nodes[id].NumPorts, f.Nodes[id].NumPorts-1))
		}
	}
}

// port finds the port a fault is about.
func (ft *Fault) port(f *fabric.Fabric, at string, report func(path, text string)) (fabric.PortID, bool) {
	switch netsim.FaultKind(ft.Kind) {
	case netsim.SlowReceiver, netsim.NICReset:
		id, ok := f.NodeByName(ft.Host)
		if !ok || f.Nodes[id].Role != fabric.Host {
			report(at, fmt.Sprintf("a %s fault needs host; %q is none", ft.Kind, ft.Host))
			return fabric.NoPort, false
		}
		if ft.Index >= f.Nodes[id].NumPorts {
			report(at+".index", fmt.Sprintf("%s has %d NIC ports; write 0 to %d", ft.Host, f.Nodes[id].NumPorts, f.Nodes[id].NumPorts-1))
			return fabric.NoPort, false
		}
		return f.Nodes[id].FirstPort + fabric.PortID(ft.Index), true
	case netsim.SwitchReboot:
		id, ok := f.NodeByName(ft.Switch)
		if !ok || f.Nodes[id].Role == fabric.Host {
			report(at, fmt.Sprintf("a switch-reboot fault needs switch; %q is none", ft.Switch))
			return fabric.NoPort, false
		}
		return f.Nodes[id].FirstPort, true
	}
	if len(ft.Link) != 2 {
		report(at, fmt.Sprintf("a %s fault needs link: [NODE, NODE]", ft.Kind))
		return fabric.NoPort, false
	}
	a, okA := f.NodeByName(ft.Link[0])
	b, okB := f.NodeByName(ft.Link[1])
	for j, ok := range []bool{okA, okB} {
		if !ok {
			report(fmt.Sprintf("%s.link[%d]", at, j), fmt.Sprintf("no node is called %q", ft.Link[j]))
		}
	}
	if !okA || !okB {
		return fabric.NoPort, false
	}
	ports := f.Between(a, b)
	if ft.Index >= len(ports) {
		report(at+".link", fmt.Sprintf("%s and %s have %d links between them", ft.Link[0], ft.Link[1], len(ports)))
		return fabric.NoPort, false
	}
	return ports[ft.Index], true
}
