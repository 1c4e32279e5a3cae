package astrasim

import (
	"fmt"
	"io"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Network is a network of the analytical back end: dimensions, each of which joins the NPUs that differ in it alone. NPUs
// are numbered with the first dimension fastest.
type Network struct {
	_         struct{}  `doc:"A network of ASTRA-sim's analytical back end."`
	Topology  []string  `yaml:"topology" required:"true" min:"1" max:"10" example:"[Ring, Switch]" doc:"how each dimension is joined: Ring, Switch or FullyConnected"`
	NPUs      []int     `yaml:"npus_count" required:"true" min:"1" max:"10" example:"[8, 4]" doc:"NPUs of each dimension"`
	Bandwidth []float64 `yaml:"bandwidth" required:"true" min:"1" max:"10" example:"[400.0, 50.0]" doc:"bandwidth of a link in GB/s, one direction"`
	Latency   []float64 `yaml:"latency" required:"true" min:"1" max:"10" example:"[500.0, 1000.0]" doc:"latency of a link in ns"`

	doc    *spec.Doc
	Report *source.Report `yaml:"-"`
}

// How a dimension is joined.
const (
	ring           = "Ring"
	switched       = "Switch"
	fullyConnected = "FullyConnected"
)

// gigabyte is how many bytes a GB of the bandwidths is (bw_GBps_to_Bpns in the analytical back end).
const gigabyte = 1 << 30

// ReadNetwork reads a network file. The network is nil when the error, a spec.Problems, is not.
func ReadNetwork(file string, in io.Reader) (*Network, error) {
	src, err := io.ReadAll(io.LimitReader(in, spec.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("astrasim: %w", err)
	}
	doc, problems := spec.Parse(file, src)
	if len(problems) > 0 {
		return nil, problems
	}
	n := &Network{doc: doc, Report: &source.Report{File: file}}
	if problems = doc.Decode(n); len(problems) > 0 {
		return nil, problems
	}
	n.check()
	if err := n.Report.Err(); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *Network) wrong(path, format string, args ...any) {
	line, col := n.doc.At(path)
	n.Report.Wrong(source.Place{Line: line, Col: col}, format, args...)
}

// check reports what does not fit together.
func (n *Network) check() {
	dims := len(n.Topology)
	for _, list := range []struct {
		path string
		len  int
	}{{"npus_count", len(n.NPUs)}, {"bandwidth", len(n.Bandwidth)}, {"latency", len(n.Latency)}} {
		if list.len != dims {
			n.wrong(list.path, "%s has %d numbers for the %d dimensions of topology; write one each", list.path, list.len, dims)
		}
	}
	if !n.Report.OK() {
		return
	}
	all := 1
	for i := range n.Topology {
		if t := n.Topology[i]; t != ring && t != switched && t != fullyConnected {
			n.wrong(fmt.Sprintf("topology[%d]", i), "%s joins no dimension; write %s, %s or %s", source.Quote(t), ring, switched, fullyConnected)
		}
		if c := n.NPUs[i]; c < 1 || c > fabric.MaxHosts {
			n.wrong(fmt.Sprintf("npus_count[%d]", i), "a dimension has %d NPUs; write 1 to %d", c, fabric.MaxHosts)
		} else {
			all = min(all*c, fabric.MaxHosts+1)
		}
		if b := n.Bandwidth[i]; !(b > 0 && b <= 100_000) {
			n.wrong(fmt.Sprintf("bandwidth[%d]", i), "a link has %v GB/s; write more than 0 and at most 100000", b)
		}
		if l := n.Latency[i]; !(l >= 0 && l <= 1e9) {
			n.wrong(fmt.Sprintf("latency[%d]", i), "a link has a latency of %v ns; write 0 to 1e9", l)
		}
	}
	if all > fabric.MaxHosts {
		n.wrong("npus_count", "the network has more than %d NPUs; at most as many can be built", fabric.MaxHosts)
	} else if all < 2 && n.Report.OK() {
		n.wrong("npus_count", "the network has one NPU; it needs two")
	}
}

// Dims are the sizes of the dimensions.
func (n *Network) Dims() []int { return n.NPUs }

// rate is the rate of a link of dimension d.
func (n *Network) rate(d int) units.Rate {
	return units.Rate(math.Round(n.Bandwidth[d] * gigabyte * 8))
}

// ways is how many links of dimension d a NPU has.
func (n *Network) ways(d int) int {
	switch size := n.NPUs[d]; {
	case size == 1:
		return 0
	case n.Topology[d] == switched || size == 2:
		return 1
	case n.Topology[d] == ring:
		return 2
	default:
		return size - 1
	}
}

// Fabric builds the network: NPU i is host<i> and GPU i. A host forwards nothing, so each has a switch of its own that
// joins the dimensions, with a link as fast as all of the NPU's together; a network of one Switch needs none. Packets take
// the fewest hops, while the analytical back end follows the rings. The error is a spec.Problems.
func (n *Network) Fabric() (*fabric.Fabric, error) {
	npus, links := 1, int64(0)
	for d, size := range n.NPUs {
		npus *= size
		links += int64(n.ways(d))
	}
	if links *= int64(npus); links > fabric.MaxPorts/2 {
		n.wrong("npus_count", "the network has about %d links; at most %d can be built", links, fabric.MaxPorts/2)
		return nil, n.Report.Err()
	}
	line, col := n.doc.At("bandwidth")
	n.Report.Note(source.Place{Line: line, Col: col}, "a GB is 2^30 bytes, as in ASTRA-sim's analytical back end")
	var g fabric.Graph
	add := func(role fabric.Role) fabric.NodeID {
		g.Nodes = append(g.Nodes, fabric.Node{Name: fmt.Sprint(len(g.Nodes)), Role: role, Rail: -1})
		return fabric.NodeID(len(g.Nodes) - 1)
	}
	for range npus {
		add(fabric.Host)
	}
	own := fabric.NodeID(0) // distance from a NPU to what its links leave from
	if len(n.Topology) > 1 || n.Topology[0] != switched {
		own = fabric.NodeID(npus)
		var rate units.Rate
		for d := range n.Topology {
			rate += units.Rate(n.ways(d)) * n.rate(d)
		}
		for i := range npus {
			g.Links = append(g.Links, fabric.Link{A: fabric.NodeID(i), B: add(fabric.Leaf), Wire: fabric.Wire{Rate: rate, Delay: units.Picosecond}})
		}
	}
	stride := 1
	for d, size := range n.NPUs {
		wire := fabric.Wire{Rate: n.rate(d), Delay: max(1, units.Duration(math.Round(n.Latency[d]*float64(units.Nanosecond))))}
		for first := range npus {
			if first/stride%size != 0 || size == 1 {
				continue // not the first of its group
			}
			at := func(i int) fabric.NodeID { return own + fabric.NodeID(first+i%size*stride) }
			link := func(a, b fabric.NodeID) { g.Links = append(g.Links, fabric.Link{A: a, B: b, Wire: wire}) }
			switch {
			case n.Topology[d] == switched:
				sw := add(fabric.Leaf)
				for i := range size {
					link(at(i), sw)
				}
			case size == 2:
				link(at(0), at(1))
			case n.Topology[d] == ring:
				for i := range size {
					link(at(i), at(i+1))
				}
			default:
				for i := range size {
					for j := range i {
						link(at(j), at(i))
					}
				}
			}
		}
		stride *= size
	}
	g.AssignRoles()
	for i := range g.Nodes {
		g.Nodes[i].Name = g.Nodes[i].Role.String() + g.Nodes[i].Name
	}
	f := g.Build(func(_ int, text string) { n.wrong("npus_count", "%s", text) })
	return f, n.Report.Err()
}
