package astrasim

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// System is a system configuration: how ranks compute and carry out collectives.
type System struct {
	// Implementations are by collective the algorithm of each dimension, as ASTRA-sim calls them.
	Implementations map[workload.Collective][]string
	EndpointDelay   units.Duration // of every message
	Peak            float64        // operations per second
	MemoryBandwidth float64        // bytes per second
	Roofline        bool           // computing is timed by operations and bytes
	Report          *source.Report
}

// implementationKeys are the keys that name algorithms.
var implementationKeys = map[string]workload.Collective{
	"all-reduce-implementation": workload.AllReduce, "all-gather-implementation": workload.AllGather,
	"reduce-scatter-implementation": workload.ReduceScatter, "all-to-all-implementation": workload.AllToAll,
}

// implementations are the algorithms that there are; directN and oneDirectN have a number behind them.
var implementations = []string{"ring", "oneRing", "direct", "oneDirect", "doubleBinaryTree", "halvingDoubling", "oneHalvingDoubling"}

// ReadSystem reads a system configuration. It is nil when the error, a spec.Problems, is not.
func ReadSystem(file string, in io.Reader) (*System, error) {
	settings, r := readSettings(file, in)
	s := &System{Implementations: map[workload.Collective][]string{}, Report: r}
	var unused []string
	var first source.Located
	for i := range settings {
		x := &settings[i]
		c, isImplementation := implementationKeys[x.key]
		if isImplementation && !x.list {
			r.Wrong(x, "%s is no list; write an algorithm for each dimension, like [\"ring\"]", x.key)
			continue
		}
		if isImplementation {
			s.implementation(c, x)
			continue
		}
		if len(x.values) == 0 {
			r.Wrong(x, "%s has no value", source.Quote(x.key))
			continue
		}
		switch x.key {
		case "endpoint-delay":
			s.EndpointDelay, _ = r.Times(x.word(0), "endpoint-delay in ns", units.Nanosecond)
		case "peak-perf": // TFLOPS (Sys.cc)
			v, _ := r.Float(x.word(0), "peak-perf in TFLOPS", 0, math.MaxFloat32)
			s.Peak = v * 1e12
		case "local-mem-bw": // GB/s of 10^9 bytes (Sys.cc)
			v, _ := r.Float(x.word(0), "local-mem-bw in GB/s", 0, math.MaxFloat32)
			s.MemoryBandwidth = v * 1e9
		case "roofline-enabled":
			v, _ := r.Int(x.word(0), "roofline-enabled", 0, 1)
			s.Roofline = v == 1
		default:
			if strings.HasSuffix(x.key, "-implementation-custom") {
				r.Note(x, "%s: read the file it names by itself, as a job; traces use NCCL's algorithms", x.key)
				continue
			}
			if first == nil {
				first = x
			}
			unused = append(unused, x.key)
		}
	}
	if len(unused) > 0 {
		r.Note(first, "without a counterpart, and not used: %s", strings.Join(unused, ", "))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// implementation keeps the algorithms of a collective.
func (s *System) implementation(c workload.Collective, x *setting) {
	for i, name := range x.values {
		base := strings.TrimRight(name, "0123456789")
		if !slices.Contains(implementations, base) || base != name && !strings.Contains(strings.ToLower(base), "direct") {
			s.Report.Wrong(x.places[i], "%s is no algorithm; write one of %s", source.Quote(name), strings.Join(implementations, ", "))
		}
	}
	s.Implementations[c] = x.values
}

// algorithm is how a collective is carried out here. It is false when that is not what the file asks for.
func (s *System) algorithm(c workload.Collective) (workload.Algorithm, bool) {
	if s == nil || len(s.Implementations[c]) == 0 {
		return "", true
	}
	names := s.Implementations[c]
	switch {
	case c == workload.AllToAll:
		return workload.Direct, strings.Contains(strings.ToLower(names[0]), "direct") && len(names) == 1
	case names[0] == "doubleBinaryTree" && c == workload.AllReduce:
		return workload.Tree, len(names) == 1
	}
	return workload.Ring, (names[0] == "ring" || names[0] == "oneRing") && len(names) == 1
}

// Netsim is what the file says of the network's endpoints.
func (s *System) Netsim() netsim.Config {
	var c netsim.Config
	c.NIC.Latency = s.EndpointDelay
	return c
}

// compute is the time of a computing node by the roofline: operations at the lesser of the peak and what the memory
// bandwidth lets through (Roofline.cc). It is false where the file gives no roofline.
func (s *System) compute(operations, bytes float64) (units.Duration, bool) {
	if s == nil || !s.Roofline || s.Peak <= 0 || operations <= 0 {
		return 0, false
	}
	perf := s.Peak
	if bytes > 0 && s.MemoryBandwidth > 0 {
		perf = min(perf, s.MemoryBandwidth*operations/bytes)
	}
	seconds := operations / perf
	return units.Duration(min(seconds, longest.Seconds()) * float64(units.Second)), true
}
