package claims

import (
	"fmt"
	"math"

	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/workload"
)

// sprayingExperiments are about what spraying does to receivers that expect order, and what equal paths are.
func sprayingExperiments() []Experiment {
	return []Experiment{{
		Name: "spraying", Version: 1, Seeds: 10, Cost: 0.6, Files: []string{"spraying.yaml"},
		Method: `Four hosts below two leaves, four spines, everything at 200 Gbit/s, an all_reduce of 576 KiB in a ring that crosses the leaves: the size
for which one path without contention takes the claimed 38 us. "One path" is, read kindly, a single spine of four times the rate, where nothing meets and
nothing overtakes; read literally, a single spine at 200 Gbit/s. Hashing is drawn 16 times a seed with new QP numbers, five calls each; spraying sends every packet to
a random spine, 20 calls. Go-back-N receivers drop what is overtaken; placing receivers take it.`,
		Values: []string{"one", "one deviation", "narrow", "hashed", "hashed deviation", "hashed peak", "ordered", "ordered to one", "again ordered", "again hashed",
			"placed", "again placed", "efficiency", "naks"},
		run: spraying,
	}, {
		Name: "receivers", Version: 1, Seeds: 5, Cost: 3, Files: []string{"receivers.yaml"},
		Method: `Sixteen hosts on four leaves and four spines at 200 Gbit/s, each sending 1600 KiB to the host half the ranks further, every packet over a random
spine; nothing is lost on the way. The receivers go back, repeat selectively (IRN) or place; with all hosts sending, with half or a
quarter of them (two or one a leaf), with DCQCN, and placing with a real loss of 1 in 1000 on every uplink of one leaf of four.`,
		Values: []string{"go-back-n", "go-back-n quarter", "go-back-n half", "go-back-n dcqcn", "irn", "irn quarter", "irn half", "place", "place lossy", "hashed", "time go-back-n", "time irn", "time place", "gave up"},
		run:    receivers,
	}, {
		Name: "equal-paths", Version: 1, Seeds: 5, Cost: 1.2, Files: []string{"equal-paths.yaml"},
		Method: `Two leaves of four hosts, four spines whose delays lie up to 1.8 ns apart, an all-to-all on 8 QPs a pair, so that 128 flows hash onto the four
uplinks of a leaf; and the same with delays that are equal to the picosecond.`,
		Values: []string{"cost of skew", "unevenness", "unevenness alike"},
		run:    equalPaths,
	}, {
		Name: "lossy-path", Version: 1, Seeds: 3, Cost: 0.6, Files: []string{"lossy-path.yaml"},
		Method: `Four hosts, two leaves, two spines, 100 Gbit/s; every link between switches loses a packet in 100 000 (bit errors of 3e-10) while the hosts send
for 30 ms, long enough for three pauses if they came every 10 ms.`,
		Values: []string{"pauses", "lost", "again"},
		run:    lossyPath,
	}}
}

func spraying(t *Trial) (Values, error) {
	repeat := fmt.Sprintf("job.collective.repeat=%d", t.pick(20, 2))
	one, err := t.finish("spraying.yaml", repeat, "fabric.spines=1", "fabric.trunk.rate=800Gbps")
	if err != nil {
		return nil, err
	}
	narrow, err := t.finish("spraying.yaml", repeat, "fabric.spines=1")
	if err != nil {
		return nil, err
	}
	var hashed []float64
	againHashed := 0.0
	for i := range t.pick(16, 3) {
		r, err := t.finishDraw(i, "spraying.yaml", "job.collective.repeat=5")
		if err != nil {
			return nil, err
		}
		hashed = append(hashed, calls(r, workload.AllReduce)...)
		againHashed += againShare(r)
	}
	// A QP may use up its retries on packets that were only late; the calls that ended before count.
	ordered, err := t.run("spraying.yaml", repeat, "path_choice=random", "limit=100ms")
	if err != nil {
		return nil, err
	}
	placed, err := t.finish("spraying.yaml", repeat, "path_choice=random", "nic.transport=place")
	if err != nil {
		return nil, err
	}
	alone, late, put := calls(one, workload.AllReduce), calls(ordered, workload.AllReduce), calls(placed, workload.AllReduce)
	v := Values{
		"one": mean(alone), "one deviation": deviation(alone), "narrow": mean(calls(narrow, workload.AllReduce)),
		"hashed": mean(hashed), "hashed deviation": deviation(hashed), "hashed peak": 100 * (mean(calls(narrow, workload.AllReduce))/least(hashed) - 1),
		"again hashed": againHashed, "placed": mean(put), "again placed": againShare(placed), "efficiency": 100 * (mean(hashed)/mean(put) - 1),
	}
	if len(late) > 0 {
		v["ordered"], v["ordered to one"], v["again ordered"] = mean(late), mean(late)/mean(alone), againShare(ordered)
		const qps = 4 // one for each neighbour in the ring
		v["naks"] = counted(ordered, telemetry.NICPacketSeqErr) / qps / (float64(ordered.Summary.End.PS()) / 1e12)
	}
	return v, nil
}

// counted is how much a counter grew over a run, over all its objects.
func counted(r *scenario.Run, id telemetry.SeriesID) float64 {
	sum := 0.0
	for _, k := range r.Window.Keys(id) {
		if d, ok := r.Window.Delta(k); ok {
			sum += d
		}
	}
	return sum
}

func receivers(t *Trial) (Values, error) {
	size := "job.pattern.size=" + t.sized("1600KiB", "160KiB")
	v := Values{}
	half := []string{"job.pattern.ranks=[0, 1, 4, 5, 8, 9, 12, 13]", "job.pattern.offset=4"}
	for _, c := range []struct {
		share, time string
		set         []string
	}{
		{"go-back-n", "time go-back-n", nil},
		{"go-back-n quarter", "", []string{"job.pattern.ranks=[0, 4, 8, 12]", "job.pattern.offset=2"}},
		{"go-back-n dcqcn", "", []string{"nic.control=dcqcn"}},
		{"irn", "time irn", []string{"nic.transport=irn"}},
		{"irn quarter", "", []string{"nic.transport=irn", "job.pattern.ranks=[0, 4, 8, 12]", "job.pattern.offset=2"}},
		{"place", "time place", []string{"nic.transport=place"}},
		{"go-back-n half", "", half}, {"irn half", "", append([]string{"nic.transport=irn"}, half...)},
		{"place lossy", "", []string{"nic.transport=place", "nic.loss_distance=64", "nic.timeout=8", "faults=" + lossyUplinks}},
		{"hashed", "", []string{"path_choice=ecmp"}},
	} {
		r, err := t.run("receivers.yaml", append([]string{size}, c.set...)...)
		if err != nil {
			return nil, err
		}
		v[c.share] = againShare(r)
		if c.share == "go-back-n" {
			v["gave up"] = float64(r.Transport.GaveUp)
		}
		if c.time != "" && !r.Cut && !r.Summary.Stalled { // a QP may use up its retries on packets that were only late
			v[c.time] = float64(r.Summary.End.PS()) / 1e6
		}
	}
	return v, nil
}

// lossyUplinks is a loss of about 1 in 1000 on what leaves leaf0: 3e-8 over the 33 280 bits of a full packet.
const lossyUplinks = "[{kind: bit-errors, link: [leaf0, spine0], ber: 3e-8}, {kind: bit-errors, link: [leaf0, spine1], ber: 3e-8}, " +
	"{kind: bit-errors, link: [leaf0, spine2], ber: 3e-8}, {kind: bit-errors, link: [leaf0, spine3], ber: 3e-8}]"

// sized is pick for texts.
func (t *Trial) sized(full, reduced string) string {
	if t.Reduced {
		return reduced
	}
	return full
}

func equalPaths(t *Trial) (Values, error) {
	size := "job.collective.size=" + t.sized("32MiB", "2MiB")
	skewed, err := t.finish("equal-paths.yaml", size)
	if err != nil {
		return nil, err
	}
	alike, err := t.finish("equal-paths.yaml", size, "fabric.links=[]")
	if err != nil {
		return nil, err
	}
	return Values{
		"cost of skew": 100 * (mean(calls(skewed, workload.AllToAll))/mean(calls(alike, workload.AllToAll)) - 1),
		"unevenness":   unevenness(skewed), "unevenness alike": unevenness(alike),
	}, nil
}

// unevenness is the deviation, in percent of their mean, of what the uplinks of each leaf carried.
func unevenness(r *scenario.Run) float64 {
	byLeaf := map[string][]float64{} // only added to; the sum of squares below has no order
	for _, l := range r.Loads() {
		if node := r.Fabric.Node(l.ID); l.Uplink {
			byLeaf[node.Name] = append(byLeaf[node.Name], l.Bytes)
		}
	}
	var list []float64
	for _, leaf := range r.Fabric.Switches() {
		loads := byLeaf[r.Fabric.Nodes[leaf].Name]
		if len(loads) < 2 {
			continue
		}
		m := mean(loads)
		for _, b := range loads {
			list = append(list, (b/m-1)*(b/m-1))
		}
	}
	return 100 * math.Sqrt(mean(list))
}

func lossyPath(t *Trial) (Values, error) {
	r, err := t.finish("lossy-path.yaml", "job.pattern.size="+t.sized("375MB", "20MB"))
	if err != nil {
		return nil, err
	}
	f := r.Figures()
	tens := f.EndUS / 10_000
	return Values{"pauses": float64(f.Network.PauseFrames) / tens, "lost": 100 * float64(r.Summary.Drops[netsim.DropCorrupt]) / packets(r), "again": againShare(r)}, nil
}
