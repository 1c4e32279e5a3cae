package spray

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shunt-network/shunt/units"
)

// What a spray decision costs depends on where it is made (article 000, S0.9): in the pipeline of an adapter or a switch, or by a processor. A
// platform is a list of stages, each with what it always takes, what it may take more, and whether the next packet has to wait for it.

// Hold says for whom a stage takes time.
type Hold uint8

// Holds.
const (
	Occupies Hold = iota // the unit does nothing else meanwhile: the next packet waits
	Overlaps             // the packet is late, and the next one may enter meanwhile
	Gathers              // once for packets that come together, before the first of them
)

// Stage is one step of a decision.
type Stage struct {
	Name    string
	Hold    Hold
	Base    units.Duration // always
	Jitter  units.Duration // drawn evenly from zero to this, on top
	Miss    float64        // probability that the step meets a cache miss
	Penalty units.Duration // what a miss takes
}

// Platform is where decisions are made.
type Platform struct {
	Name   string
	Units  int // packets that can be decided upon at a time: pipelines or processor cores
	Stages []Stage
}

// The figures of the articles; none of them has public corroboration.
const (
	articleDecision = 12 * units.Nanosecond  // identifier and path in the adapter
	articleTable    = 800 * units.Picosecond // of it the access to the link state table in on-chip memory
	articleMiss     = 300 * units.Nanosecond // a cache miss
)

// Pipeline is the adapter of the articles: 12 ns, of which the table takes 0.8 ns. That a packet can enter every 0.8 ns, and that no packet takes
// longer than another, is what a pipeline with one clock does; of this one nothing is public.
func Pipeline() Platform {
	return Platform{Name: "pipeline", Units: 1, Stages: []Stage{
		{Name: "decision", Hold: Overlaps, Base: articleDecision - articleTable},
		{Name: "table", Hold: Occupies, Base: articleTable},
	}}
}

// What a processor takes for the steps that have no figure in the articles.
const (
	// Ours: BenchmarkDecisionWholeKey, table-driven CRC-32 over 20 bytes on one core of a shared Xeon, processor time, November 2026. With the
	// state of the hash kept per QP it is 5 ns.
	softwareHash = 67 * units.Nanosecond
	// McCalpin, Single-threaded memory performance for dual socket Xeon E5: a core has 10 cache lines under way, and a line takes 79 ns. A miss
	// of the articles' 300 ns is four times that.
	copyLine  = 79 * units.Nanosecond / 10
	cacheLine = 64
	// mlx5 moderates interrupts by 8 us counted from a completion (Linux, MLX5E_PARAMS_DEFAULT_RX_CQ_MODERATION_USEC_FROM_CQE), so a packet waits
	// for up to that long.
	moderation = 8 * units.Microsecond
	// DPDK's example l3fwd takes packets in bursts of 32 (DEFAULT_PKT_BURST).
	pollBurst = 32
	// Uncertain: how often the state of a QP or the link state, which another core writes, is not in the cache.
	missShare = 0.1
	// Uncertain: doorbell, descriptor and data over PCI Express.
	handOver = 500 * units.Nanosecond
)

// Interrupts is the software of the articles' list: interrupt, copy, hash, choice of a queue, DMA. They count seven steps and name these five.
func Interrupts(packet units.Bytes) Platform {
	lines := (packet + cacheLine - 1) / cacheLine
	return Platform{Name: "interrupts", Units: 1, Stages: append([]Stage{
		{Name: "interrupt", Hold: Gathers, Jitter: moderation},
		{Name: "copy", Hold: Occupies, Base: units.Duration(lines) * copyLine},
	}, softwareSteps()...)}
}

// Polling is software as DPDK has it: poll mode drivers take no interrupts (DPDK, Programmer's Guide) and packets stay where they are, which the
// articles' list overlooks. A packet waits until the burst before it is done.
func Polling() Platform {
	steps := softwareSteps()
	busy := Platform{Stages: steps[:2]}.Mean()
	return Platform{Name: "polling", Units: 1, Stages: append([]Stage{
		{Name: "poll", Hold: Gathers, Jitter: busy * (pollBurst - 1)},
	}, steps...)}
}

// softwareSteps are those that both kinds of software take.
func softwareSteps() []Stage {
	return []Stage{
		{Name: "hash", Hold: Occupies, Base: softwareHash, Miss: missShare, Penalty: articleMiss}, // state of the QP
		{Name: "queue", Hold: Occupies, Miss: missShare, Penalty: articleMiss},                    // link state and table
		{Name: "dma", Hold: Overlaps, Base: handOver},
	}
}

// Mean is the expected time of a decision on its own, in closed form.
func (p Platform) Mean() units.Duration {
	var sum float64
	for _, s := range p.Stages {
		sum += float64(s.Base) + float64(s.Jitter)/2 + s.Miss*float64(s.Penalty)
	}
	return units.Duration(math.Round(sum))
}

// StdDev is the standard deviation of the same: stages are independent, and jitter is even.
func (p Platform) StdDev() units.Duration {
	var sum float64
	for _, s := range p.Stages {
		sum += float64(s.Jitter)*float64(s.Jitter)/12 + s.Miss*(1-s.Miss)*float64(s.Penalty)*float64(s.Penalty)
	}
	return units.Duration(math.Round(math.Sqrt(sum)))
}

// Rate is how many packets per second the platform decides upon when they never run out.
func (p Platform) Rate() float64 {
	var busy float64
	for _, s := range p.Stages {
		if s.Hold == Occupies {
			busy += float64(s.Base) + float64(s.Jitter)/2 + s.Miss*float64(s.Penalty)
		}
	}
	return float64(max(p.Units, 1)) * float64(units.Second) / busy
}

// draw is what the stages of one hold take for one packet.
func (p Platform) draw(random *rand.Rand, hold Hold) (d units.Duration) {
	for i := range p.Stages {
		s := &p.Stages[i]
		if s.Hold != hold {
			continue
		}
		d += s.Base
		if s.Jitter > 0 {
			d += units.Duration(random.Int64N(int64(s.Jitter) + 1))
		}
		if s.Miss > 0 && random.Float64() < s.Miss {
			d += s.Penalty
		}
	}
	return d
}

// Distribution is what many draws of a time look like.
type Distribution struct {
	Samples                  int
	Mean, Min, P50, P99, Max units.Duration
}

// Jitter is the 99th percentile of the delay above the least one (packet delay variation, RFC 5481).
func (d Distribution) Jitter() units.Duration { return d.P99 - d.Min }

// Decisions draws n decisions, each of a packet on its own. n must be at least 1.
func (p Platform) Decisions(n int, seed uint64) Distribution {
	random := rand.New(rand.NewPCG(seed, 0))
	list := make([]units.Duration, n)
	for i := range list {
		list[i] = p.draw(random, Gathers) + p.draw(random, Occupies) + p.draw(random, Overlaps)
	}
	return distribution(list)
}

// distribution sorts the list.
func distribution(list []units.Duration) Distribution {
	slices.Sort(list)
	var sum float64
	for _, d := range list {
		sum += float64(d)
	}
	n := len(list)
	at := func(share float64) units.Duration { return list[min(n-1, int(share*float64(n)))] }
	return Distribution{n, units.Duration(math.Round(sum / float64(n))), list[0], at(0.5), at(0.99), list[n-1]}
}
