package iptables

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) (filters []int) {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	for _, s := range inv.Host("").Filters {
		filters = append(filters, s.Line)
	}
	return filters
}

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []int
	}{
		{"firewalld", `Chain INPUT (policy ACCEPT)
target     prot opt source               destination
ACCEPT     all  --  anywhere             anywhere             ctstate RELATED,ESTABLISHED
DROP       all  --  anywhere             anywhere             ctstate INVALID
REJECT     all  --  anywhere             anywhere             reject-with icmp-host-prohibited

Chain FORWARD (policy DROP)
target     prot opt source               destination
REJECT     all  --  anywhere             anywhere

Chain DOCKER-ISOLATION-STAGE-2 (1 references)
target     prot opt source               destination
DROP       all  --  anywhere             anywhere
`, []int{5}},
		{"policy", "Chain INPUT (policy DROP)\ntarget prot opt source destination\n", []int{1}},
		{"with counters", "Chain INPUT (policy ACCEPT 12 packets, 720 bytes)\n pkts bytes target prot opt in out source destination\n  17  1020 DROP  tcp  --  *  *  0.0.0.0/0  0.0.0.0/0\n", []int{3}},
		{"iptables-save", "-P INPUT ACCEPT\n-A INPUT -m conntrack --ctstate INVALID -j DROP\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n-A FORWARD -j DROP\n-A OUTPUT -j ACCEPT\n", []int{3}},
		{"open", "Chain INPUT (policy ACCEPT)\ntarget     prot opt source               destination\n\nChain OUTPUT (policy ACCEPT)\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(t, tc.text)); diff != "" {
				t.Error(diff)
			}
			first, _, _ := strings.Cut(tc.text, "\n")
			if !Starts([]byte(first)) {
				t.Errorf("%q begins nothing", first)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Chain INPUT (policy DROP)\n1 2 DROP a\n-A INPUT -j REJECT\n[1:2] -A OUTPUT -j DROP\n-P")
	f.Fuzz(func(t *testing.T, text string) {
		if got := len(read(t, text)); got > len(text) {
			t.Fatal(got)
		}
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}
