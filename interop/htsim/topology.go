package htsim

import (
	"fmt"
	"io"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Topology is a .topo file: a fat-tree of two or three tiers.
type Topology struct {
	Nodes, PodSize int
	Tiers          []Tier // ToR, Agg, Core
	Report         *source.Report
}

// Tier is a row of equal switches and the links below them.
type Tier struct {
	source.Place

	Rate                units.Rate     // of a link below
	Latency             units.Duration // of a link below, one way
	SwitchLatency       units.Duration
	RadixDown, RadixUp  int
	QueueDown, QueueUp  units.Bytes // of a port, 0 when the file does not say
	Oversubscribed      int         // capacity below to capacity above
	Bundle              int         // links between a switch and one below it
	oversubscribedGiven source.Place
}

const (
	minTiers, maxTiers = 2, 3
	maxRadix           = 1 << 16 // ports one way; the largest switch chips of 2025 have 1024
)

// ReadTopology reads a .topo file. The topology is nil when the error, a spec.Problems, is not.
func ReadTopology(file string, in io.Reader) (*Topology, error) {
	r := source.NewReader(file, in)
	t := &Topology{Report: &r.Report}
	h := topologyReader{Reader: r, t: t, tiers: -1, seen: map[string]source.Place{}}
	for r.Line() && !r.Full() {
		if words := r.Words(); len(words) > 0 && words[0].Text[0] != '#' {
			h.line(words)
		}
	}
	h.finish()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// topologyReader is the state between lines.
type topologyReader struct {
	*source.Reader
	t     *Topology
	tiers int  // as the header says, -1 before it did
	in    bool // a tier has begun
	tier  int  // the one that attributes belong to, -1 for one that is no tier
	found [maxTiers]bool
	all   [maxTiers]Tier
	seen  map[string]source.Place // attributes of the header or the tier
}

// attributes is what a tier may say, as htsim spells it.
var attributes = []string{
	"Downlink_speed_Gbps", "Radix_Down", "Radix_Up", "Queue_Down", "Queue_Up", "Oversubscribed", "Bundle", "Switch_Latency_ns", "Downlink_Latency_ns",
}

func (h *topologyReader) line(words []source.Word) {
	key := strings.ToLower(words[0].String())
	if key == "tier" {
		h.beginTier(words)
		return
	}
	known := key == "nodes" || key == "tiers" || key == "podsize"
	for _, a := range attributes {
		known = known || strings.ToLower(a) == key
	}
	if !known {
		h.Wrong(words[0], "%s is nothing a topology says; it says Nodes, Tiers, Podsize, then for each Tier: %s", source.Quote(words[0].Text), strings.Join(attributes, ", "))
		return
	}
	if len(words) < 2 {
		h.Wrong(words[0], "%s has no value; write it behind the word", words[0])
		return
	}
	if before, ok := h.seen[key]; ok {
		h.Wrong(words[0], "%s is given a second time, after line %d; remove one", words[0], before.Line)
		return
	}
	h.seen[key] = words[0].Place
	value := words[1]
	switch key {
	case "nodes", "tiers", "podsize":
		if h.in {
			h.Wrong(words[0], "%s stands behind the first Tier; move it to the front", words[0])
			return
		}
		h.header(key, value)
	default:
		if !h.in {
			h.Wrong(words[0], "%s belongs to a tier; write Tier 0 above it", words[0])
		} else if h.tier >= 0 {
			h.attribute(key, value)
		}
	}
}

func (h *topologyReader) header(key string, value source.Word) {
	switch key {
	case "nodes":
		n, _ := h.Int(value, "the number of nodes", 2, fabric.MaxHosts)
		h.t.Nodes = int(n)
	case "tiers":
		n, _ := h.Int(value, "the number of tiers", minTiers, maxTiers)
		h.tiers = int(n)
	case "podsize":
		n, _ := h.Int(value, "the number of nodes of a pod", 1, fabric.MaxHosts)
		h.t.PodSize = int(n)
	}
}

func (h *topologyReader) beginTier(words []source.Word) {
	h.in, h.tier, h.seen = true, -1, map[string]source.Place{}
	if len(words) < 2 {
		h.Wrong(words[0], "Tier has no number; write Tier 0 for the ToRs")
		return
	}
	n, ok := h.Int(words[1], "the number of a tier", 0, maxTiers-1)
	if !ok {
		return
	}
	if h.found[n] {
		h.Wrong(words[1], "tier %d is described twice; remove one", n)
		return
	}
	h.tier, h.found[n] = int(n), true
	h.all[n] = Tier{Place: words[0].Place, Oversubscribed: 1, Bundle: 1}
}

func (h *topologyReader) attribute(key string, w source.Word) {
	t := &h.all[h.tier]
	number := func(what string, least, most int64) int {
		n, _ := h.Int(w, what, least, most)
		return int(n)
	}
	const maxNS = 1_000_000_000 // a second, more than any link
	switch key {
	case "downlink_speed_gbps":
		t.Rate = units.Rate(number("the speed of a link in Gbit/s", 1, 1_000_000)) * units.Gbps
	case "radix_down":
		t.RadixDown = number("the number of ports down", 1, maxRadix)
	case "radix_up":
		t.RadixUp = number("the number of ports up", 1, maxRadix)
	case "queue_down":
		t.QueueDown = units.Bytes(number("the bytes of a queue", 1, 1<<40))
	case "queue_up":
		t.QueueUp = units.Bytes(number("the bytes of a queue", 1, 1<<40))
	case "oversubscribed":
		t.Oversubscribed = number("the oversubscription", 1, maxRadix)
		t.oversubscribedGiven = w.Place
	case "bundle":
		t.Bundle = number("the number of links of a bundle", 1, maxRadix)
	case "switch_latency_ns":
		t.SwitchLatency = units.Duration(number("the latency of a switch in ns", 0, maxNS)) * units.Nanosecond
	case "downlink_latency_ns":
		t.Latency = units.Duration(number("the latency of a link in ns", 1, maxNS)) * units.Nanosecond
	}
}

// finish checks what only the whole file shows.
func (h *topologyReader) finish() {
	for _, m := range []struct {
		missing bool
		text    string
	}{
		{h.t.Nodes == 0 && h.OK(), "no Nodes: how many hosts there are; add Nodes 128 or what it is"},
		{h.tiers < 0 && h.OK(), "no Tiers; add Tiers 2 or Tiers 3"},
		{h.t.PodSize == 0 && h.OK(), "no Podsize: hosts of a pod; add it, with two tiers the number of Nodes"},
	} {
		if m.missing {
			h.Wrong(source.Place{}, "%s", m.text)
		}
	}
	if !h.OK() {
		return
	}
	for i := range h.tiers {
		t := &h.all[i]
		top := i == h.tiers-1
		if !h.found[i] {
			h.Wrong(source.Place{}, "tier %d is not described; add Tier %d with %s", i, i, strings.Join(attributes[:2], ", "))
			continue
		}
		for _, m := range []struct {
			missing bool
			name    string
		}{{t.Rate == 0, "Downlink_speed_Gbps"}, {t.RadixDown == 0, "Radix_Down"}, {t.RadixUp == 0 && !top, "Radix_Up"}, {t.Latency == 0, "Downlink_Latency_ns"}} {
			if m.missing {
				h.Wrong(t, "tier %d has no %s; add it", i, m.name)
			}
		}
		if top && (t.RadixUp != 0 || t.QueueUp != 0) {
			h.Wrong(t, "tier %d is the top and has nothing above it; remove Radix_Up and Queue_Up", i)
		}
	}
	for i := h.tiers; i < maxTiers; i++ {
		if h.found[i] {
			h.Note(&h.all[i], "tier %d is above the %d tiers of the header and is not used", i, h.tiers)
		}
	}
	h.t.Tiers = h.all[:h.tiers]
	if h.OK() {
		h.t.check(h.Report.Wrong)
	}
}

// check reports sizes that do not make a fat-tree.
func (t *Topology) check(wrong func(at source.Located, format string, args ...any)) {
	if len(t.Tiers) == minTiers && t.PodSize != t.Nodes {
		wrong(&t.Tiers[0], "with two tiers all %d nodes are one pod, and Podsize is %d; make them equal", t.Nodes, t.PodSize)
		return
	}
	tor := &t.Tiers[0]
	if t.Nodes%t.PodSize != 0 || t.PodSize%tor.RadixDown != 0 {
		wrong(tor, "%d nodes do not make whole pods of %d with ToRs of %d ports down; each must divide the one before", t.Nodes, t.PodSize, tor.RadixDown)
		return
	}
	below := t.PodSize / tor.RadixDown // switches of the tier below that a switch is linked to
	for i := range t.Tiers {
		tier := &t.Tiers[i]
		if i > 0 {
			if tier.RadixDown != below*tier.Bundle {
				wrong(tier, "tier %d has %d ports down, and the %d switches below it with bundles of %d need %d", i, tier.RadixDown, below, tier.Bundle, below*tier.Bundle)
			}
			if t.Tiers[i-1].RadixUp%tier.Bundle != 0 {
				wrong(tier, "the %d ports up of tier %d do not make whole bundles of %d; write a divisor", t.Tiers[i-1].RadixUp, i-1, tier.Bundle)
			}
			below = t.Nodes / t.PodSize
		}
		if i == len(t.Tiers)-1 {
			continue
		}
		// In Gbit/s, which no product of the limits takes beyond int64.
		down := int64(tier.RadixDown) * int64(tier.Rate/units.Gbps)
		up := int64(tier.RadixUp) * int64(t.Tiers[i+1].Rate/units.Gbps)
		if down != up*int64(tier.Oversubscribed) {
			at := source.Located(tier)
			if tier.oversubscribedGiven.Line > 0 {
				at = tier.oversubscribedGiven
			}
			wrong(at, "tier %d has %d Gbit/s below and %d above, and Oversubscribed says %d; %s", i, down, up, tier.Oversubscribed, rightRatio(down, up))
		}
	}
}

func rightRatio(down, up int64) string {
	if down%up == 0 {
		return fmt.Sprintf("write Oversubscribed %d, or other radices or speeds", down/up)
	}
	return "change a radix or a speed so that the ratio is a whole number"
}
