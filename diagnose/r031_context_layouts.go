package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// R031: NICs write and read the per-packet context id by different layouts.
//
// Symptom: some pairs of hosts time out or send again, others run at full speed, and no counter of any device has seen a drop.
// Mechanism: the id in the field of the UDP checksum is private to the firmware; where one reads a path what another wrote as a time,
// the sequence it reconstructs is wrong and the packet is thrown away silently (article 000, section 5.2; S0.12). Evidence for: the
// pairs that time out are those of unlike layouts or firmware, all of them, and pairs of the same do not. Against: a pair of
// the same layout that times out as well; unlike pairs that work. Look-alikes: X022 (a device between them drops the packets),
// R004 (a host that answers nobody).
var causeContextLayouts = Cause{
	Code:     "R031",
	Title:    "NICs disagree about the layout of the per-packet context id",
	Needs:    "the layout or the firmware of the NICs (ibstat, ethtool -i), and which pairs of hosts time out",
	Explains: []string{"R004", "J002", "J003", "R030", "L011", "L013", "L021", "L031", "L032"}, // what is sent again fills queues
	Check:    checkContextLayouts,
}

// trouble is the pairs of NICs that time out or send again and those that do not, by what they speak.
type trouble struct {
	failed         [][2]string // names of NICs
	likeFailed     int         // pairs of one dialect that failed
	likeFine       int
	unlikeFailed   int
	unlikeFine     int
	dialects       []string       // in order of appearance
	speakers       map[string]int // NICs by dialect
	objects        []string       // NICs, in order of appearance
	of             map[string]dialect
	known          bool // at least one pair, with both dialects
	unknownDialect bool
	timeouts       int64
	again          int64 // NAKs for what was missing
	broken         int
	from           string
}

// contextTrouble sorts the pairs; ok is false where nothing tells of pairs, or nobody's dialect is known.
func (v *View) contextTrouble() (t trouble, ok bool) {
	t.of, t.speakers = map[string]dialect{}, map[string]int{}
	speakers := v.speakers()
	for _, s := range speakers {
		t.of[s.object] = s.dialect
		if t.speakers[s.name] == 0 {
			t.dialects = append(t.dialects, s.name)
		}
		t.speakers[s.name]++
		t.objects = append(t.objects, s.object)
	}
	add := func(pair [2]string, failed bool) {
		a, ok1 := t.of[pair[0]]
		b, ok2 := t.of[pair[1]]
		if !ok1 || !ok2 {
			t.unknownDialect = true
			return
		}
		like := a.name == b.name
		switch {
		case failed && like:
			t.likeFailed++
		case failed:
			t.unlikeFailed++
		case like:
			t.likeFine++
		default:
			t.unlikeFine++
		}
		if failed {
			t.failed = append(t.failed, pair)
		}
		t.known = true
	}
	for _, p := range v.pairCounts() {
		failed := p.losing()
		t.timeouts, t.again, t.broken = t.timeouts+p.timeouts, t.again+p.again, t.broken+p.broken
		if t.from == "" && failed {
			t.from = p.from.String()
		}
		add(p.ends, failed)
	}
	if len(v.Inv.Pairs) == 0 {
		for _, pair := range v.brokenPairs(speakers) {
			if t.from == "" {
				t.from = pair.from
			}
			add(pair.ends, true)
		}
	}
	return t, t.known
}

// brokenPair is two NICs between which the library gave up.
type brokenPair struct {
	ends [2]string
	from string
}

// brokenPairs lists the pairs of NICs whose queue pairs used up their retries, by the library's log, each once. Where a line
// names no device the host's only dialect stands for it.
func (v *View) brokenPairs(speakers []speaker) (all []brokenPair) {
	seen := map[[2]string]bool{}
	for _, e := range v.unreachable() {
		a, b := speakerOf(speakers, e.Host, e.Device), speakerOf(speakers, v.hostNamed(e.Peer), "")
		if a == "" || b == "" || a == b {
			continue
		}
		key := [2]string{min(a, b), max(a, b)}
		if !seen[key] {
			seen[key] = true
			all = append(all, brokenPair{[2]string{a, b}, e.From.String()})
		}
	}
	return all
}

// explained tells whether unlike dialects are what the pairs that fail have in common: all of them are unlike, and no unlike
// pair works.
func (t trouble) explained() bool {
	return t.unlikeFailed > 0 && t.likeFailed == 0 && t.unlikeFine == 0
}

func checkContextLayouts(v *View) Verdict {
	t, ok := v.contextTrouble()
	on, known := v.contextIDs()
	switch {
	case v.Inv.Simulated && !on:
		return notApplicable("the simulated NICs write no per-packet context id")
	case known && !on:
		return notApplicable("no NIC writes a per-packet context id")
	case !ok && (len(t.dialects) == 0 || len(v.unreachable()) > 0):
		return cannotCheck("the firmware of both ends of the pairs that time out (ibstat, ethtool -i)")
	case len(t.dialects) == 1 && !t.unknownDialect:
		return ruledOut(fmt.Sprintf("all %s have %s", count(t.speakers[t.dialects[0]], "NIC"), t.dialects[0]))
	case len(t.failed) == 0 && len(v.Inv.Pairs) == 0 && !v.Inv.NCCL.HasLog:
		return cannotCheck("which pairs of hosts time out: the logs of the job")
	case len(t.failed) == 0:
		return ruledOut("no pair of NICs timed out")
	case t.likeFailed > 0:
		return ruledOut(fmt.Sprintf("%s of NICs that agree time out as well", count(t.likeFailed, "pair")))
	case t.unlikeFine > 0:
		return ruledOut(fmt.Sprintf("%s of NICs that differ work", count(t.unlikeFine, "pair")))
	case !t.explained():
		return ruledOut("no two NICs that time out are known to differ")
	case !on && t.unlikeFailed < 2 && t.likeFine == 0:
		return cannotCheck("more than one pair: that a single pair of unlike firmware fails may have any reason")
	}
	return found(v.contextLayoutsFinding(t, on))
}

// contextIDs tells whether NICs write context ids: by what they are set to, or by captured packets with a UDP checksum. known is false
// where nothing tells.
func (v *View) contextIDs() (on, known bool) {
	for _, n := range v.nics() {
		if b, ok := n.ContextID.On.Get(); ok {
			on, known = on || b, true
		}
	}
	for _, p := range v.pairs() {
		known = true
		on = on || p.tally(func(s *evidence.Stream) evidence.Tally { return s.Checksums }).Count > 0
	}
	return on, known
}

func (v *View) contextLayoutsFinding(t trouble, on bool) Finding {
	common := t.dialects[0]
	for _, d := range t.dialects {
		if t.speakers[d] > t.speakers[common] {
			common = d
		}
	}
	what := "firmware"
	if t.of[t.failed[0][0]].layout {
		what = "layout"
	}
	f := Finding{
		Title:    fmt.Sprintf("only pairs of unlike %s lose packets: %s of them, and no pair of NICs that agree", what, count(t.unlikeFailed, "pair")),
		Severity: Critical, Confidence: possible,
		Because: "the receiver takes bits of the context id for what they are not, finds a sequence that it does not expect, and throws the packet away without counting it; the sender hears nothing and waits for its timeout",
		WrongIf: "two NICs of the same firmware and layout time out as well",
		Settle:  "ib_write_bw between two hosts of the same firmware, then between unlike ones, with the context id on and off",
		Not:     []string{fmt.Sprintf("a host or a link that is broken (%s of NICs that agree work)", count(t.likeFine, "pair"))},
		Fix: Fix{
			Text:     fmt.Sprintf("bring all NICs to one firmware, or to one layout of the id; %s is what most have (%d of %d)", common, t.speakers[common], len(t.of)),
			Commands: []string{"ibstat | grep -E 'CA |Firmware'", "ethtool -i IFACE | grep firmware"},
		},
		Evidence: []Evidence{
			{Layer: "RDMA", What: "pairs of unlike " + what + " that time out or send again", Seen: fmt.Sprintf("%d of %d", t.unlikeFailed, t.unlikeFailed+t.unlikeFine), Expected: "0", Role: "cause", From: t.from},
			{Layer: "RDMA", What: "pairs of the same " + what + " that do", Seen: fmt.Sprintf("%d of %d", t.likeFailed, t.likeFailed+t.likeFine), Expected: "0", From: t.from},
		},
	}
	if t.likeFine == 0 {
		f.Not = nil
	}
	var odd []string
	for _, object := range t.objects {
		d := t.of[object]
		if d.name == common {
			continue
		}
		odd = append(odd, object)
		if len(odd) <= maxRows {
			f.Evidence = append(f.Evidence, Evidence{Layer: "NIC", What: what + " of " + object, Seen: d.name, Expected: common, Role: "cause", From: d.from.String()})
		}
	}
	f.Where = odd
	if len(odd) == 0 {
		f.Where = []string{t.failed[0][0]}
	}
	if n := t.timeouts + t.again; n > 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "timeouts of these pairs, and NAKs for what was missing", Seen: fmt.Sprintf("%d, %d", t.timeouts, t.again), Expected: "0", Role: "effect", From: t.from})
	}
	if lost, told, _ := v.losses(); told && lost == 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "packets that any port dropped or damaged", Seen: "0", Expected: "0", From: "switch_port_dropped_total"})
	}
	if what == "layout" {
		f.Fix.Try = []Change{{Setting: "nic.ppcid.layout", Value: common}}
		f.Fix.Others = []Alternative{{Text: "leave the field at 0, with NICs that place packets by what the RoCE headers say", Try: []Change{{Setting: "nic.transport", Value: "place"}}}}
	}
	switch {
	case what == "layout" && t.likeFine > 0:
		f.Confidence = named
	case what == "layout":
		f.Confidence = likely
	case on && t.likeFine > 0:
		f.Confidence = likely
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return f
}
