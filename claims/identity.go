package claims

import (
	"errors"
	"math/rand/v2"
	"net/netip"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// identityExperiments are about the context id of a packet: its bits, where it travels, what it tells.
func identityExperiments() []Experiment {
	return []Experiment{{
		Name: "path-id", Version: 1, Seeds: 10, Cost: 0.3,
		Method: `Sixteen paths at 400 Gbit/s for ten seconds, one of whose links fails and is replaced in the middle (spray.Failover). Raw bit errors around 1e-7 are
counted every 10 ms, packets carry eight bits of path id, and receivers learn of a new id within a millisecond. A path is named by the switch port, by a hash of its last
sample (the article's fingerprint), by the best that can be made of samples (a mean in coarse steps that stick), and by a number given to it. An error is a packet whose
id the receiver does not know, or takes for another path's.`,
		Values: []string{"hash", "hash always", "smooth", "port", "stable", "empty post-fec", "changes"},
		run:    pathID,
	}, {
		Name: "context-id", Version: 1, Exact: true, Cost: 0.05,
		Method: `The product's codec and frames: all 65 536 ids on one RoCEv2 packet, whose ICRC is verified and whose checksum is judged as a standards-following device
does (RFC 768, RFC 1122); all ids of one vendor's layout read by the other's; the window that sequence bits order without doubt, 2^(n-1), against what paths 20 us apart need
at 400 Gbit/s; and the bits of a count of 10 ns steps over 200 ms.`,
		Values: []string{"icrc", "dropped", "misread path", "rejected", "window v1", "window v2", "window needed", "bits needed", "tick bits", "alike", "ordered hash", "ordered low"},
		run:    contextID,
	}, {
		Name: "detector", Version: 1, Seeds: 10, Cost: 0.2,
		Method: `The article's detector: what combinations of path id and time hash it has seen in 20 000 honest packets it takes for normal, and flags all others. Eight live paths
of 256 and eight bits of time hash where the layout has 16 bits for the two, and four and three (layout v1); forged packets have random ids, as of an attacker who sees
none. 20 000 honest and 2000 forged packets; an attack is three packets. In a second pass path ids change every 2000 packets, as fingerprints do that follow a link's
quality.`,
		Values: []string{"within three wide", "within three v1", "false wide", "false changing", "packet"},
		run:    detector,
	}}
}

func pathID(t *Trial) (Values, error) {
	c := spray.DefaultFailover()
	c.Seed = t.Seed
	results, err := spray.Failover(c)
	if err != nil {
		return nil, err
	}
	v := Values{}
	for i := range results {
		r := &results[i]
		during := 100 * r.During.Share()
		switch r.Scheme {
		case spray.IDHash:
			v["hash"], v["hash always"] = during, 100*r.All.Share()
			v["changes"] = float64(r.Changes) / float64(c.Paths) / (float64(c.Stretch) / float64(units.Second))
		case spray.IDSmooth:
			v["smooth"] = during
		case spray.IDPort:
			v["port"] = during
		case spray.IDStable:
			v["stable"] = during
		case spray.IDPostFEC:
			v["empty post-fec"] = 100 * float64(r.Empty) / float64(r.Samples)
		}
	}
	return v, nil
}

func contextID(*Trial) (Values, error) {
	data := packet.AppendFrame(nil, packet.Packet{
		IP:      packet.IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, ECN: packet.ECT0, TTL: 64},
		SrcPort: 0xc123, BTH: packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 0x1234, PSN: 99}, Payload: make([]byte, 256),
	})
	f := packet.Decode(packet.LinkEthernet, data)
	right, dropped, n := 0.0, 0.0, 0.0
	for id := range uint32(1 << 16) {
		if id == 0 {
			continue // no id
		}
		err := spray.WritePPCID(&f, uint16(id))
		if errors.Is(err, spray.ErrTaken) { // the id before was, by chance, the checksum: a sender would have written over it
			continue
		} else if err != nil {
			return nil, err
		}
		n++
		if ok, known := f.Check(); ok && known {
			right++
		}
		if spray.StandardView(&f) == spray.VerdictWrong {
			dropped++
		}
	}
	v := Values{"icrc": 100 * right / n, "dropped": 100 * dropped / n}
	writer, err := spray.NewCodec(spray.LayoutPathHigh)
	if err != nil {
		return nil, err
	}
	reader, err := spray.NewCodec(spray.LayoutTimeHigh)
	if err != nil {
		return nil, err
	}
	wrong, rejected := 0.0, 0.0
	for id := range uint32(1 << 16) {
		meant, err := writer.Decode(uint16(id))
		if errors.Is(err, spray.ErrAbsent) {
			continue
		} else if err != nil {
			return nil, err
		}
		read, err := reader.Decode(uint16(id))
		switch {
		case err != nil:
			rejected++
		case read.Path != meant.Path:
			wrong++
		}
	}
	v["misread path"], v["rejected"] = 100*wrong/(1<<16-1), 100*rejected/(1<<16-1)
	v["window v1"], v["window v2"] = float64(spray.LayoutV1.Window()), float64(spray.LayoutV2.Window())
	needed := spray.NeededWindow(20*units.Microsecond, 400*units.Gbps, spray.RoCEWire)
	v["window needed"], v["bits needed"] = float64(needed), float64(spray.NeededBits(needed))
	const refresh = 200 * units.Millisecond
	v["tick bits"] = float64(spray.TickBits(refresh))
	bits := spray.LayoutTimeHigh.Bits(spray.PartTime) // the most of any layout
	hashed, err := spray.LimitsOfTime(spray.TimeHash, bits, refresh)
	if err != nil {
		return nil, err
	}
	low, err := spray.LimitsOfTime(spray.TimeLow, bits, refresh)
	if err != nil {
		return nil, err
	}
	v["alike"], v["ordered hash"], v["ordered low"] = hashed.Alike, float64(hashed.To)/float64(units.Nanosecond), float64(low.To)/float64(units.Nanosecond)
	return v, nil
}

func detector(t *Trial) (Values, error) {
	rng := rand.New(rand.NewPCG(t.Seed, 3))
	const attack = 3 // packets, as the article has it
	honest, forged := t.pick(20_000, 2000), t.pick(2000, 300)
	type combination struct{ path, time uint32 }
	// play trains, then counts how many attacks are flagged within three packets, and how many honest packets are.
	play := func(pathBits, timeBits int, changing bool) (within, alarms float64, first []float64) {
		names := make([]uint32, 8) // the live paths' ids
		rename := func() {
			for i, x := range rng.Perm(1 << pathBits)[:len(names)] {
				names[i] = uint32(x)
			}
		}
		rename()
		draw := func(i int) combination {
			if changing && i%2000 == 0 {
				rename()
			}
			return combination{names[rng.IntN(len(names))], rng.Uint32N(1 << timeBits)}
		}
		seen := map[combination]bool{}
		for i := range honest {
			seen[draw(i)] = true
		}
		for i := range honest {
			if !seen[draw(i)] {
				alarms++
			}
		}
		caught := 0.0
		for range forged {
			for k := range attack {
				if !seen[combination{rng.Uint32N(1 << pathBits), rng.Uint32N(1 << timeBits)}] {
					caught++
					first = append(first, float64(k+1))
					break
				}
			}
		}
		return 100 * caught / float64(forged), 100 * alarms / float64(honest), first
	}
	wide, wideFalse, first := play(8, 8, false)
	narrow, _, _ := play(spray.LayoutV1.Bits(spray.PartPath), spray.LayoutV1.Bits(spray.PartTime), false)
	_, changing, _ := play(8, 8, true)
	return Values{"within three wide": wide, "within three v1": narrow, "false wide": wideFalse, "false changing": changing, "packet": mean(first)}, nil
}
