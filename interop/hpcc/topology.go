package hpcc

import (
	"io"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Topology is a topology file as it stands: nodes by number, those that are switches, and links.
type Topology struct {
	Nodes int // numbered from 0
	// Switches are the numbers of the switches, in the order of the file.
	Switches []int32
	Links    []Link
	Report   *source.Report

	// SimAI's headers say more: the first NVSwitches of Switches are NVSwitches.
	GPUsPerServer, NVSwitches int
	GPUType                   string

	header source.Place
}

// Link is one link of a topology file.
type Link struct {
	source.Place
	A, B      int32
	Rate      units.Rate
	Delay     units.Duration
	ErrorRate float64 // probability that a packet is lost
}

// Limits on a topology file.
const (
	maxNodes = 2 * fabric.MaxHosts // hosts and switches; a fat-tree has fewer switches than hosts
	maxRate  = 1000 * units.Tbps   // sums of the rates of a node's links stay far below int64
	maxDelay = 10 * units.Second   // a link to the moon is 1.3 s long
)

// ReadTopology reads a topology file: a header, the numbers of the switches, and the links. Where lines break is of no
// meaning after the first. The header is one of
//
//	nodes switches links                                        HPCC, ConWeave, ASTRA-sim
//	nodes switches tors links                                   ns3-datacenter
//	nodes gpus_per_server nvswitches switches links [gpu_type]  SimAI
//
// What follows the last link is not read: files explain themselves there. The topology is nil when the error, a
// spec.Problems, is not.
func ReadTopology(file string, in io.Reader) (*Topology, error) {
	r := source.NewReader(file, in)
	t := &Topology{Report: &r.Report}
	if links, switches, ok := t.readHeader(r); ok && t.readSwitches(r, switches) {
		t.readLinks(r, links)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// readHeader reads the first line that is not empty.
func (t *Topology) readHeader(r *source.Reader) (links, switches int, ok bool) {
	for len(r.Words()) == 0 {
		if !r.Line() {
			r.Wrong(r, "the file is empty; it begins with the numbers of nodes, switches and links")
			return 0, 0, false
		}
	}
	words := r.Words()
	t.header = words[0].Place
	number := func(i int, what string, least, most int64) int {
		v, good := r.Int(words[i], what, least, most)
		ok = ok && good
		return int(v)
	}
	ok = true
	t.Nodes = number(0, "the number of nodes", 2, maxNodes)
	switch len(words) {
	case 3:
		switches = number(1, "the number of switches", 0, maxNodes)
		links = number(2, "the number of links", 1, fabric.MaxPorts/2)
	case 4:
		switches = number(1, "the number of switches", 0, maxNodes)
		number(2, "the number of ToRs", 0, maxNodes)
		links = number(3, "the number of links", 1, fabric.MaxPorts/2)
	case 5, 6:
		t.GPUsPerServer = number(1, "the number of GPUs of a server", 1, 1024)
		t.NVSwitches = number(2, "the number of NVSwitches", 0, maxNodes)
		switches = number(3, "the number of switches", 0, maxNodes) + t.NVSwitches
		links = number(4, "the number of links", 1, fabric.MaxPorts/2)
		if len(words) == 6 {
			t.GPUType = words[5].String()
		}
	default:
		r.Wrong(words[0], "the header has %d words; it has 3 (nodes switches links), 4 (nodes switches tors links) or 5 and 6 (nodes gpus_per_server nvswitches switches links gpu_type)", len(words))
		return 0, 0, false
	}
	if ok && switches >= t.Nodes {
		r.Wrong(words[0], "%d of %d nodes are switches, which leaves no host; write how many nodes there are, hosts and switches together", switches, t.Nodes)
		ok = false
	}
	r.Line() // the rest of the file is words
	return links, switches, ok
}

// node reads the number of a node.
func (t *Topology) node(r *source.Reader, what string) (int32, source.Word, bool) {
	w, ok := r.Next()
	if !ok {
		r.Wrong(w, "the file ends where %s should stand; the header says there is more", what)
		return 0, w, false
	}
	v, ok := r.Int(w, what, 0, int64(t.Nodes)-1)
	return int32(v), w, ok
}

func (t *Topology) readSwitches(r *source.Reader, count int) bool {
	seen := make([]bool, t.Nodes)
	for range count {
		id, w, ok := t.node(r, "the number of a switch")
		if !ok {
			return false
		}
		if seen[id] {
			r.Wrong(w, "switch %d is listed twice; remove one, or lower the number of switches in the header", id)
			return false
		}
		seen[id] = true
		t.Switches = append(t.Switches, id)
	}
	return true
}

// readLinks reads count links of five words. It stops at the first mistake: after a missing word every other would
// be taken for its neighbour.
func (t *Topology) readLinks(r *source.Reader, count int) {
	t.Links = make([]Link, 0, min(count, 1<<16)) // a header can claim anything
	for range count {
		var l Link
		var w source.Word
		var ok bool
		if l.A, w, ok = t.node(r, "the node a link leads from"); !ok {
			return
		}
		l.Place = w.Place
		if l.B, _, ok = t.node(r, "the node a link leads to"); !ok {
			return
		}
		if w, ok = r.Next(); ok {
			if l.Rate, ok = r.Rate(w, "the rate of a link"); !ok {
				return
			}
			w, ok = r.Next()
		}
		if ok {
			if l.Delay, ok = r.Duration(w, "the delay of a link"); !ok {
				return
			}
			w, ok = r.Next()
		}
		if !ok {
			r.Wrong(w, "the file ends within a link; links are like 0 8 100Gbps 1000ns 0")
			return
		}
		if l.ErrorRate, ok = r.Float(w, "the share of packets a link loses", 0, 1); !ok {
			return
		}
		if l.Rate > maxRate || l.Delay > maxDelay {
			r.Wrong(l, "a link of %s and %s is beyond %s or %s; check the units", l.Rate, l.Delay, maxRate, maxDelay)
			return
		}
		if l.A == l.B {
			r.Wrong(l, "node %d is linked to itself; write two nodes", l.A)
			return
		}
		t.Links = append(t.Links, l)
	}
}

// bitErrorRate is the chance that a bit is wrong which loses a packet of so many bytes with probability loss:
// loss = 1-(1-ber)^bits.
func bitErrorRate(loss float64, packet units.Bytes) float64 {
	if loss <= 0 {
		return 0
	}
	return min(-math.Expm1(math.Log1p(-loss)/float64(8*packet)), 1-1e-9)
}
