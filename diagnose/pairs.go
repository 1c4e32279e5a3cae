package diagnose

import (
	"cmp"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// pairTest is the bandwidth between two hosts over one device.
type pairTest struct {
	a, b   string
	device string // "" where not told, or where all are in use
	what   string // kind of test: only tests of one kind are compared
	gbps   float64
	from   string
}

func (p pairTest) has(host string) bool { return p.a == host || p.b == host }

func (p pairTest) String() string {
	s := p.a + " - " + p.b
	if p.device != "" {
		s += " over " + p.device
	}
	return s
}

// pairTests lists the bandwidths between pairs of hosts, by kind of test, the kind with most pairs first.
func (v *View) pairTests() [][]pairTest {
	by := map[string][]pairTest{}
	add := func(p pairTest) {
		if p.a != "" && p.b != "" && p.a != p.b && p.gbps > 0 {
			by[p.what] = append(by[p.what], p)
		}
	}
	for _, t := range v.Inv.Perftests {
		row, ok := fastest(t)
		if ok {
			add(pairTest{t.Host, v.hostNamed(peerOfCommand(t.Test)), t.Device, "perftest " + testName(t.Test), float64(row.Average) / 1e9, row.From.String()})
		}
	}
	for _, t := range v.Inv.NetTests {
		if rate, ok := t.Rate.Get(); ok {
			add(pairTest{t.Host, v.hostNamed(t.Peer), "", t.Tool + " " + t.Test, float64(rate) / 1e9, t.Rate.From.String()})
		}
	}
	for _, t := range v.Inv.Tables {
		if len(t.Hosts) != 2 {
			continue
		}
		best, from := 0.0, t.From
		for _, c := range v.Inv.Calls {
			if c.Table == t.Index && c.BusBW > best {
				best, from = c.BusBW, c.From
			}
		}
		add(pairTest{t.Hosts[0], t.Hosts[1], "", "nccl-tests " + t.Test, best * 8, from.String()})
	}
	var kinds [][]pairTest
	for _, tests := range by {
		kinds = append(kinds, tests)
	}
	slices.SortFunc(kinds, func(a, b []pairTest) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0].what, b[0].what))
	})
	return kinds
}

// hostNamed is the host of a name or of one of its addresses; a name of no known host stands for itself.
func (v *View) hostNamed(peer string) string {
	short, _, _ := strings.Cut(peer, ".")
	if v.host(short) != nil && short != "" && strings.Trim(short, "0123456789") != "" {
		return short
	}
	if a, err := netip.ParseAddr(peer); err == nil {
		if p, ok := v.owners()[a.Unmap()]; ok {
			return p.host
		}
	}
	return peer
}

// peerOfCommand is the server of a client's command line: the one word behind the program that is neither an option nor
// the value of one.
func peerOfCommand(command string) string {
	words := strings.Fields(command)
	i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(path.Base(w), "ib_") })
	if i < 0 {
		return ""
	}
	for i++; i < len(words); i++ {
		w := words[i]
		switch {
		case strings.ContainsAny(w, "|><&;"):
			return ""
		case strings.HasPrefix(w, "-"):
			if !flagAlone(w) && !strings.Contains(w, "=") {
				i++ // its value
			}
		default:
			return w
		}
	}
	return ""
}

// flagAlone tells whether an option of perftest takes no value (perftest, src/perftest_parameters.c).
func flagAlone(option string) bool {
	return slices.Contains([]string{"-a", "-F", "-R", "-b", "-N", "-e", "-o", "--report_gbits", "--all", "--bidirectional", "--CPU-freq", "--rdma_cm", "--run_infinitely", "--no-peak", "--use_hugepages", "--report-both", "--noPeak"}, option)
}

// testName is the program of a command line, "ib_write_bw", else the name the test gives itself.
func testName(command string) string {
	for word := range strings.FieldsSeq(command) {
		if base := path.Base(word); strings.HasPrefix(base, "ib_") {
			return base
		}
	}
	return command
}

// suspect is something that pairs have in common.
type suspect struct {
	what string // "node3", "device mlx5_2", "node3/mlx5_2"
	kind string // "host", "rail", "NIC"
	in   func(pairTest) bool
}

// suspects lists the hosts, rails and NICs of the tests.
func suspects(tests []pairTest) (all []suspect) {
	seen := map[string]bool{}
	add := func(s suspect) {
		if !seen[s.kind+s.what] {
			seen[s.kind+s.what] = true
			all = append(all, s)
		}
	}
	for _, t := range tests {
		for _, h := range []string{t.a, t.b} {
			add(suspect{h, "host", func(p pairTest) bool { return p.has(h) }})
			if t.device != "" {
				add(suspect{h + "/" + t.device, "NIC", func(p pairTest) bool { return p.has(h) && p.device == t.device }})
			}
		}
		if t.device != "" {
			add(suspect{"device " + t.device, "rail", func(p pairTest) bool { return p.device == t.device }})
		}
	}
	return all
}

// blame finds what alone explains the slow pairs: it is in each of them, and in no pair that is not slow. A suspect that one
// pair alone speaks of is none. several lists all that would explain them.
func blame(tests []pairTest, slow func(pairTest) bool) (several []suspect) {
	for _, s := range suspects(tests) {
		with, explained, contradicted := 0, true, false
		for _, t := range tests {
			in := s.in(t)
			if in {
				with++
			}
			if slow(t) && !in {
				explained = false
			}
			if !slow(t) && in {
				contradicted = true
			}
		}
		if with > 1 && explained && !contradicted {
			several = append(several, s)
		}
	}
	// A NIC of a host, with the host itself: where each of the host's pairs was over that one device, both explain the same,
	// and the host is what can be said.
	if len(several) > 1 {
		hosts := slices.DeleteFunc(slices.Clone(several), func(s suspect) bool { return s.kind != "host" })
		if len(hosts) == 1 && !slices.ContainsFunc(several, func(s suspect) bool { return s.kind == "rail" }) {
			return hosts
		}
	}
	return several
}

// upperQuarter is what pairs reach that nothing holds back: the value a quarter of them pass.
func upperQuarter(tests []pairTest) float64 {
	all := make([]float64, len(tests))
	for i, t := range tests {
		all[i] = t.gbps
	}
	slices.Sort(all)
	return all[len(all)*3/4]
}

// hostsIn lists the hosts of tests, in order of appearance.
func hostsIn(tests []pairTest) (hosts []string) {
	for _, t := range tests {
		for _, h := range []string{t.a, t.b} {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}
