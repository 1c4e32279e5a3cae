package telemetry

import (
	"cmp"
	"math"
	"slices"

	"github.com/shunt-network/shunt/units"
)

// AnyPriority is the priority of a series that has none.
const AnyPriority int8 = -1

// Key names one stream of samples.
type Key struct {
	Series   SeriesID
	Object   string // "host3/mlx5_0", "leaf1/Ethernet48"
	Priority int8   // 0..7, or AnyPriority
}

// Sample is a value at a time. Counters keep their raw value in Count (in the counter's own unit, so that no bit
// is lost) and gauges in Level.
type Sample struct {
	At    units.Instant
	Count uint64
	Level float64
}

// Points is one stream of samples, in time order.
type Points struct {
	Key     Key
	Samples []Sample
	Scale   float64 // turns Count into the series' unit
	Origin  string  // where it was read: "before.txt:12", "simulated, seed 7"
	// Untimed says that the order of the samples is known but not their times: differences hold, rates do not.
	Untimed bool
}

// Window is the telemetry one diagnosis looks at.
type Window struct {
	From, To units.Instant
	points   map[Key]*Points
	bySeries map[SeriesID][]Key // the streams of each, in the order they were first met
}

// MaxPoints limits the streams of a window: 8192 NIC ports with 40 series each, with room to spare.
const MaxPoints = 1 << 20

// NewWindow makes an empty window.
func NewWindow(from, to units.Instant) *Window {
	return &Window{From: from, To: to, points: map[Key]*Points{}, bySeries: map[SeriesID][]Key{}}
}

// Add appends a sample to a stream; scale, origin and untimed hold for the stream from its first sample on. It
// returns false, and keeps nothing, when the window is full.
func (w *Window) Add(k Key, s Sample, scale float64, origin string, untimed bool) bool {
	p, ok := w.points[k]
	if !ok {
		if len(w.points) >= MaxPoints {
			return false
		}
		p = &Points{Key: k, Scale: scale, Origin: origin, Untimed: untimed}
		w.points[k] = p
		w.bySeries[k.Series] = append(w.bySeries[k.Series], k)
	}
	p.Samples = append(p.Samples, s)
	return true
}

// Points returns a stream; ok is false where it is missing.
func (w *Window) Points(k Key) (p *Points, ok bool) {
	p, ok = w.points[k]
	return p, ok
}

// Keys lists the streams of a series, by object and priority.
func (w *Window) Keys(id SeriesID) []Key {
	keys := slices.Clone(w.bySeries[id])
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Priority, b.Priority))
	})
	return keys
}

// Empty tells whether the window holds nothing at all.
func (w *Window) Empty() bool { return len(w.points) == 0 }

// Delta is how much a counter grew over the window, in the series' unit. ok is false where there are fewer than
// two samples: a lifetime total alone says nothing about now. A counter that fell was reset; what it holds since
// then still counts.
func (w *Window) Delta(k Key) (delta float64, ok bool) {
	p, found := w.points[k]
	if !found || len(p.Samples) < 2 {
		return 0, false
	}
	var sum uint64
	for i := 1; i < len(p.Samples); i++ {
		if prev, now := p.Samples[i-1].Count, p.Samples[i].Count; now >= prev {
			sum += now - prev
		} else {
			sum += now
		}
	}
	return float64(sum) * p.Scale, true
}

// Elapsed is the time between the first and the last sample of a stream; ok is false where it is not known.
func (w *Window) Elapsed(k Key) (d units.Duration, ok bool) {
	p, found := w.points[k]
	if !found || p.Untimed || len(p.Samples) < 2 {
		return 0, false
	}
	d = p.Samples[len(p.Samples)-1].At.Sub(p.Samples[0].At)
	return d, d > 0
}

// Rate is the growth of a counter per second over the window.
func (w *Window) Rate(k Key) (perSecond float64, ok bool) {
	delta, ok := w.Delta(k)
	d, timed := w.Elapsed(k)
	if !ok || !timed {
		return 0, false
	}
	return delta / d.Seconds(), true
}

// Levels sums up a gauge.
type Levels struct{ Min, Mean, Max, Last float64 }

// Level sums up a gauge over the window; ok is false where it has no sample.
func (w *Window) Level(k Key) (l Levels, ok bool) {
	p, found := w.points[k]
	if !found || len(p.Samples) == 0 {
		return Levels{}, false
	}
	l = Levels{Min: math.Inf(1), Max: math.Inf(-1)}
	for _, s := range p.Samples {
		l.Min, l.Max = min(l.Min, s.Level), max(l.Max, s.Level)
		l.Mean += s.Level / float64(len(p.Samples))
	}
	l.Last = p.Samples[len(p.Samples)-1].Level
	return l, true
}

// Onset is the time of the first sample by which a counter had grown past its first value by at least the share
// of its whole growth, 0 < share <= 1: when what it counts began in earnest.
func (w *Window) Onset(k Key, share float64) (units.Instant, bool) {
	total, ok := w.Delta(k)
	p := w.points[k]
	if !ok || total == 0 || p.Untimed {
		return units.Instant{}, false
	}
	var sum uint64
	for i := 1; i < len(p.Samples); i++ {
		if prev, now := p.Samples[i-1].Count, p.Samples[i].Count; now >= prev {
			sum += now - prev
		} else {
			sum += now
		}
		if float64(sum)*p.Scale >= share*total {
			return p.Samples[i].At, true
		}
	}
	return p.Samples[len(p.Samples)-1].At, true
}
