package diagnose

import (
	"fmt"
	"slices"
	"strings"
)

// C020: bandwidth tests between pairs of hosts point to one host, NIC or rail, or leave it open.
//
// Symptom: a job is as slow as its slowest host, and each host alone looks well. Mechanism: a pair is as slow as the worse
// of its ends or of what lies between; what all slow pairs have in common, and no fast pair has, is at fault. Evidence for:
// perftest, iperf3 or nccl-tests between pairs. Against: nothing in common, or several things in common: then the tests
// cannot decide, and the finding says which pair would. Look-alikes: H011 (how one test was bound), C011 (how it was run).
var causePairs = Cause{
	Code:  "C020",
	Title: "tests between pairs point to a slow host, NIC or rail",
	Needs: "bandwidth tests between three pairs of hosts or more, of one kind",
	Check: checkPairs,
}

// slowPair is the part of what pairs reach that nothing holds back (upperQuarter) below which a pair is slow. Sound pairs
// of one fabric differ by a few percent; the least a real fault costs is a lane of four.
const slowPair = 0.8

func checkPairs(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no such tests")
	}
	kinds := v.pairTests()
	if len(kinds) == 0 || len(kinds[0]) < 3 {
		return cannotCheck("bandwidth tests between three pairs of hosts or more (ib_write_bw, or all_reduce_perf on two hosts each)")
	}
	tests := kinds[0]
	good := upperQuarter(tests)
	slow := func(t pairTest) bool { return t.gbps < slowPair*good }
	var bad, well []pairTest
	for _, t := range tests {
		if slow(t) {
			bad = append(bad, t)
		} else {
			well = append(well, t)
		}
	}
	if len(bad) == 0 {
		return ruledOut(fmt.Sprintf("%d pairs of %d hosts reach within %.0f %% of each other (%s)", len(tests), len(hostsIn(tests)), 100*(1-slowPair), tests[0].what))
	}
	slices.SortFunc(bad, func(a, b pairTest) int { return int(1e3 * (a.gbps - b.gbps)) })
	f := Finding{
		Severity: Warning, Confidence: named,
		WrongIf: "the tests ran at the same time, or beside a job",
		Fix:     Fix{Text: "look at that host's links, PCIe and NUMA binding first (P and H codes); then move the cable, then the card", Commands: []string{"ethtool -S IFACE | grep -E 'crc|symbol|discards|pause'", "lspci -vvv -s ADDRESS | grep LnkSta", "ib_write_bw -d DEVICE PEER   # against a third host"}},
	}
	for _, t := range bad[:min(len(bad), maxRows)] {
		f.Evidence = append(f.Evidence, pairRow(t, good, "effect"))
	}
	for _, t := range well[:min(len(well), 2)] {
		f.Evidence = append(f.Evidence, pairRow(t, good, ""))
	}
	several := blame(tests, slow)
	switch {
	case len(several) == 1:
		s := several[0]
		f.Title = fmt.Sprintf("the %s %s is slow: each of %s with it is, and none without", s.kind, strings.TrimPrefix(s.what, "device "), counted(len(bad), "pair", "pairs"))
		f.Where = []string{s.what}
		f.Because = "a pair is as slow as the worse of its ends, or of what lies between them; this is the only thing the slow pairs have in common that no fast pair has"
		if s.kind == "rail" {
			f.Because += "; a rail is that device on every host with the switch behind it"
			f.Fix.Text = "look at the switch of that rail, at its speed, FEC and counters, and at what differs in the NICs' settings of that rail"
		}
		f.Settle = "one more test of " + strings.TrimPrefix(s.what, "device ") + " with another peer"
		if len(bad) < 2 || len(well) < 2 {
			f.Confidence = likely
		}
	default:
		f.Severity, f.Confidence = Warning, weak
		f.Where = []string{bad[0].String()}
		f.Title = fmt.Sprintf("%s slow (%s first), and the tests cannot decide what they have in common", plural(len(bad)), bad[0])
		f.Because = "the slow pairs share no single host, NIC or rail, or share several"
		f.Settle = "the pairs not tested yet: " + listed(untested(tests, bad))
		if len(several) > 1 {
			var words []string
			for _, s := range several {
				words = append(words, s.kind+" "+strings.TrimPrefix(s.what, "device "))
			}
			f.Title = fmt.Sprintf("%s slow, and the tests cannot decide between %s", plural(len(bad)), listed(words))
			f.Because = "each of these is in all slow pairs and in no fast one"
		} else if groupA, groupB, ok := betweenGroups(tests, slow); ok {
			f.Title = fmt.Sprintf("pairs between %s and %s are slow, pairs within each are not: what joins them is", listed(groupA), listed(groupB))
			f.Because = "each group reaches its rate within; the links or switches between them do not carry as much"
			f.Confidence = likely
			f.Where = []string{fmt.Sprintf("between %s and %s", listed(groupA), listed(groupB))}
			f.Settle = "the counters and speeds of the uplinks of both groups' switches"
		}
	}
	return found(f)
}

func plural(n int) string {
	if n == 1 {
		return "1 pair is"
	}
	return fmt.Sprintf("%d pairs are", n)
}

func pairRow(t pairTest, good float64, role string) Evidence {
	return Evidence{Layer: "RDMA", What: t.what + ", " + t.String(), Seen: fmt.Sprintf("%.4g Gbit/s", t.gbps), Expected: fmt.Sprintf("about %.4g Gbit/s", good), Role: role, From: t.from}
}

// untested lists pairs that would tell more: hosts of slow pairs against hosts of fast ones that were not tested together.
func untested(tests, bad []pairTest) (pairs []string) {
	done := map[[2]string]bool{}
	for _, t := range tests {
		done[[2]string{t.a, t.b}], done[[2]string{t.b, t.a}] = true, true
	}
	for _, a := range hostsIn(bad) {
		for _, b := range hostsIn(tests) {
			if a != b && !done[[2]string{a, b}] && len(pairs) < maxRows {
				pairs = append(pairs, a+" - "+b)
				done[[2]string{a, b}], done[[2]string{b, a}] = true, true
			}
		}
	}
	if len(pairs) == 0 {
		return []string{"none: repeat the slow ones one at a time"}
	}
	return pairs
}

// betweenGroups splits the hosts into two groups such that exactly the pairs between them are slow.
func betweenGroups(tests []pairTest, slow func(pairTest) bool) (a, b []string, ok bool) {
	hosts := hostsIn(tests)
	if len(hosts) < 4 {
		return nil, nil, false
	}
	side := map[string]int{hosts[0]: 1}
	for range hosts { // a fast pair is on one side, a slow one on two
		for _, t := range tests {
			for _, x := range [][2]string{{t.a, t.b}, {t.b, t.a}} {
				known := side[x[0]]
				if known == 0 {
					continue
				}
				want := known
				if slow(t) {
					want = 3 - known
				}
				if side[x[1]] == 0 {
					side[x[1]] = want
				} else if side[x[1]] != want {
					return nil, nil, false
				}
			}
		}
	}
	within := 0
	for _, t := range tests {
		if !slow(t) {
			within++
		}
	}
	for _, h := range hosts {
		switch side[h] {
		case 1:
			a = append(a, h)
		case 2:
			b = append(b, h)
		default:
			return nil, nil, false
		}
	}
	return a, b, len(a) > 1 && len(b) > 1 && within >= 2
}
