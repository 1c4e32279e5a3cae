package claims

import (
	"math/rand/v2"
	"net/netip"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// engineExperiments try the spray engine itself, outside a network.
func engineExperiments() []Experiment {
	return []Experiment{{
		Name: "buckets", Version: 1, Seeds: 10, Cost: 0.02,
		Method: `The product's spray engine (package spray) without a network, CRC-32 and a table of 128 buckets over four paths; a seed is a QP with its own addresses,
port and number. How many paths 4096 consecutive packets of the QP take, with the article's literal key and with the PSN in it; how much of four equal QPs' traffic the
smallest move of one bucket takes along, against moving one of them whole as per-flow hashing does; and what becomes of two paths with 32 buckets each of which one is 85 %
busy, under the article's curve.`,
		Values: []string{"paths literal", "paths psn", "finer literal", "finer psn", "shrunk", "receiving", "receiving load", "spread load"},
		run:    buckets,
	}, {
		Name: "two-nics", Version: 1, Exact: true, Cost: 0.02,
		Method: `Two NICs of a host share what it sends, 90 % of both, by a table of 256 buckets weighted by headroom; scores come from the product's link state table, read
every 200 ms for five minutes. The readings of both are in time; those of one come late by up to a period, as when an interrupt waits; those of one never come, as
when its interrupts go to a core whose table nobody reads. Measured is the share of the NIC that carries more, over the last four minutes.`,
		Values: []string{"late", "never", "deviation in time"},
		run:    twoNICs,
	}, {
		Name: "rules", Version: 1, Exact: true, Cost: 0.01,
		Method: `The capacity planner of the product (spray.Rules): rules that a leaf of a rail would hold for the queue pairs of an all-to-all, eight NICs a host, four QPs a
connection, one rule a QP. The article names neither peers nor QPs; this is the plainest case in which 16K rules stop fitting there.`,
		Values: []string{"bites", "bites one qp", "bites ring", "overflow 65", "overflow 128", "overflow 128 raised", "bites raised", "bites partition"},
		run:    ruleTable,
	}}
}

// queuePair is the key of a QP as a seed draws it.
func queuePair(rng *rand.Rand) spray.Flow {
	host := func() netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + rng.IntN(254))}) }
	return spray.Flow{Src: host(), Dst: host(), SrcPort: 0xc000 + uint16(rng.IntN(0x4000)), DstPort: packet.PortRoCE, QPN: rng.Uint32N(1 << 24)}
}

func buckets(t *Trial) (Values, error) {
	rng := rand.New(rand.NewPCG(t.Seed, 1))
	h, err := spray.NewHasher(spray.HashConfig{Algorithm: spray.CRC32, Seed: t.Seed})
	if err != nil {
		return nil, err
	}
	table := spray.NewTable(128, 4)
	flow := queuePair(rng)
	state, psn := h.Flow(flow), rng.Uint32N(1<<24)
	literal, perPacket := map[int]bool{}, map[int]bool{}
	for i := range uint32(4096) {
		literal[table.Path(h.Pinned(flow))] = true
		perPacket[table.Path(h.Packet(state, (psn+i)&(1<<24-1)))] = true
	}
	// The share of the traffic that a bucket holds, of those that hold any: moving less is not possible.
	smallest := func(key spray.Key) float64 {
		const qps, packets = 4, 4096
		held := make([]float64, table.Size())
		rng := rand.New(rand.NewPCG(t.Seed, 2))
		for range qps {
			f := queuePair(rng)
			state, psn := h.Flow(f), rng.Uint32N(1<<24)
			for i := range uint32(packets) {
				sum := h.Pinned(f)
				if key.PerPacket() {
					sum = h.Packet(state, (psn+i)&(1<<24-1))
				}
				held[table.Bucket(sum)] += 1.0 / qps / packets
			}
		}
		least := 1.0
		for _, x := range held {
			if x > 0 {
				least = min(least, x)
			}
		}
		return least
	}
	const oneOfFour = 1.0 / 4 // the smallest move of per-flow hashing of four flows
	const busy = 0.85
	score := spray.LinkStateConfig{Utilisation: 255}.Score
	shrink := func(freed spray.Freed, paths int) *spray.Table {
		t := spray.NewTable(32*paths, paths)
		scores := make([]uint8, paths)
		for p := range scores {
			scores[p] = score(spray.Load{})
		}
		scores[0] = score(spray.Load{Utilisation: busy})
		t.Reweigh(scores, spray.TableConfig{Buckets: 32 * paths, Curve: spray.CurveArticle, Freed: freed})
		return t
	}
	one, spread := shrink(spray.FreedOne, 2), shrink(spray.FreedSpread, 4)
	// Under full load on all paths a path's load grows with its buckets.
	load := func(t *spray.Table) (most float64) {
		for p := range t.Paths() {
			most = max(most, 100*busy*float64(t.Buckets(p))/32)
		}
		return most
	}
	return Values{
		"paths literal": float64(len(literal)), "paths psn": float64(len(perPacket)),
		"finer literal": oneOfFour / smallest(spray.KeyFlow), "finer psn": oneOfFour / smallest(spray.KeyFlowPSN),
		"shrunk": float64(one.Buckets(0)), "receiving": float64(one.Buckets(1)), "receiving load": load(one), "spread load": load(spread),
	}, nil
}

// twoNICs is a loop without packets: what each NIC carries follows from its buckets, its reading from what it carries.
func twoNICs(t *Trial) (Values, error) {
	split := func(lateness int, comes bool) (share float64) { // the second NIC's readings are so many periods old
		c := spray.LinkStateConfig{Utilisation: 255}.Defaults()
		c.Utilisation, c.Queue, c.Errors = 255, 0, 0
		state, table := spray.NewLinkState(2, c, 1, 1), spray.NewTable(256, 2)
		config := spray.TableConfig{Buckets: 256, Curve: spray.CurveHeadroom, Hysteresis: 2, MaxStep: 32}
		const offered = 2 * 0.9 // in rates of one NIC
		rounds := t.pick(1500, 100)
		var carried [][2]float64
		sum, n := 0.0, 0.0
		for k := range rounds {
			now := units.At(int64(k+1) * int64(c.Refresh))
			part := float64(table.Buckets(0)) / 256
			carried = append(carried, [2]float64{min(1, offered*part), min(1, offered*(1-part))})
			state.Read(0, now, spray.Load{Utilisation: carried[k][0]})
			if comes && k >= lateness {
				state.Read(1, now, spray.Load{Utilisation: carried[k-lateness][1]})
			}
			table.Reweigh(state.Scores(), config)
			if k >= rounds/5 {
				sum += 1 - part
				n++
			}
		}
		mean := 100 * sum / n
		return max(mean, 100-mean)
	}
	inTime := split(0, true)
	return Values{
		"late": split(1, true), "never": split(0, false),
		"deviation in time": 2 * (inTime - 50),
	}, nil
}

func ruleTable(*Trial) (Values, error) {
	base := spray.DefaultRules()
	bites := func(r spray.Rules) float64 {
		hosts, _ := r.Bites()
		return float64(hosts)
	}
	with := func(change func(*spray.Rules)) spray.Rules {
		r := base
		change(&r)
		return r
	}
	overflow := func(hosts, limit int) float64 {
		r := with(func(r *spray.Rules) { r.Hosts, r.Limit = hosts, limit })
		return 100 * float64(r.Need().Share())
	}
	v := Values{
		"bites": bites(base), "bites one qp": bites(with(func(r *spray.Rules) { r.QPs = 1 })),
		"overflow 65": overflow(65, spray.DefaultRuleLimit), "overflow 128": overflow(128, spray.DefaultRuleLimit), "overflow 128 raised": overflow(128, spray.RaisedRuleLimit),
		"bites raised":    bites(with(func(r *spray.Rules) { r.Limit = spray.RaisedRuleLimit })),
		"bites partition": bites(with(func(r *spray.Rules) { r.Limit = spray.RoCEPartition })),
		"bites ring":      bites(with(func(r *spray.Rules) { r.Peers = spray.PeersRing })),
	}
	return v, nil
}
