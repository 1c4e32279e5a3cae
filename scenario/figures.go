package scenario

import (
	"fmt"
	"math"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Figures are a run in numbers: what is kept of it, what runs are compared by and what a sweep lists. Times are microseconds, as
// nccl-tests print them.
type Figures struct {
	Engine      Engine  `json:"engine"`
	Seed        uint64  `json:"seed"`
	Fingerprint string  `json:"fingerprint"`
	EndUS       float64 `json:"end_us"` // simulated time
	Stalled     bool    `json:"stalled,omitempty"`
	Cut         bool    `json:"cut,omitempty"`

	Step        *Spread      `json:"step,omitempty"` // nil when no training step ended
	Collectives []Collective `json:"collectives"`
	// Completion is how long the job's messages between hosts took, from the start of the send to the last byte.
	Completion *Spread `json:"completion,omitempty"`
	// Network is nil where the engine knows no packets: nothing of it is known then, which is not zero.
	Network *Network `json:"network,omitempty"`
	Hottest *Link    `json:"hottest,omitempty"`
}

// Spread sums up times. P50 and P99 are nearest-rank percentiles.
type Spread struct {
	Count  int     `json:"count"`
	MeanUS float64 `json:"mean_us"`
	MinUS  float64 `json:"min_us"`
	P50US  float64 `json:"p50_us"`
	P99US  float64 `json:"p99_us"`
	MaxUS  float64 `json:"max_us"`
}

// Collective is one collective of the job, over all its calls of one size. BusBW is of the median call, by nccl-tests' definition.
type Collective struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind"`
	Bytes int64   `json:"bytes"`
	Ranks int     `json:"ranks"`
	Time  Spread  `json:"time"`
	BusBW float64 `json:"busbw_gb_per_s"`
}

// Network is what switches and NICs counted over the whole run.
type Network struct {
	PauseFrames   uint64  `json:"pause_frames"`
	PauseUS       float64 `json:"pause_us"` // summed over ports and priorities that were held
	ECNMarked     uint64  `json:"ecn_marked_packets"`
	CNPs          uint64  `json:"cnps"`
	Retransmitted uint64  `json:"retransmitted_packets"`
	// RetransmittedShare is Retransmitted over the full packets that all payload sent would fill.
	RetransmittedShare float64 `json:"retransmitted_share"`
	OutOfOrder         uint64  `json:"out_of_order_packets"`
	Timeouts           uint64  `json:"timeouts"`
	GaveUp             uint64  `json:"qps_given_up"`
	Dropped            uint64  `json:"dropped_packets"`
	PacketHops         uint64  `json:"packet_hops"`
	// Reordering is what only a simulator knows: how far packets of a QP overtook each other.
	Reordering Reordering `json:"reordering"`
}

// Reordering is by how many packets of its QP those that came late were overtaken. Percentiles are at most a quarter too large.
type Reordering struct {
	Late      uint64  `json:"late_packets"`
	LateShare float64 `json:"late_share"` // of the full packets that all payload sent would fill
	P50       uint64  `json:"p50_packets"`
	P99       uint64  `json:"p99_packets"`
	Max       uint64  `json:"max_packets"`
	HeldBytes int64   `json:"held_bytes"` // most payload beyond a gap at one NIC
}

// Link is one direction of a link and the share of the run that it was busy.
type Link struct {
	Port string  `json:"port"`
	Busy float64 `json:"busy"`
}

// Figures works out the figures of a run.
func (r *Run) Figures() Figures {
	f := Figures{
		Engine: r.Engine, Seed: r.Seed, Fingerprint: fmt.Sprintf("%016x", r.Summary.Fingerprint), EndUS: micros(units.Duration(r.Summary.End.PS())),
		Stalled: r.Summary.Stalled, Cut: r.Cut, Collectives: collectives(r.Inventory.Calls),
	}
	if r.Estimate != nil {
		r.estimated(&f)
		return f
	}
	f.Completion = spreadOf(r.completions())
	var steps []units.Duration
	for _, s := range r.Inventory.Steps {
		steps = append(steps, s.Time)
	}
	f.Step = spreadOf(steps)
	if loads := r.Loads(); len(loads) > 0 {
		f.Hottest = &Link{loads[0].Port, loads[0].Busy}
	}
	if t := r.Transport; t != nil {
		n := &Network{
			PauseFrames: uint64(r.total(telemetry.SwitchPFCTx) + r.total(telemetry.NICTxPause)), PauseUS: 1e6 * (r.total(telemetry.SwitchPFCRxTime) + r.total(telemetry.NICRxPauseTime)),
			ECNMarked: uint64(r.total(telemetry.SwitchECNMarked)), CNPs: t.CNPs, Retransmitted: t.Retransmitted, OutOfOrder: t.OutOfOrder,
			Timeouts: t.Timeouts, GaveUp: t.GaveUp, PacketHops: r.Summary.PacketHops,
		}
		for _, d := range r.Summary.Drops {
			n.Dropped += d
		}
		if t.DataPackets > 0 {
			n.RetransmittedShare = math.Min(1, float64(t.Retransmitted)/float64(t.DataPackets))
		}
		late := r.Summary.Reordering
		n.Reordering = Reordering{Late: late.Late, P50: late.P50, P99: late.P99, Max: late.Max, HeldBytes: int64(late.HeldPeak)}
		if t.DataPackets > 0 {
			n.Reordering.LateShare = math.Min(1, float64(late.Late)/float64(t.DataPackets))
		}
		f.Network = n
	}
	return f
}

func micros(d units.Duration) float64 { return float64(d) / float64(units.Microsecond) }

// total is how much a counter grew over the run, over all objects and priorities.
func (r *Run) total(id telemetry.SeriesID) float64 {
	var sum float64
	for _, k := range r.Window.Keys(id) {
		if d, ok := r.Window.Delta(k); ok {
			sum += d
		}
	}
	return sum
}

// spreadOf sums up times, nil where there are none. It sorts them.
func spreadOf(times []units.Duration) *Spread {
	n := len(times)
	if n == 0 {
		return nil
	}
	slices.Sort(times)
	var sum float64
	for _, t := range times {
		sum += micros(t)
	}
	return &Spread{Count: n, MeanUS: sum / float64(n), MinUS: micros(times[0]), P50US: micros(times[rank(n, 50)]), P99US: micros(times[rank(n, 99)]), MaxUS: micros(times[n-1])}
}

// rank is the index of a percentile among n sorted values: the first that at least that share of all does not exceed.
func rank(n, percent int) int { return (n*percent+99)/100 - 1 }

// collectives groups calls by name and size, in the order in which the job first made them.
func collectives(calls []evidence.Call) []Collective {
	out := []Collective{}
	var times [][]units.Duration
	for _, c := range calls {
		i := slices.IndexFunc(out, func(g Collective) bool {
			return g.Name == c.Name && g.Kind == c.Kind && g.Bytes == int64(c.Bytes) && g.Ranks == c.Ranks
		})
		if i < 0 {
			i = len(out)
			out = append(out, Collective{Name: c.Name, Kind: c.Kind, Bytes: int64(c.Bytes), Ranks: c.Ranks})
			times = append(times, nil)
		}
		times[i] = append(times[i], c.Time)
	}
	for i := range out {
		s := spreadOf(times[i])
		out[i].Time = *s
		out[i].BusBW = busBW(out[i].Kind, out[i].Bytes, out[i].Ranks, s.P50US)
	}
	return out
}

// completions lists how long the measured messages of the job between hosts took.
func (r *Run) completions() []units.Duration {
	var out []units.Duration
	for i := range r.Plan.Ops {
		op, t := &r.Plan.Ops[i], r.Times[i]
		if op.Kind != workload.Send || op.Background || r.Plan.Spans[op.Span].Warmup || t.End.Before(t.Start) || r.Fabric.GPUs[op.Src].Host == r.Fabric.GPUs[op.Dst].Host {
			continue
		}
		out = append(out, t.End.Sub(t.Start))
	}
	return out
}

// PortLoad is what one direction of a link carried over the run.
type PortLoad struct {
	Port   string
	ID     fabric.PortID
	Bytes  float64
	Busy   float64 // share of the run it was sending, at the rate it runs at
	Uplink bool
}

// Loads lists what every port sent, the busiest first.
func (r *Run) Loads() []PortLoad {
	sent := map[string]float64{}
	for _, id := range []telemetry.SeriesID{telemetry.SwitchTxBytes, telemetry.NICTxBytes} {
		for _, k := range r.Window.Keys(id) {
			if d, ok := r.Window.Delta(k); ok {
				sent[k.Object] += d
			}
		}
	}
	seconds := units.Duration(r.Summary.End.PS()).Seconds()
	var out []PortLoad
	for p := range r.Fabric.Ports {
		id := fabric.PortID(p)
		l := PortLoad{Port: r.Fabric.PortName(id), ID: id, Uplink: r.Fabric.Ports[p].Uplink}
		l.Bytes = sent[l.Port]
		if seconds > 0 {
			l.Busy = math.Min(1, l.Bytes/(r.Fabric.Ports[p].Rate.BytesPerSecond()*seconds))
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b PortLoad) int {
		switch {
		case a.Busy > b.Busy:
			return -1
		case a.Busy < b.Busy:
			return 1
		}
		return 0
	})
	return out
}
