package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/interop/astrasim"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/goal"
	"github.com/shunt-network/shunt/interop/hpcc"
	"github.com/shunt-network/shunt/interop/htsim"
	"github.com/shunt-network/shunt/interop/msccl"
	"github.com/shunt-network/shunt/interop/simai"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Options say what files leave open. Each is of use to the kinds of files named.
type Options struct {
	Priority  *uint8         // all but HPCC flows, which say it: traffic class, nil for workload.RoCEPriority
	StartUnit units.Duration // connection matrices: what start is counted in, units.Picosecond or units.Microsecond
	NoAcks    bool           // connection matrices: htsim.Options.NoAcks
	Size      units.Bytes    // MSCCL: bytes of the call
	TP        int            // SimAI: simai.Options.TP
	Load      units.Fraction // flow sizes: share of the hosts' rate
	Time      units.Duration // flow sizes: how long flows begin
	Seed      uint64         // flow sizes
	Groups    string         // Chakra: file of communicator groups
	System    string         // Chakra: file of the system
	Dims      []int          // Chakra: logical dimensions
}

// Work is a plan from a file.
type Work struct {
	Kind   Kind
	Plan   *workload.Plan
	Config netsim.Config  // what the file says of switches, NICs and faults; the zero value of a field means its default
	Stop   units.Duration // when the run ends by the file, 0 when it does not say
	Notes  spec.Problems  // what is right but worth knowing

	// What writes results in the words of the simulator the file is of; nil for other kinds.
	Htsim *htsim.Job
	HPCC  *hpcc.Job
}

// Job reads what runs on a fabric. A configuration of HPCC stands for the flows that it names and for itself. Traces of
// Chakra are given by their folder, by the file of one rank, or by what stands before the rank in their names. The error
// is a spec.Problems where the file could be read.
func Job(path string, f *fabric.Fabric, o Options) (*Work, error) {
	prefix, traces := traceFiles(path)
	w := &Work{Kind: ChakraTrace}
	if len(traces) > 0 {
		return w.chakra(prefix, traces, f, o)
	}
	var err error
	if w.Kind, err = Sniff(path); err != nil {
		return nil, err
	}
	priority := workload.RoCEPriority
	if o.Priority != nil {
		priority = *o.Priority
	}
	switch w.Kind {
	case HtsimMatrix:
		m, err := read(path, htsim.ReadMatrix)
		if err != nil {
			return nil, err
		}
		w.Htsim, err = m.Job(f, htsim.Options{StartUnit: o.StartUnit, Priority: priority, NoAcks: o.NoAcks})
		if err != nil {
			return nil, err
		}
		w.Plan, w.Config.Faults, w.Notes = w.Htsim.Plan, w.Htsim.Faults, m.Report.Notes
		return w, nil
	case HPCCFlows:
		return w.flows(path, f)
	case HPCCConfig:
		return w.configured(path, f)
	case FlowSizes:
		c, err := read(path, hpcc.ReadCDF)
		if err != nil {
			return nil, err
		}
		if o.Load <= 0 || o.Time <= 0 {
			return nil, spec.Problems{{File: path, Text: "a distribution of flow sizes is a job only with a load and a time; set load: 40% and time: 10ms or what you want"}}
		}
		list, err := c.Flows(f, hpcc.Traffic{Load: o.Load, Time: o.Time, Seed: o.Seed, Priority: priority})
		if err != nil {
			return nil, err
		}
		return w.list(list, f)
	case SimAIWorkload:
		s, err := read(path, simai.ReadWorkload)
		if err != nil {
			return nil, err
		}
		if w.Plan, err = s.Job(f, simai.Options{Priority: priority, TP: o.TP}); err != nil {
			return nil, err
		}
		w.Notes = s.Report.Notes
		return w, nil
	case MSCCL:
		a, err := read(path, msccl.Read)
		if err != nil {
			return nil, err
		}
		r, err := a.Job(f, o.Size, priority)
		return w.program(r, a.Report.Notes, err)
	case GOALText, GOALBinary:
		reader := goal.ReadText
		if w.Kind == GOALBinary {
			reader = goal.ReadBinary
		}
		s, err := read(path, reader)
		if err != nil {
			return nil, err
		}
		r, err := s.Job(f, priority)
		return w.program(r, s.Report.Notes, err)
	}
	return nil, not(path, w.Kind, nil, "job")
}

// program takes a program over.
func (w *Work) program(r *dataflow.Result, notes spec.Problems, err error) (*Work, error) {
	if err != nil {
		return nil, err
	}
	w.Plan, w.Notes = r.Plan, append(w.Notes, notes...)
	return w, nil
}

// flows reads a flow file.
func (w *Work) flows(path string, f *fabric.Fabric) (*Work, error) {
	list, err := read(path, hpcc.ReadFlows)
	if err != nil {
		return nil, err
	}
	return w.list(list, f)
}

func (w *Work) list(list *hpcc.Flows, f *fabric.Fabric) (*Work, error) {
	j, err := list.Job(f)
	if err != nil {
		return nil, err
	}
	w.HPCC, w.Plan, w.Notes = j, j.Plan, append(w.Notes, list.Report.Notes...)
	return w, nil
}

// configured reads a configuration of HPCC and the flows it names.
func (w *Work) configured(path string, f *fabric.Fabric) (*Work, error) {
	c, err := read(path, hpcc.ReadConfig)
	if err != nil {
		return nil, err
	}
	flows, err := named(path, c, "FLOW_FILE", c.Flows)
	if err != nil {
		return nil, err
	}
	if kind, err := Sniff(flows); err != nil || kind != HPCCFlows {
		return nil, not(flows, kind, err, "list of flows of HPCC, as which "+filepath.Base(path)+" names it")
	}
	if w, err = w.flows(flows, f); err != nil {
		return nil, err
	}
	w.Config = c.Netsim(f, w.HPCC.Offset)
	if w.Stop = c.Stop - w.HPCC.Offset; w.Stop < 0 {
		w.Stop = 0
	}
	w.Notes = append(w.Notes, c.Report.Notes...)
	if err := c.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

// traceName is the name of a rank's trace: what stands before the rank, and the rank.
var traceName = regexp.MustCompile(`^(.*)\.(\d+)\.et$`)

// traceFiles finds the traces of all ranks by a folder, a prefix or one of them; none when the path means none.
func traceFiles(path string) (prefix string, files map[int]string) {
	dir, base := filepath.Split(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir, base = path, ""
	} else if m := traceName.FindStringSubmatch(base); m != nil {
		base = m[1]
	} else if err == nil {
		return "", nil // another file
	}
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil
	}
	files = map[int]string{}
	for _, e := range entries {
		m := traceName.FindStringSubmatch(e.Name())
		if m == nil || base != "" && m[1] != base {
			continue
		}
		base = m[1] // of a folder: the first in it
		if rank, err := strconv.Atoi(m[2]); err == nil {
			files[rank] = filepath.Join(dir, e.Name())
		}
	}
	return filepath.Join(dir, base), files
}

// chakra reads the traces of all ranks.
func (w *Work) chakra(prefix string, files map[int]string, f *fabric.Fabric, o Options) (*Work, error) {
	var ranks []int
	for r := range files {
		ranks = append(ranks, r)
	}
	slices.Sort(ranks)
	report := &source.Report{File: prefix}
	options := astrasim.Options{Dims: o.Dims, Priority: workload.RoCEPriority}
	if o.Priority != nil {
		options.Priority = *o.Priority
	}
	var err error
	if o.Groups != "" {
		if options.Groups, err = read(o.Groups, astrasim.ReadGroups); err != nil {
			return nil, err
		}
	}
	if o.System != "" {
		if options.System, err = read(o.System, astrasim.ReadSystem); err != nil {
			return nil, err
		}
		w.Config = options.System.Netsim()
	}
	var traces []*astrasim.Trace
	for i, r := range ranks {
		if r != i {
			report.Wrong(source.Place{}, "there is no trace of rank %d (%s.%d.et), and one of rank %d; put the traces of all ranks into one folder", i, prefix, i, r)
			return nil, report.Err()
		}
		file, err := os.Open(files[r])
		if err != nil {
			return nil, fmt.Errorf("interop: %w", err)
		}
		t, err := astrasim.ReadTrace(files[r], file, r)
		file.Close()
		if err != nil {
			return nil, err
		}
		traces = append(traces, t)
	}
	r, err := astrasim.Job(traces, f, options, report)
	if options.System != nil {
		w.Notes = append(w.Notes, options.System.Report.Notes...)
	}
	return w.program(r, report.Notes, err)
}
