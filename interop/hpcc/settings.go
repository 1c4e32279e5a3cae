package hpcc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/message"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// Packet is what a full packet occupies of a link in ns-3, for Loss.
func (c *Config) Packet() units.Bytes {
	if c.Payload == 0 {
		return DefaultPacket
	}
	return c.Payload + headerBytes
}

// Netsim is the configuration as one of netsim. f is the fabric of the run, which windows, thresholds and the failing
// link depend on; offset is the instant of the file's time at which the run begins (Job.Offset). What has no counterpart,
// and what is only nearly the same, is noted in the report.
func (c *Config) Netsim(f *fabric.Fabric, offset units.Duration) netsim.Config {
	var n netsim.Config
	n.NIC.MTU = c.Payload
	n.NIC.AckEvery = c.AckEvery
	n.Switch.Buffer = c.Buffer
	if c.AckFirst {
		n.NIC.AckPriority = 7
	}
	c.control(&n, f)
	c.ecn(&n, f)
	c.window(&n, f)
	c.linkFault(&n, f, offset)
	if c.BackToZero {
		c.note("L2_BACK_TO_ZERO", "going back to the start of a chunk is not modelled; losses go back to the lost packet")
	}
	if c.DynamicPFC != nil && !*c.DynamicPFC {
		c.note("USE_DYNAMIC_PFC_THRESHOLD", "fixed thresholds have no value in the file; the dynamic threshold stays, set xoff for a fixed one")
	}
	if len(c.Unused) > 0 {
		var keys []string
		for _, s := range c.Unused {
			keys = append(keys, s.Key)
		}
		c.Report.Note(c.Unused[0], "without a counterpart, and not used: %s", strings.Join(keys, ", "))
	}
	return n
}

func (c *Config) note(key, format string, args ...any) {
	c.Report.Note(c.places[key], "%s: %s", key, fmt.Sprintf(format, args...))
}

// control chooses the rate control, among those that netsim has.
func (c *Config) control(n *netsim.Config, f *fabric.Fabric) {
	if c.QCN != nil && !*c.QCN {
		n.Switch.ECN.Off = true
	}
	if c.Control == 0 {
		return
	}
	name, known := controlNames[c.Control]
	if !known {
		c.note("CC_MODE", "mode %d is none that is known; the default control stays", c.Control)
		return
	}
	try := netsim.Defaults(netsim.Config{NIC: netsim.NICConfig{Control: netsim.Control(name)}})
	if err := try.Validate(); err != nil {
		c.note("CC_MODE", "mode %d is %s, which is not modelled; the default control stays, set control to choose another", c.Control, name)
		return
	}
	n.NIC.Control = netsim.Control(name)
	switch c.Control {
	case ControlDCQCN:
		// The model's DCQCN (rdma-hw.cc, "Mellanox's version of DCQCN") has no byte counter, its alpha begins at 1, and its
		// receiver notifies with every acknowledgement: once in each period of alpha is as often as that can tell.
		n.NIC.DCQCN = netsim.DCQCNConfig{
			G: units.Fraction(c.Gain), AlphaPeriod: c.AlphaPeriod, ReducePeriod: c.ReducePeriod, TimeReset: c.Timer, Threshold: c.FastRecovery,
			AIRate: c.AI, HAIRate: c.HAI, MinRate: c.Min, ClampTarget: c.ClampTarget,
			ByteReset: 1 << 50, InitialAlpha: 1, CNPPeriod: c.AlphaPeriod,
		}
	case ControlHPCC:
		n.NIC.HPCC = cc.HPCCConfig{Eta: units.Fraction(c.Utilisation), MinRate: c.Min}
		if c.Stages != nil {
			n.NIC.HPCC.MaxStage = *c.Stages
			if *c.Stages == 0 { // 0 is the default there, and -1 none
				n.NIC.HPCC.MaxStage = -1
			}
		}
		c.additive(n, f)
	case ControlTIMELY:
		n.NIC.TIMELY = cc.TIMELYConfig{AIRate: c.AI, HAIRate: c.HAI, MinRate: c.Min}
	}
}

// additive turns RATE_AI into the number of flows that HPCC divides a link's spare share among: (1-eta)*line/flows is the
// additive step of one.
func (c *Config) additive(n *netsim.Config, f *fabric.Fabric) {
	if c.AI <= 0 || len(f.Endpoints) == 0 {
		return
	}
	eta := float64(cc.HPCCDefaults(n.NIC.HPCC).Eta)
	flows := math.Round((1 - eta) * float64(f.Ports[f.Endpoints[0]].Rate) / float64(c.AI))
	n.NIC.HPCC.Flows = int(min(max(flows, 1), 1_000_000))
}

// ecn sets the marking curve. netsim has one for all ports, or one in proportion to the rate of the port where none is
// set; the file has one for each rate.
func (c *Config) ecn(n *netsim.Config, f *fabric.Fabric) {
	if n.Switch.ECN.Off || len(c.KMin)+len(c.KMax)+len(c.PMax) == 0 {
		return
	}
	ports := map[units.Rate]int{}
	for i := range f.Ports {
		if f.Ports[i].Endpoint < 0 {
			ports[f.Ports[i].Nominal]++
		}
	}
	var rates []units.Rate
	for r := range ports {
		rates = append(rates, r)
	}
	slices.SortFunc(rates, func(a, b units.Rate) int { // the most ports first, then the fastest
		if ports[a] != ports[b] {
			return ports[b] - ports[a]
		}
		return int(max(min(b-a, 1), -1))
	})
	proportional := true
	var curves []netsim.ECNConfig
	for _, r := range rates {
		kmin, ok1 := lookup(c.KMin, r)
		kmax, ok2 := lookup(c.KMax, r)
		pmax, ok3 := lookup(c.PMax, r)
		if !ok1 || !ok2 || !ok3 {
			c.note("KMIN_MAP", "the maps of ECN thresholds have no entry for the %s of %d ports, at which ns-3 stops; the curve of the other ports is used", r, ports[r])
			continue
		}
		e := netsim.ECNConfig{KMin: units.Bytes(kmin * 1000), KMax: units.Bytes(kmax * 1000), PMax: units.Fraction(pmax)}
		own := netsim.ECNFor(netsim.ECNConfig{}, r)
		proportional = proportional && e.KMin == own.KMin && e.KMax == own.KMax && (len(curves) == 0 || e.PMax == curves[0].PMax)
		curves = append(curves, e)
	}
	switch {
	case len(curves) == 0:
	case proportional: // as netsim does by itself
		n.Switch.ECN.PMax = curves[0].PMax
	default:
		n.Switch.ECN = curves[0]
		for _, e := range curves[1:] {
			if e.KMin != curves[0].KMin || e.KMax != curves[0].KMax || e.PMax != curves[0].PMax {
				c.note("KMIN_MAP", "ECN thresholds differ between rates and all ports get those of most of them, %s at %s to %s", rates[0], curves[0].KMin, curves[0].KMax)
				break
			}
		}
	}
}

func lookup(table []Threshold, r units.Rate) (float64, bool) {
	for _, t := range table {
		if t.Rate == r {
			return t.Value, true
		}
	}
	return 0, false
}

// window sets what a queue pair may have unacknowledged: the largest product of rate and round trip between two hosts,
// by the model's formula.
func (c *Config) window(n *netsim.Config, f *fabric.Fabric) {
	if c.Window == nil || !*c.Window {
		return
	}
	payload := c.Payload
	if payload == 0 {
		payload = DefaultPacket - headerBytes
	}
	var most units.Bytes
	speakers := oneALeaf(f)
	for _, a := range speakers {
		for _, b := range speakers {
			path, ok := message.PathOf(f, a, b)
			if !ok {
				continue
			}
			rtt := 2*path.Delay() + path.Serialize(payload)
			most = max(most, units.Bytes(rtt.Seconds()*path.Bottleneck().BytesPerSecond()))
		}
	}
	n.NIC.Window = max(most, payload)
	if !c.GlobalWindow {
		c.note("HAS_WIN", "with GLOBAL_T 0 each pair has a window of its own; all get the largest, %s", n.NIC.Window)
	}
}

// oneALeaf lists two GPUs of every leaf, or one where there is no second: all round trips are among theirs, when the
// hosts of a leaf are alike. At most maxSpeakers are looked at.
func oneALeaf(f *fabric.Fabric) []fabric.GPUID {
	const maxSpeakers = 256 // 65 536 paths; a larger network repeats itself
	seen := map[fabric.NodeID]int{}
	var out []fabric.GPUID
	for i, g := range f.GPUs {
		if len(g.NICs) == 0 || len(out) == maxSpeakers {
			continue
		}
		leaf := f.Ports[f.Ports[g.NICs[0]].Peer].Node
		if seen[leaf]++; seen[leaf] <= 2 {
			out = append(out, fabric.GPUID(i))
		}
	}
	return out
}

// linkFault takes the link of LINK_DOWN down.
func (c *Config) linkFault(n *netsim.Config, f *fabric.Fabric, offset units.Duration) {
	d := c.LinkDown
	if d.After == 0 {
		return
	}
	numbers := NumbersOf(f)
	var ends [2]fabric.NodeID
	found := 0
	for id, number := range numbers.node {
		if number == d.A {
			ends[0] = fabric.NodeID(id)
			found |= 1
		}
		if number == d.B {
			ends[1] = fabric.NodeID(id)
			found |= 2
		}
	}
	var ports []fabric.PortID
	if found == 3 {
		ports = f.Between(ends[0], ends[1])
	}
	if len(ports) == 0 {
		c.Report.Wrong(d, "LINK_DOWN names nodes %d and %d, which no link joins; write two that are linked, or 0 0 0", d.A, d.B)
		return
	}
	at := linkDownBase + d.After - offset
	if at < 0 {
		c.note("LINK_DOWN", "the link goes down before the first flow begins; it is down from the start")
		at = 0
	}
	n.Faults = append(n.Faults, netsim.Fault{Kind: netsim.LinkDown, Port: uint32(ports[0]), At: min(at, math.MaxInt64/2)})
}

// Err is what is wrong after Netsim, a spec.Problems.
func (c *Config) Err() error { return c.Report.Err() }

// Loss is how the links of the topology lose packets.
func (c *Config) Loss() Loss { return Loss{Packet: c.Packet(), Share: c.ErrorRate} }
