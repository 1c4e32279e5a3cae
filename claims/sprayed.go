package claims

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/telemetry"
)

// weightExperiments are the spray engine in a network: weights, pauses, context ids.
func weightExperiments() []Experiment {
	return []Experiment{{
		Name: "refresh", Version: 1, Seeds: 3, Cost: 9, Files: []string{"refresh.yaml"},
		Method: `Four hosts send 200 MB each at 4 Gbit/s over four spines, the way to one of which has half the rate from the start: some 0.8 s with even shares, 0.46 s with
the right ones. Weighted buckets (128, PSN in the key, placing receivers) that are never refreshed, or every 2 s, 200 ms, 10 ms and 1 ms, under the curve that comes to rest
and under the article's own with all freed buckets to one path; and with the slow link behind the spine, where the leaf cannot see it. Rates are low so that 0.8 s can
be simulated at all.`,
		Values: []string{"never", "gain 2s", "gain 200ms", "gain 10ms", "gain 1ms", "gain article 200ms", "gain remote 10ms"},
		run:    refresh,
	}, {
		Name: "storm", Version: 1, Seeds: 5, Cost: 3, Files: []string{"storm.yaml"},
		Method: `Sixteen hosts at 100 Gbit/s, sprayed over four spines by buckets, no congestion control; for 1 ms one spine's link to a leaf runs at a twentieth. Its queue fills, the
spine pauses the senders' leaf and that its hosts. XOFF at 800 KB or 650 KB of what would be 1 MB a port (80 % and 65 %), with and without telling the sprayer of
a pause at once; and per-flow hashing. "Held" is the time for which ports were paused, all ports together.`,
		Values: []string{"throughput lost", "throughput lost hashed", "held", "both to before", "threshold to before",
			"feedback to before", "lost feedback"},
		run: storm,
	}, {
		Name: "context-ids", Version: 1, Seeds: 3, Cost: 6, Files: []string{"context-ids.yaml"},
		Method: `128 hosts on 16 leaves and eight spines at 200 Gbit/s, a permutation between leaves, every packet over a random spine, to receivers that go by a context id of 16 bits: with
ten bits of sequence and four of path (v2), and with all four things of the article (v1, whose five bits of sequence order 16 packets). Then one host whose firmware has the
other vendor's layout; and one whose packets pass a device that drops UDP checksums that do not verify, with context ids and without.`,
		Values: []string{"errors v2", "errors v1", "again v2", "again v1", "mismatch lost", "mismatch told", "checksum lost", "checksum lost without"},
		run:    contextIDs,
	}, {
		Name: "nic-split", Version: 2, Seeds: 3, Cost: 3, Files: []string{"two-nics.yaml"},
		Method: `Eight hosts with two 400 Gbit/s NICs each deal the messages of an MoE step over the two by the state of their links, read each 20 us. At one host the
readings of one NIC become known 300 us late, as when its interrupts are handled by a core that has other things to do; at all the others, and in a second run at
all of them, they come in time. Measured is what the fuller NIC of that host carried, and how much longer the steps take.`,
		Values: []string{"late", "deviation in time", "step"},
		run:    nicSplit,
	}}
}

func refresh(t *Trial) (Values, error) {
	size := "job.pattern.size=" + t.sized("200MB", "4MB")
	end := func(set ...string) (float64, error) {
		r, err := t.finish("refresh.yaml", append([]string{size}, set...)...)
		if err != nil {
			return 0, err
		}
		return float64(r.Summary.End.PS()) / 1e9, nil
	}
	v := Values{}
	const remote = "fabric.links=[{between: [leaf1, spine0], from: spine0, rate: 2Gbps}]"
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"never", []string{"path.buckets.curve=fixed"}},
		{"gain 2s", []string{"path.buckets.refresh=2s"}},
		{"gain 200ms", nil},
		{"gain 10ms", []string{"path.buckets.refresh=10ms"}},
		{"gain 1ms", []string{"path.buckets.refresh=1ms"}},
		{"gain article 200ms", []string{"path.buckets.curve=article", "path.buckets.freed=one", "path.buckets.max_step=128"}},
		{"gain remote 10ms", []string{"path.buckets.refresh=10ms", remote}},
	} {
		ms, err := end(c.set...)
		if err != nil {
			return nil, err
		}
		if c.name == "never" {
			v[c.name] = ms
			continue
		}
		v[c.name] = 100 * (v["never"]/ms - 1)
	}
	return v, nil
}

func storm(t *Trial) (Values, error) {
	type result struct{ held, ms float64 }
	size := "job.pattern.size=" + t.sized("20MB", "8MB")
	run := func(set ...string) (result, error) {
		r, err := t.finish("storm.yaml", append([]string{size}, set...)...)
		if err != nil {
			return result{}, err
		}
		return result{r.Figures().Network.PauseUS / 1000, float64(r.Summary.End.PS()) / 1e9}, nil
	}
	results := map[string]result{}
	const fast, lower = "path.buckets.pause_feedback=true", "switch.xoff=650KB"
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"sound", []string{"faults=[]"}}, {"before", nil}, {"feedback", []string{fast}}, {"threshold", []string{lower}}, {"both", []string{fast, lower}},
		{"hashed sound", []string{"faults=[]", "path_choice=ecmp"}}, {"hashed", []string{"path_choice=ecmp"}},
	} {
		x, err := run(c.set...)
		if err != nil {
			return nil, err
		}
		results[c.name] = x
	}
	lost := func(with, without string) float64 { return 100 * (1 - results[without].ms/results[with].ms) }
	before := results["before"].held
	return Values{
		"throughput lost": lost("before", "sound"), "throughput lost hashed": lost("hashed", "hashed sound"), "lost feedback": lost("feedback", "sound"),
		"held":           before,
		"both to before": results["both"].held / before, "threshold to before": results["threshold"].held / before, "feedback to before": results["feedback"].held / before,
	}, nil
}

func contextIDs(t *Trial) (Values, error) {
	base := []string{"job.pattern.size=" + t.sized("1600KiB", "160KiB")}
	if t.Reduced {
		base = append(base, "fabric.leaves=4", "fabric.hosts_per_leaf=4")
	}
	run := func(set ...string) (*scenario.Run, error) {
		return t.run("context-ids.yaml", append(append([]string{}, base...), set...)...)
	}
	v := Values{}
	misread := func(r *scenario.Run) float64 {
		sent := packets(r) + float64(r.Transport.Retransmitted)
		return 100 * float64(r.Summary.Drops[netsim.DropMisread]+r.Summary.Drops[netsim.DropAmbiguous]) / sent
	}
	for _, layout := range []string{"v2", "v1"} {
		r, err := run("nic.ppcid.layout=" + layout)
		if err != nil {
			return nil, err
		}
		v["errors "+layout], v["again "+layout] = misread(r), againShare(r)
	}
	// Of the host with the other layout: what it was sent and did not understand, and what it sent and others did not.
	other, err := run("nic.ppcid.layout=path-high", "nic.ppcid.paths=8", "nic.ppcid.hosts=[{host: host3, layout: time-high}]", "job.pattern.ranks=[0, 1, 2, 3]", "job.pattern.offset=1",
		"job.pattern.size=64KiB")
	if err != nil {
		return nil, err
	}
	lost, of := ended(other, "host3")
	v["mismatch lost"] = 100 * lost / of
	v["mismatch told"] = counted(other, telemetry.SwitchDropped) + counted(other, telemetry.NICRxDiscards) + counted(other, telemetry.NICRDMARxDiscards)
	for name, transport := range map[string]string{"checksum lost": "ppcid", "checksum lost without": "place"} {
		r, err := run("nic.transport="+transport, "faults=[{kind: checksum-drop, link: [host0, leaf0]}, {kind: checksum-drop, link: [leaf0, host0]}]", "job.pattern.ranks=0-7", "job.pattern.offset=4", "job.pattern.size=64KiB")
		if err != nil {
			return nil, err
		}
		lost, of := ended(r, "host0")
		v[name] = 100 * lost / of
	}
	return v, nil
}

// ended is how many of the sends from and to a host did not end, and how many there are.
func ended(r *scenario.Run, host string) (lost, of float64) {
	name := func(gpu int) string { return r.Fabric.Nodes[r.Fabric.GPUs[gpu].Host].Name }
	for i := range r.Plan.Ops {
		op := &r.Plan.Ops[i]
		if name(int(op.Src)) != host && name(int(op.Dst)) != host {
			continue
		}
		of++
		if r.Times[i].End.Before(r.Times[i].Start) {
			lost++
		}
	}
	return lost, of
}

func nicSplit(t *Trial) (Values, error) {
	size := "job.step.sizes.ep=" + t.sized("32MiB", "2MiB")
	split := func(r *scenario.Run) float64 {
		var carried []float64
		for _, l := range r.Loads() {
			if strings.HasPrefix(l.Port, "host0/") {
				carried = append(carried, l.Bytes)
			}
		}
		return 100 * max(carried[0], carried[1]) / (carried[0] + carried[1])
	}
	inTime, err := t.finish("two-nics.yaml", size)
	if err != nil {
		return nil, err
	}
	late, err := t.finish("two-nics.yaml", size, "nic.deal.staleness=300us", "nic.deal.jitter=20us", fmt.Sprintf("nic.deal.late=[{host: host0, nic: %d}]", t.Seed%2))
	if err != nil {
		return nil, err
	}
	return Values{"late": split(late), "deviation in time": 2 * (split(inTime) - 50), "step": 100 * (mean(steps(late))/mean(steps(inTime)) - 1)}, nil
}
