package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// C019: the algorithm or protocol of a collective does not suit its size and the topology.
//
// Symptom: one size, or one collective, far from what its neighbours reach. Mechanism: a ring takes 2(n-1) steps, so its
// latency grows with the ranks, and moves the least data; a tree takes 2 log2(n) steps; LL spends half of the bandwidth on
// flags, LL128 a sixteenth. NCCL weighs that by itself; a variable takes the choice away. Evidence for: NCCL_DEBUG_SUBSYS=
// TUNING, or runs with both algorithms; the variable. Against: NCCL's own choice where nothing was measured beside it.
// Look-alikes: C007 (NCCL_PROTO=LL), L021, where a tree suffers from the hash.
var causeAlgorithm = Cause{
	Code:     "C019",
	Title:    "the algorithm of a collective does not suit its size and the topology",
	Needs:    "NCCL_DEBUG_SUBSYS=TUNING, the variables of the job, runs of nccl-tests with several algorithms",
	Explains: []string{"C007"},
	Check:    checkAlgorithm,
}

const (
	// large is a message at which bandwidth alone matters: latency of any algorithm is a hundredth of its time at 10 GB/s.
	large = 64 << 20
	// small is a message at which latency alone matters.
	small = 64 << 10
	// manyRanks is where a ring's steps of some microseconds add up to half a millisecond and more, against a tree's 12.
	manyRanks = 64
)

func checkAlgorithm(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated collective runs the algorithm its scenario names")
	}
	var findings []Finding
	if f, bad := v.measuredAlgorithm(); bad {
		findings = append(findings, f)
	}
	if f, bad := v.forcedAlgorithm(); bad {
		findings = append(findings, f)
	}
	if f, bad := v.lowLatencyLarge(); bad {
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case len(v.Inv.NCCL.Tuning) > 0:
		return ruledOut("NCCL's choices suit their sizes: " + v.choices())
	case len(v.algorithms()) > 1:
		return ruledOut("no measured algorithm is far ahead of the one in use")
	}
	return cannotCheck("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING, or runs of nccl-tests with NCCL_ALGO=Ring and NCCL_ALGO=Tree")
}

// choices sums up what NCCL chose, smallest and largest of each collective.
func (v *View) choices() string {
	type ends struct{ small, large evidence.TuningChoice }
	by := map[string]ends{}
	var order []string
	for _, c := range v.Inv.NCCL.Tuning {
		e, there := by[c.Collective]
		if !there {
			order = append(order, c.Collective)
			e = ends{c, c}
		}
		if c.Bytes < e.small.Bytes {
			e.small = c
		}
		if c.Bytes > e.large.Bytes {
			e.large = c
		}
		by[c.Collective] = e
	}
	var words []string
	for _, name := range order {
		e := by[name]
		word := fmt.Sprintf("%s %v %s/%s", orElse(name, "collective"), e.small.Bytes, e.small.Algorithm, e.small.Protocol)
		if e.large.Bytes > e.small.Bytes {
			word += fmt.Sprintf(" to %v %s/%s", e.large.Bytes, e.large.Algorithm, e.large.Protocol)
		}
		words = append(words, word)
	}
	return listed(words)
}

// lowLatencyLarge finds large messages that go by LL.
func (v *View) lowLatencyLarge() (Finding, bool) {
	for _, c := range v.Inv.NCCL.Tuning {
		if c.Protocol != "LL" || c.Bytes < large {
			continue
		}
		f := algorithmFinding(c.Host)
		f.Title = fmt.Sprintf("%s of %v goes by %s with the protocol LL", orElse(c.Collective, "a collective"), c.Bytes, c.Algorithm)
		f.Because = "LL sends four bytes of flag with every four of data, so large messages reach half of the bandwidth at most"
		f.Evidence = []Evidence{{Layer: "collective", What: fmt.Sprintf("protocol of %s, %v", orElse(c.Collective, "a collective"), c.Bytes), Seen: c.Algorithm + "/" + c.Protocol, Expected: "Simple", Role: "cause", From: c.From.String()}}
		if e, ok := v.variable("NCCL_PROTO", c.Host); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset", Role: "cause", From: e.From.String()})
			f.Confidence = named
			f.Fix.Try = []Change{{Setting: "NCCL_PROTO", Value: ""}}
		}
		return f, true
	}
	return Finding{}, false
}

// forcedAlgorithm judges NCCL_ALGO where it names one algorithm for all sizes.
func (v *View) forcedAlgorithm() (Finding, bool) {
	e, ok := v.Inv.NCCL.Lookup("NCCL_ALGO")
	value := strings.ToLower(strings.TrimSpace(e.Value))
	if !ok || value == "" || strings.ContainsAny(value, ",^:;") {
		return Finding{}, false
	}
	f := algorithmFinding(e.Host)
	f.Evidence = []Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset: NCCL chooses by size", Role: "cause", From: e.From.String()}}
	f.Fix.Try = []Change{{Setting: e.Name, Value: ""}}
	ranks := v.Inv.NCCL.Ranks
	switch {
	case value == "ring" && ranks >= manyRanks:
		f.Title = fmt.Sprintf("NCCL_ALGO=%s: each all_reduce takes %d steps on %d ranks, whatever its size", e.Value, 2*(ranks-1), ranks)
		f.Because = fmt.Sprintf("the latency of a ring grows with the ranks; a tree takes about %d steps, so small and middle sizes lose most", 2*log2(ranks))
		f.Confidence = possible
	case strings.HasPrefix(value, "collnet") && (v.roce() == yes || len(v.said(evidence.SharpFailed)) > 0):
		f.Title = fmt.Sprintf("NCCL_ALGO=%s asks for reduction in the network, which is not to be had here", e.Value)
		f.Because = "CollNet needs SHARP, which InfiniBand switches with an aggregation manager offer; without it NCCL takes another algorithm, and since 2.24 it fails"
		f.Confidence = likely
		f.Evidence = append(f.Evidence, tell(v.said(evidence.SharpFailed), "cause")...)
	default:
		return f, false
	}
	return f, true
}

func log2(n int) (l int) {
	for n > 1 {
		n, l = (n+1)/2, l+1
	}
	return l
}

// measured is the best bus bandwidth of an algorithm at a size.
type measured struct {
	algorithm string
	busbw     float64
	from      string
}

// algorithms has what was measured, by collective and size, one entry an algorithm.
func (v *View) algorithms() map[string][]measured {
	by := map[string][]measured{}
	for _, c := range v.Inv.Calls {
		if c.Algorithm == "" || c.Kind == "" || c.BusBW <= 0 {
			continue
		}
		key := fmt.Sprintf("%s of %v", c.Kind, c.Bytes)
		all := by[key]
		i := 0
		for i < len(all) && all[i].algorithm != c.Algorithm {
			i++
		}
		if i == len(all) {
			all = append(all, measured{algorithm: c.Algorithm})
		}
		if c.BusBW > all[i].busbw {
			all[i].busbw, all[i].from = c.BusBW, c.From.String()
		}
		by[key] = all
	}
	for key, all := range by {
		if len(all) < 2 {
			delete(by, key)
		}
	}
	return by
}

// aheadBy is how much faster another algorithm must be to be worth a finding: runs of nccl-tests differ by some percent.
const aheadBy = 1.2

// measuredAlgorithm compares runs with several algorithms with what NCCL chose, or was told, for the size.
func (v *View) measuredAlgorithm() (Finding, bool) {
	by := v.algorithms()
	for _, c := range v.Inv.NCCL.Tuning {
		all := by[fmt.Sprintf("%s of %v", kindOf(c.Collective), c.Bytes)]
		var used, best measured
		for _, m := range all {
			if strings.EqualFold(m.algorithm, c.Algorithm) {
				used = m
			}
			if m.busbw > best.busbw {
				best = m
			}
		}
		if used.busbw == 0 || best.busbw < aheadBy*used.busbw || c.Bytes < units.Bytes(small) {
			continue
		}
		f := algorithmFinding(c.Host)
		f.Title = fmt.Sprintf("%s of %v goes by %s at %.3g GB/s, where %s reaches %.3g", c.Collective, c.Bytes, used.algorithm, used.busbw, best.algorithm, best.busbw)
		f.Because = "NCCL weighs algorithms by a model of the machine and of the network, which does not fit this one"
		f.Confidence = named
		f.Evidence = []Evidence{
			{Layer: "collective", What: "algorithm in use", Seen: c.Algorithm + "/" + c.Protocol, Expected: best.algorithm, Role: "cause", From: c.From.String()},
			{Layer: "collective", What: "bus bandwidth with " + used.algorithm, Seen: fmt.Sprintf("%.3g GB/s", used.busbw), Role: "effect", From: used.from},
			{Layer: "collective", What: "bus bandwidth with " + best.algorithm, Seen: fmt.Sprintf("%.3g GB/s", best.busbw), From: best.from},
		}
		f.Fix = Fix{Text: "find out why: a tuner plugin, a topology file, links that NCCL does not see; as a way around it name the algorithm for this collective alone", Commands: []string{fmt.Sprintf("export NCCL_ALGO=%s:%s   # NCCL 2.24 and later", strings.ToLower(c.Collective), best.algorithm)}}
		return f, true
	}
	return Finding{}, false
}

// kindOf is the name nccl-tests have for a function of NCCL.
func kindOf(function string) string {
	return map[string]string{"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast", "Reduce": "reduce"}[function]
}

func algorithmFinding(host string) Finding {
	return Finding{
		Severity: Warning, Confidence: likely, Where: []string{orElse(host, "the job")},
		WrongIf: "the choice was made for a test of one size",
		Fix:     Fix{Text: "let NCCL choose by size", Commands: []string{"unset NCCL_ALGO NCCL_PROTO"}},
		Settle:  "nccl-tests over the job's sizes with and without the variable, NCCL_DEBUG_SUBSYS=TUNING",
	}
}
