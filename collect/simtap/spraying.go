package simtap

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// What devices that spray tell of it. Which packet took which path is not among it.

// maxPairs bounds the pairs of NICs in an inventory: an all-to-all over 1000 GPUs has a million. Those with trouble come first.
const maxPairs = 4096

// Observe adds to an inventory what devices tell at the end of a run of how they sprayed, dealt and marked packets, and what pairs of NICs met.
func Observe(inv *evidence.Inventory, f *fabric.Fabric, net *netsim.Network, c netsim.Config) {
	from := source(c)
	sprayingSwitches(inv, f, net, c, from)
	dealingHosts(inv, f, net, from)
	contextIDs(inv, f, c, from)
	pairs(inv, f, net, from)
}

// sprayingSwitches tells of each switch that sprays by buckets its settings, its table and its rules.
func sprayingSwitches(inv *evidence.Inventory, f *fabric.Fabric, net *netsim.Network, c netsim.Config, from evidence.Source) {
	if c.Path != netsim.Buckets {
		return
	}
	b := &c.PathParams.Buckets
	for _, s := range inv.Switches {
		id, _ := f.NodeByName(s.Name)
		state, ok := net.Spraying(id)
		if !ok || len(state.Paths) == 0 {
			continue
		}
		perQP := 0
		if b.Rules.Limit > 0 {
			perQP = b.Rules.PerQP
			*s.HardwareTable("acl_entry", "ROCE") = evidence.HardwareTable{
				Name: "acl_entry", Table: "ROCE", Used: evidence.Known(int64(state.Rules), from), Available: evidence.Known(int64(state.RuleLimit-state.Rules), from),
				Refused: evidence.Known(int64(state.RefusedQPs)*int64(perQP), from), From: from,
			}
		}
		s.Spray = &evidence.Spraying{
			Key: evidence.Known(string(b.Key), from), Refresh: evidence.Known(b.Refresh, from), Feedback: evidence.Known(b.PauseFeedback, from),
			PerQP: evidence.Known(perQP, from), From: from,
		}
		all := 0
		for _, p := range state.Paths {
			all += p.Buckets
			s.Spray.Paths = append(s.Spray.Paths, evidence.SprayPath{
				Port: f.Ports[p.Port].Name, Buckets: evidence.Known(p.Buckets, from), Score: evidence.Known(int(p.Score), from),
				Sprayed: evidence.Known(int64(p.Packets), from), Age: evidence.Known(state.Age, from), Oldest: evidence.Known(state.Oldest, from),
			})
		}
		s.Spray.Buckets = evidence.Known(all, from)
	}
	set := func(name, value string) {
		inv.Settings = append(inv.Settings, evidence.Setting{Name: name, Value: value, From: from})
	}
	set("path.buckets.key", string(b.Key))
	set("path.buckets.refresh", b.Refresh.String())
	set("path.buckets.view", string(b.View))
	set("path.buckets.pause_feedback", strconv.FormatBool(b.PauseFeedback))
	sortSettings(inv)
}

// dealingHosts tells of each NIC that a host deals messages to by link state.
func dealingHosts(inv *evidence.Inventory, f *fabric.Fabric, net *netsim.Network, from evidence.Source) {
	for g := range f.GPUs {
		for i, d := range net.Dealing(fabric.GPUID(g)) {
			p := &f.Ports[f.GPUs[g].NICs[i]]
			inv.Host(f.Nodes[p.Node].Name).NIC(p.Name, 1).Spray = &evidence.Spraying{
				Buckets: evidence.Known(netsim.DealBuckets, from), Refresh: evidence.Known(d.Refresh, from), From: from,
				Paths: []evidence.SprayPath{{
					Port: p.Name, Buckets: evidence.Known(d.Buckets, from), Score: evidence.Known(int(d.Score), from),
					Age: evidence.Known(d.Age, from), Oldest: evidence.Known(d.Oldest, from),
				}},
			}
		}
	}
}

// contextIDs tells of each NIC which layout its firmware writes and reads.
func contextIDs(inv *evidence.Inventory, f *fabric.Fabric, c netsim.Config, from evidence.Source) {
	if c.NIC.Transport != netsim.PPCID {
		return
	}
	own := map[string]string{}
	for _, h := range c.NIC.PPCID.Hosts {
		own[h.Host] = string(h.Layout)
	}
	for _, h := range inv.Hosts {
		layout := cmp.Or(own[h.Name], string(c.NIC.PPCID.Layout))
		for _, n := range h.NICs {
			n.ContextID = evidence.ContextID{On: evidence.Known(true, from), Layout: evidence.Known(layout, from), From: from}
		}
	}
}

// pairs tells what the queue pairs between two NICs met.
func pairs(inv *evidence.Inventory, f *fabric.Fabric, net *netsim.Network, from evidence.Source) {
	all := net.Pairs()
	troubled := func(p netsim.Pair) int {
		if p.Timeouts+p.SequenceErrors > 0 || p.GaveUp > 0 {
			return 0
		}
		return 1
	}
	if len(all) > maxPairs {
		slices.SortStableFunc(all, func(a, b netsim.Pair) int { return cmp.Compare(troubled(a), troubled(b)) })
		all = all[:maxPairs]
	}
	for _, p := range all {
		src, dst := &f.Ports[p.Src], &f.Ports[p.Dst]
		inv.Pairs = append(inv.Pairs, evidence.PairCount{
			Host: f.Nodes[src.Node].Name, Device: src.Name, PeerHost: f.Nodes[dst.Node].Name, PeerDevice: dst.Name, QPs: p.QPs,
			Sent: evidence.Known(int64(p.Packets), from), Timeouts: evidence.Known(int64(p.Timeouts), from),
			SeqErrors: evidence.Known(int64(p.SequenceErrors), from), Broken: evidence.Known(p.GaveUp, from), From: from,
		})
	}
}

// ruleTables samples the rule tables of the switches, as SONiC's CRM does.
func (t *Tap) ruleTables(now units.Instant) {
	for id := range t.fabric.Nodes {
		n := &t.fabric.Nodes[id]
		if n.Role == fabric.Host {
			continue
		}
		if used, limit := t.net.Rules(fabric.NodeID(id)); limit > 0 {
			t.level(now, telemetry.SwitchRules, n.Name, telemetry.AnyPriority, float64(used))
			t.level(now, telemetry.SwitchRulesFree, n.Name, telemetry.AnyPriority, float64(limit-used))
		}
	}
}
