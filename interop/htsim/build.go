package htsim

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// Fabric builds the network, and sets what the file says about switches in a configuration: the latency, and the
// buffer where the file has queue sizes. Host i is host<i> and GPU i; ToRs are leaves, Aggs spines, Cores cores, in
// htsim's numbering. The error is a spec.Problems.
func (t *Topology) Fabric() (*fabric.Fabric, netsim.SwitchConfig, error) {
	var c netsim.SwitchConfig
	same := true
	for _, tier := range t.Tiers {
		same = same && tier.SwitchLatency == t.Tiers[0].SwitchLatency
	}
	if same {
		c.Latency = t.Tiers[0].SwitchLatency
	} else {
		t.Report.Note(&t.Tiers[0], "tiers differ in Switch_Latency_ns; each is added to the delay of the links that lead into its switches")
	}
	tors, aggs, _, _ := t.counts()
	links := int64(t.Nodes) + int64(tors)*int64(t.Tiers[0].RadixUp) + int64(aggs)*int64(t.Tiers[1].RadixUp)
	if links > fabric.MaxPorts/2 {
		t.Report.Wrong(source.Place{}, "the network has %d links; at most %d can be built", links, fabric.MaxPorts/2)
		return nil, c, t.Report.Err()
	}
	g := t.graph(!same)
	f := g.Build(func(_ int, text string) { t.Report.Wrong(source.Place{}, "%s", text) })
	if f == nil {
		return nil, c, t.Report.Err()
	}
	t.buffer(&c)
	return f, c, nil
}

// counts are how many switches the sizes make.
func (t *Topology) counts() (tors, aggs, aggsPerPod, coresPerAgg int) {
	tors = t.Nodes / t.Tiers[0].RadixDown
	aggsPerPod = t.Tiers[0].RadixUp / t.Tiers[1].Bundle
	aggs = t.Nodes / t.PodSize * aggsPerPod
	if len(t.Tiers) == maxTiers {
		coresPerAgg = t.Tiers[1].RadixUp / t.Tiers[2].Bundle
	}
	return tors, aggs, aggsPerPod, coresPerAgg
}

// graph lists nodes and links. With inLinks the latency of a switch is part of the links that lead into it.
func (t *Topology) graph(inLinks bool) fabric.Graph {
	var g fabric.Graph
	tors, aggs, aggsPerPod, coresPerAgg := t.counts()
	add := func(n int, name string, role fabric.Role, perPod int) fabric.NodeID {
		first := fabric.NodeID(len(g.Nodes))
		for i := range n {
			node := fabric.Node{Name: fmt.Sprintf("%s%d", name, i), Role: role, Rail: -1}
			if perPod > 0 {
				node.Pod = i / perPod
			}
			g.Nodes = append(g.Nodes, node)
		}
		return first
	}
	hosts := add(t.Nodes, "host", fabric.Host, t.PodSize)
	tor := add(tors, "leaf", fabric.Leaf, t.PodSize/t.Tiers[0].RadixDown)
	agg := add(aggs, "spine", fabric.Spine, aggsPerPod)
	core := add(aggsPerPod*coresPerAgg, "core", fabric.Core, 0)
	link := func(low, high fabric.NodeID, tier int) {
		l := fabric.Link{A: low, B: high, Wire: fabric.Wire{Rate: t.Tiers[tier].Rate, Delay: t.Tiers[tier].Latency}}
		if inLinks {
			l.Back = l.Delay
			l.Delay += t.Tiers[tier].SwitchLatency
			if tier > 0 {
				l.Back += t.Tiers[tier-1].SwitchLatency
			}
		}
		g.Links = append(g.Links, l)
	}
	for i := range t.Nodes {
		link(hosts+fabric.NodeID(i), tor+fabric.NodeID(i/t.Tiers[0].RadixDown), 0)
	}
	torsPerPod := t.PodSize / t.Tiers[0].RadixDown
	for i := range tors {
		for j := range aggsPerPod {
			for range t.Tiers[1].Bundle {
				link(tor+fabric.NodeID(i), agg+fabric.NodeID(i/torsPerPod*aggsPerPod+j), 1)
			}
		}
	}
	for i := range aggs {
		for j := range coresPerAgg { // Agg k of every pod reaches the same cores
			for range t.Tiers[2].Bundle {
				link(agg+fabric.NodeID(i), core+fabric.NodeID(i%aggsPerPod*coresPerAgg+j), 2)
			}
		}
	}
	return g
}

// buffer sets the shared buffer of a switch to what its queues hold together. Where that is too little for the
// headroom of one lossless class, the queues are those of a lossy network: they bound what a lossy priority may hold.
func (t *Topology) buffer(c *netsim.SwitchConfig) {
	var largest, needed, queue units.Bytes
	given := false
	mtu := netsim.Defaults(netsim.Config{}).NIC.MTU
	for i := range t.Tiers {
		tier := &t.Tiers[i]
		given = given || tier.QueueDown > 0 || tier.QueueUp > 0
		sum := units.Bytes(tier.RadixDown)*tier.QueueDown + units.Bytes(tier.RadixUp)*tier.QueueUp
		room := units.Bytes(tier.RadixDown) * netsim.HeadroomFor(tier.Rate, tier.Latency, tier.SwitchLatency, mtu)
		if i+1 < len(t.Tiers) {
			up := &t.Tiers[i+1]
			room += units.Bytes(tier.RadixUp) * netsim.HeadroomFor(up.Rate, up.Latency, tier.SwitchLatency, mtu)
		}
		largest, needed, queue = max(largest, sum), max(needed, room), max(queue, tier.QueueDown, tier.QueueUp)
	}
	switch {
	case !given:
	case largest < 2*needed:
		c.Queue = queue
		t.Report.Note(&t.Tiers[0], "Queue_Down and Queue_Up give a switch %s, less than twice the %s that a lossless class needs as headroom; they bound the queues of lossy priorities alone", largest, needed)
	default:
		c.Buffer = largest
		t.Report.Note(&t.Tiers[0], "Queue_Down and Queue_Up are of each port; switches here share one buffer, which is set to the %s that all ports of the largest have", largest)
	}
}
