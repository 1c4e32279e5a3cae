package diagnose

import (
	"fmt"
	"path"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// C009: one host, or one run, has fewer channels than the other.
//
// Symptom: half the bandwidth on some hosts, or after an update, with nothing broken. Mechanism: NCCL searches for
// rings on the topology it sees; a topology in which two NICs hang off one PCIe link, or a release with other
// defaults (2.19 lowered them), gives fewer rings, and each ring uses one NIC. Evidence for: other counts on the
// line "coll channels, p2p channels" or "Pattern ... nChannels". Look-alikes: communicators of different size, which
// have different counts on one host; so only the largest of each log is compared.
var causeFewerChannels = Cause{
	Code:  "C009",
	Title: "fewer channels on one host or in one run",
	Needs: "NCCL logs of two hosts or two runs (NCCL_DEBUG_SUBSYS=INIT,GRAPH)",
	Check: checkFewerChannels,
}

// channelsSeen is the largest count of channels one host showed in one file.
type channelsSeen struct {
	host, file string
	count      int
	what       string
	from       evidence.Source
	p2p        int
}

func checkFewerChannels(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no channels of NCCL")
	}
	var shapes, rings []channelsSeen
	top := func(all *[]channelsSeen, c channelsSeen) {
		i := slices.IndexFunc(*all, func(s channelsSeen) bool { return s.host == c.host && s.file == c.file && s.what == c.what })
		if i < 0 {
			*all = append(*all, c)
		} else if (*all)[i].count < c.count {
			(*all)[i] = c
		}
	}
	for _, s := range v.Inv.NCCL.Shape {
		top(&shapes, channelsSeen{s.Host, s.From.File, s.Collective, "channels for collectives", s.From, s.P2P})
	}
	for _, g := range v.Inv.NCCL.Graph {
		if g.Pattern == 4 { // ring; src/include/graph.h, NCCL_TOPO_PATTERN_RING
			top(&rings, channelsSeen{g.Host, g.From.File, g.Channels, "rings found by the graph search", g.From, 0})
		}
	}
	for _, all := range [][]channelsSeen{rings, shapes} {
		if len(all) < 2 {
			continue
		}
		low := slices.MinFunc(all, func(a, b channelsSeen) int { return a.count - b.count })
		high := slices.MaxFunc(all, func(a, b channelsSeen) int { return a.count - b.count })
		if low.count*2 > high.count || low.count == 0 {
			continue // the next smaller power of two is what a lost NIC or a lowered default gives
		}
		f := Finding{
			Title:    fmt.Sprintf("%s shows %d %s, %s shows %d", side(low, high), low.count, low.what, side(high, low), high.count),
			Severity: Warning, Confidence: likely, Where: []string{orElse(low.host, path.Base(low.file))},
			Because: "a ring uses one NIC of each host, so with half the rings half of the NICs or of their capacity is idle",
			Evidence: []Evidence{
				{Layer: "collective", What: low.what + ", " + side(low, high), Seen: fmt.Sprint(low.count), Expected: fmt.Sprint(high.count), Role: "cause", From: low.from.String()},
				{Layer: "collective", What: high.what + ", " + side(high, low), Seen: fmt.Sprint(high.count), From: high.from.String()},
			},
			Not:     []string{"a slow link: the search counts NICs and PCIe links, not their errors"},
			WrongIf: "the two logs are of communicators of different size or purpose",
			Fix: Fix{
				Text:     "compare the topology that NCCL finds on both (two NICs behind one PCIe link give one ring); after an update compare the defaults of both releases and drop variables set for the old one",
				Commands: []string{"NCCL_TOPO_DUMP_FILE=topo.xml", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV", "export NCCL_MIN_CTAS=32 NCCL_MIN_P2P_NCHANNELS=32   # as a test"},
			},
			Settle: "the topology files of both (NCCL_TOPO_DUMP_FILE)",
		}
		if low.p2p != high.p2p && low.p2p > 0 && high.p2p > 0 {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "channels for send and receive, " + side(low, high), Seen: fmt.Sprint(low.p2p), Expected: fmt.Sprint(high.p2p), Role: "cause", From: low.from.String()})
		}
		return found(f)
	}
	if len(rings) < 2 && len(shapes) < 2 {
		return cannotCheck("NCCL logs of two hosts or two runs (\"coll channels\", \"Pattern\")")
	}
	return ruledOut("the logs show the same number of channels")
}

// side names one of two logs: by its host where the hosts differ, else by its file.
func side(c, other channelsSeen) string {
	if c.host == other.host {
		return path.Base(c.file)
	}
	return called(c.host)
}
