package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// What runs of perftest (ib_write_bw and its kin) say, as causes ask for it.

// perftestGIDZero finds a run that used index 0 on Ethernet, without rdma_cm, and got no answer.
func perftestGIDZero(v *View) []Finding {
	for _, t := range v.Inv.Perftests {
		is := func(want int) func(int) bool { return func(n int) bool { return n == want } }
		if !t.Status.Is(is(wcRetryExceeded)) || !t.GIDIndex.Is(is(0)) || t.RDMACM.Or(false) ||
			!t.LinkLayer.Is(func(s string) bool { return s == "Ethernet" }) {
			continue
		}
		where := object(t.Host, t.Device)
		return []Finding{{
			Title:      fmt.Sprintf("the bandwidth test on %s used GID index 0, by default the link-local RoCE v1 address, and got no answer", where),
			Severity:   Critical,
			Confidence: likely,
			Where:      []string{where},
			Because:    "without -x and without -R perftest takes an index that need not match the route to the peer; packets from a RoCE v1 or link-local address are not answered across the fabric",
			Evidence: []Evidence{
				{Layer: "RDMA", What: "GID index of the test", Seen: "0", Expected: "the index of a RoCE v2 GID with a routed address", Role: "cause", From: t.GIDIndex.From.String()},
				{Layer: "RDMA", What: "rdma_cm", Seen: "off", From: orElse(t.RDMACM.From.String(), t.From.String())},
				{Layer: "RDMA", What: "result of the test", Seen: "status 12 (transport retries exceeded)", Role: "effect", From: t.Status.From.String()},
			},
			Not:     []string{"a dead path as such: ping and TCP tell nothing about the GID, so it is the first thing to test"},
			WrongIf: "the test fails in the same way with -R, or with -x and the index of the v2 GID: then the path itself is broken (R004)",
			Fix:     Fix{Text: "name the index of the RoCE v2 GID on both sides, or let rdma_cm choose by the route", Commands: []string{"show_gids", "ib_write_bw -d DEVICE -x INDEX [PEER]", "ib_write_bw -d DEVICE -R [PEER]"}},
			Settle:  "ib_write_bw -R between the same two hosts",
		}}
	}
	return nil
}

// failedPerftest finds a run that used up its retries.
func (v *View) failedPerftest() (evidence.Perftest, bool) {
	for _, t := range v.Inv.Perftests {
		if t.Status.Is(func(n int) bool { return n == wcRetryExceeded }) {
			return t, true
		}
	}
	return evidence.Perftest{}, false
}

// perftestMTUs lists the path MTUs of runs over Ethernet.
func (v *View) perftestMTUs() []mtuSeen {
	var all []mtuSeen
	for _, t := range v.Inv.Perftests {
		mtu, ok := t.MTU.Get()
		if ok && t.LinkLayer.Is(func(s string) bool { return s == "Ethernet" }) {
			all = append(all, mtuSeen{t.Host, orElse(t.Device, "the tested port"), mtu, t.MTU.From, false})
		}
	}
	return all
}

// fastest is the largest average a run reached.
func fastest(t evidence.Perftest) (row evidence.PerftestRow, ok bool) {
	for _, r := range t.Rows {
		if r.Average > row.Average {
			row, ok = r, true
		}
	}
	return row, ok
}

// onGPU tells whether a run moved GPU memory, which its name or its table would say (--use_cuda); an ordinary run
// moves host memory.
func onGPU(t evidence.Perftest) bool { return strings.Contains(strings.ToLower(t.Test), "cuda") }
