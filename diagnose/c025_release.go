package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C025: bandwidth fell with another release of NCCL.
//
// Symptom: an update, with nothing else changed, and a fraction of the bandwidth. Mechanism: a release has other defaults,
// each of which a variable takes back; or its timing shows a fault of the network that the old one did not, which is what a
// fall to next to nothing means: no default costs that much. Evidence for: bandwidths of two releases, noted for the same
// set-up, the later less than half. Against: nothing that such notes hold, so it stays a suspicion. Look-alikes: C009, which
// compares the channels of two logs; X013 (more than the release changed).
var causeRelease = Cause{
	Code:  "C025",
	Title: "bandwidth fell with another release of NCCL",
	Needs: "bandwidths of two releases of NCCL, noted a line or a row each (NCCL 2.18.1: 180 GB/s)",
	Check: checkRelease,
}

const (
	// releaseFall is how much is left where it is worth a finding: nccl-tests itself varies by some ten percent, and a
	// choice of algorithm costs up to a third (docs/codes/C019.md).
	releaseFall = 0.5
	// releaseCollapse is what is left where packets are lost and sent again: less than any default costs.
	releaseCollapse = 0.2
)

// changed are defaults that changed, from which release on, and the variable that takes the change back, "" where none does (env.rst and
// src of NCCL at the tags of these releases).
var changed = []struct {
	since release
	what  string
	undo  string
}{
	{release{2, 12, 0}, "messages between hosts may take a detour over another GPU of the host (PXN)", "NCCL_PXN_DISABLE=1"},
	{release{2, 18, 0}, "virtual functions of one card count as one device", "NCCL_IB_MERGE_VFS=0"},
	{release{2, 19, 0}, "NICs agree on extra features when they connect (ECE)", "NCCL_IB_ECE_ENABLE=0"},
	{release{2, 19, 0}, "fewer channels are used", "NCCL_MIN_NCHANNELS=32"},
	{release{2, 20, 0}, "ports of one card are merged into one device", "NCCL_IB_MERGE_NICS=0"},
	{release{2, 20, 0}, "messages are no longer split over the queue pairs of a connection", "NCCL_IB_SPLIT_DATA_ON_QPS=1"},
	{release{2, 20, 0}, "two ends with different MTUs are no longer brought to the smaller one", ""},
	{release{2, 21, 0}, "the GID is chosen by NCCL", "NCCL_IB_GID_INDEX=3"},
	{release{2, 27, 0}, "NICs with a direct path to the GPU use it", "NCCL_IB_DATA_DIRECT=0"},
}

// fall is a bandwidth before and after.
type fall struct{ from, to evidence.ReleaseResult }

func (f fall) left() float64 { return f.to.BusBW / f.from.BusBW }

func checkRelease(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no release of NCCL")
	}
	pairs, worst := 0, fall{}
	for _, with := range setups(v.Inv.Releases) {
		for i := 1; i < len(with); i++ {
			f := fall{with[i-1], with[i]}
			if f.from.Release == f.to.Release || f.from.Below || f.from.BusBW == 0 {
				continue
			}
			pairs++
			if f.left() < releaseFall && (worst.from.Release == "" || f.left() < worst.left()) {
				worst = f
			}
		}
	}
	switch {
	case pairs == 0:
		return cannotCheck("bandwidths of two releases of NCCL with the same set-up")
	case worst.from.Release == "":
		return ruledOut(fmt.Sprintf("no release halves the bandwidth of the one before it (%s)", count(pairs, "pair")))
	}
	return found(v.releaseFinding(worst))
}

// setups groups results by what else tells runs apart, in the order of the releases.
func setups(all []evidence.ReleaseResult) (groups [][]evidence.ReleaseResult) {
	index := map[string]int{}
	for _, r := range all {
		i, ok := index[r.With]
		if !ok {
			i = len(groups)
			index[r.With] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b evidence.ReleaseResult) int {
			return cmp.Or(releaseOf(a).compare(releaseOf(b)), cmp.Compare(b.BusBW, a.BusBW)) // the best of a release stands first
		})
	}
	for i, g := range groups {
		groups[i] = slices.CompactFunc(g, func(a, b evidence.ReleaseResult) bool { return a.Release == b.Release })
	}
	return groups
}

func releaseOf(r evidence.ReleaseResult) release {
	v, _ := parseRelease(r.Release, 0)
	return v
}

// compare orders releases.
func (r release) compare(o release) int {
	switch {
	case r.less(o):
		return -1
	case o.less(r):
		return 1
	}
	return 0
}

func (v *View) releaseFinding(f fall) Finding {
	value := func(r evidence.ReleaseResult) string {
		if r.Below {
			return fmt.Sprintf("under %g GB/s", r.BusBW)
		}
		return fmt.Sprintf("%g GB/s", r.BusBW)
	}
	out := Finding{
		Title:    fmt.Sprintf("bandwidth falls from %s with NCCL %s to %s with %s", value(f.from), f.from.Release, value(f.to), f.to.Release),
		Severity: Warning, Confidence: weak, Where: []string{orElse(f.to.With, "the job")},
		WrongIf: "more than the release changed between the runs",
		Settle:  "the same run with each change taken back, one at a time, and the counters of loss before and after it",
	}
	for i, r := range []evidence.ReleaseResult{f.from, f.to} {
		role, expected := "", ""
		if i == 1 {
			role, expected = "cause", "about "+value(f.from)
		}
		out.Evidence = append(out.Evidence, Evidence{Layer: "collective", What: strings.TrimSpace("bandwidth with NCCL " + r.Release + " " + r.With), Seen: value(r), Expected: expected, Role: role, From: r.From.String()})
	}
	var what []string
	for _, c := range changed {
		if releaseOf(f.from).less(c.since) && !releaseOf(f.to).less(c.since) {
			what = append(what, c.what)
			if c.undo == "" {
				out.Fix.Commands = append(out.Fix.Commands, "ibv_devinfo | grep active_mtu   # on all hosts")
			} else {
				out.Fix.Commands = append(out.Fix.Commands, "export "+c.undo+"   # "+c.what)
			}
		}
	}
	var because []string
	if len(what) > 0 {
		because = append(because, "between the two, defaults changed: "+strings.Join(what, "; "))
		out.Fix.Text = "take the changed defaults back, one at a time"
	}
	if f.left() < releaseCollapse && v.roce() != no {
		because = append(because, "a fall this deep is what lost packets do: RoCE without flow control sends everything behind a loss again, and a release with another timing shows what was there before")
		out.Fix.Text = strings.TrimPrefix(out.Fix.Text+"; look for loss: drop counters may be elsewhere, those of retransmission are not, and give RoCE a lossless class (PFC on switch and NIC)", "; ")
		out.Fix.Commands = append(out.Fix.Commands, "rdma statistic show | tr ' ' '\\n' | grep -A1 -E 'out_of_sequence|packet_seq_err|local_ack_timeout_err'", "mlnx_qos -i IFACE")
	}
	out.Because = strings.Join(because, "; or ")
	if out.Because == "" {
		out.Because = "no default that is known here changed between the two: what did is not known"
		out.Fix.Text = "compare the two logs (NCCL_DEBUG=INFO): networks, devices, channels"
		out.Fix.Commands = []string{"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING ..."}
	}
	return out
}
