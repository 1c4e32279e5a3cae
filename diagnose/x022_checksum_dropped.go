package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// X022: something between hosts drops RoCE packets whose UDP checksum is not 0.
//
// Symptom: RoCE between some hosts is dead while ping and TCP between the same hosts pass; nothing in the fabric counts a drop.
// Mechanism: RoCEv2 leaves the field at 0; a scheme that writes a per-packet context id there makes a device that verifies or filters
// (a security group, a virtual switch, a firewall) take every packet for a damaged one (article 000, section 5.5; S0.15).
// Evidence for: the NICs write the id, pairs of hosts time out, and other traffic between them passes. Against: ICMP or TCP that is
// lost as well; a pair without the id that is lost too. Look-alikes: R031 (the receiver itself throws the packets away), I007
// (a filter of TCP), R004.
var causeChecksumDropped = Cause{
	Code:     "X022",
	Title:    "RoCE packets with a UDP checksum are dropped on the way",
	Needs:    "that NICs use the field (their setting, or a capture), which pairs time out, and whether ping or TCP passes between them",
	Explains: []string{"X021", "R004", "J002", "J003", "R030", "L011", "L013", "L021", "L031", "L032"}, // what is sent again fills queues
	Check:    checkChecksumDropped,
}

func checkChecksumDropped(v *View) Verdict {
	on, known := v.contextIDs()
	switch {
	case v.Inv.Simulated && !on:
		return notApplicable("the simulated NICs leave the UDP checksum at 0")
	case !known:
		return cannotCheck("whether the UDP checksum of RoCE packets is 0: " + needsCapture)
	case !on:
		return ruledOut("the UDP checksum of RoCE packets is 0")
	}
	dead := v.deadPairs()
	t, _ := v.contextTrouble()
	switch {
	case len(dead) == 0 && len(v.Inv.Pairs) == 0 && !v.Inv.NCCL.HasLog:
		return cannotCheck("which pairs of hosts time out: the logs of the job")
	case len(dead) == 0:
		return ruledOut("no pair of hosts timed out")
	case t.explained():
		return ruledOut("the pairs that time out are those whose NICs differ")
	}
	lost, told, how := v.losses()
	if told && lost > 0 {
		return ruledOut("packets were lost: " + how)
	}
	if row, ok := v.otherTrafficLost(dead); ok {
		return ruledOut(row)
	}
	return found(v.checksumDroppedFinding(dead, told))
}

// deadPairs lists the pairs of hosts between which RoCE times out: by the counts of queue pairs, else by the library's log.
func (v *View) deadPairs() (dead []brokenPair) {
	seen := map[[2]string]bool{}
	for _, p := range v.pairCounts() {
		if p.dead() && !seen[p.hosts] {
			seen[p.hosts] = true
			dead = append(dead, brokenPair{p.hosts, p.from.String()})
		}
	}
	if len(v.Inv.Pairs) > 0 {
		return dead
	}
	for _, e := range v.unreachable() {
		peer := v.hostNamed(e.Peer)
		key := [2]string{min(e.Host, peer), max(e.Host, peer)}
		if e.Host != "" && peer != "" && !seen[key] {
			seen[key] = true
			dead = append(dead, brokenPair{[2]string{e.Host, peer}, e.From.String()})
		}
	}
	return dead
}

// otherTraffic is what else went between two hosts: ICMP, TCP, or flows of another application.
type otherTraffic struct {
	what   string
	passed bool
	from   string
}

func (v *View) otherTraffic(a, b string) (all []otherTraffic) {
	between := func(x, y string) bool { return x == a && y == b || x == b && y == a }
	for _, p := range v.Inv.MTUProbes {
		if passed, ok := p.Passed(); ok && !p.TooLong && between(p.Host, v.hostNamed(p.Target)) {
			all = append(all, otherTraffic{"ping " + p.Host + " -> " + p.Target, passed, p.From.String()})
		}
	}
	for _, n := range v.Inv.NetTests {
		if (n.Test == "tcp" || strings.HasPrefix(n.Test, "tcp_")) && between(n.Host, v.hostNamed(n.Peer)) {
			all = append(all, otherTraffic{n.Tool + " (TCP) " + n.Host + " -> " + n.Peer, n.Failed == "", n.From.String()})
		}
	}
	for _, f := range v.Inv.Flows {
		// A sample is taken where the sender enters the fabric, and so proves nothing of the other end; a flow that went on for a while was answered.
		if f.Application != evidence.RoCE && f.Timed && f.Start.Before(f.End) && between(f.Src, f.Dst) {
			all = append(all, otherTraffic{f.Application + " " + f.Src + " -> " + f.Dst, true, f.From.String()})
		}
	}
	return all
}

// otherTrafficLost tells whether what else went between the pairs was lost as well, on each of them for which that is known.
func (v *View) otherTrafficLost(dead []brokenPair) (why string, lost bool) {
	for _, p := range dead {
		for _, o := range v.otherTraffic(p.ends[0], p.ends[1]) {
			if o.passed {
				return "", false
			}
			why, lost = o.what+" does not pass either", true
		}
	}
	return why, lost
}

func (v *View) checksumDroppedFinding(dead []brokenPair, told bool) Finding {
	f := Finding{
		Severity: Critical, Confidence: possible,
		Because: "the field carries a per-packet context id; a device that takes it for a checksum finds it wrong, and drops the packet without a word to either side",
		WrongIf: "RoCE between the two hosts is lost with the checksum at 0 as well",
		Settle:  "ib_write_bw between the two hosts with the context id off; or a capture at both ends: what leaves and does not arrive",
		Fix: Fix{
			Text:     "let UDP 4791 with any checksum through the device that drops it",
			Commands: []string{"shunt spray allow --for nftables", "shunt spray allow --for aws"},
			Try:      []Change{{Setting: "middlebox.udp_checksum", Value: "any"}},
			Others:   []Alternative{{Text: "leave the field at 0, with NICs that place packets by what the RoCE headers say", Try: []Change{{Setting: "nic.transport", Value: "place"}}}},
		},
	}
	first := dead[0]
	f.Title = fmt.Sprintf("RoCE between %s and %s times out, and its packets carry a UDP checksum", first.ends[0], first.ends[1])
	f.Where = []string{first.ends[0] + " <-> " + first.ends[1]}
	if host := inAll(dead); host != "" && len(dead) > 1 {
		f.Title = fmt.Sprintf("RoCE with a UDP checksum does not pass to and from %s: %s time out", host, count(len(dead), "pair"))
		f.Where = []string{host}
	} else {
		for _, p := range dead[1:min(len(dead), 1+maxRows)] {
			f.Where = append(f.Where, p.ends[0]+" <-> "+p.ends[1])
		}
	}
	f.Evidence = append(f.Evidence, v.contextRow()...)
	f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "pairs of hosts that time out", Seen: fmt.Sprintf("%d, %s first", len(dead), f.Where[0]), Expected: "0", Role: "effect", From: first.from})
	passed := 0
	for _, p := range dead {
		for _, o := range v.otherTraffic(p.ends[0], p.ends[1]) {
			if passed++; o.passed && passed <= maxRows {
				f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: o.what, Seen: "passes", Expected: "passes", From: o.from})
				f.Not = []string{"an address, a route or a link that is broken (" + o.what + " passes)"}
			}
		}
	}
	if told {
		f.Evidence = append(f.Evidence, Evidence{Layer: "switch", What: "packets that any port dropped or damaged", Seen: "0", Expected: "0", From: "switch_port_dropped_total"})
	}
	if t, ok := v.contextTrouble(); ok && t.likeFailed > 0 {
		f.Not = append(f.Not, "NICs that disagree about the id (ends that agree time out too)")
	}
	switch {
	case passed > 0 && told:
		f.Confidence = named
	case passed > 0:
		f.Confidence = likely
	default: // nothing shows that the way between them is open at all
		f.Severity = Warning
		f.Settle = "ping and iperf3 between the two hosts: they must pass; then " + f.Settle
	}
	f.Evidence = append(f.Evidence, v.jobRows()...)
	return f
}

// inAll is the one host that is in every pair, "" where there is none.
func inAll(pairs []brokenPair) string {
	for _, host := range pairs[0].ends {
		if !slices.ContainsFunc(pairs, func(p brokenPair) bool { return p.ends[0] != host && p.ends[1] != host }) {
			return host
		}
	}
	return ""
}

// contextRow tells that the NICs write into the field.
func (v *View) contextRow() []Evidence {
	for _, n := range v.nics() {
		if on, ok := n.ContextID.On.Get(); ok && on {
			return []Evidence{{Layer: "NIC", What: "per-packet context id in the UDP checksum field, " + n.object, Seen: "on, layout " + n.ContextID.Layout.Or("unknown"), Expected: "0 in the field", Role: "cause", From: n.ContextID.On.From.String()}}
		}
	}
	for _, p := range v.pairs() {
		if t := p.tally(func(s *evidence.Stream) evidence.Tally { return s.Checksums }); t.Count > 0 {
			return []Evidence{frames("RDMA", "RoCE packets with a UDP checksum, "+p.String(), "cause", t, "0")}
		}
	}
	return nil
}
