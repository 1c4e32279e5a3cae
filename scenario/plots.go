package scenario

import (
	"math"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// Grid is a figure of several ports over time: Values[row][column].
type Grid struct {
	Ports  []string
	Edges  []units.Instant // of the columns, one more than there are
	Values [][]float64
}

// edges cuts the run into columns.
func (r *Run) edges(columns int) []units.Instant {
	out := make([]units.Instant, columns+1)
	for i := range out {
		out[i] = units.At(int64(float64(r.Summary.End.PS()) * float64(i) / float64(columns)))
	}
	return out
}

// Heat is how busy the busiest ports of the run were over time: the share of their rate that they sent at. Ports come by name.
func (r *Run) Heat(rows, columns int) Grid {
	g := Grid{Edges: r.edges(columns)}
	loads := r.Loads()
	loads = slices.DeleteFunc(loads, func(l PortLoad) bool { return l.Bytes == 0 })
	loads = loads[:min(rows, len(loads))]
	slices.SortFunc(loads, func(a, b PortLoad) int { return int(int64(a.ID) - int64(b.ID)) })
	for _, l := range loads {
		g.Ports = append(g.Ports, l.Port+" -> "+r.Fabric.Node(r.Fabric.Ports[l.ID].Peer).Name)
		series := telemetry.SwitchTxBytes
		if r.Fabric.Ports[l.ID].Endpoint >= 0 {
			series = telemetry.NICTxBytes
		}
		sent := make([]float64, columns+1) // up to each edge
		for prio := telemetry.AnyPriority; prio < 8; prio++ {
			if p, ok := r.Window.Points(telemetry.Key{Series: series, Object: l.Port, Priority: prio}); ok {
				for i, edge := range g.Edges {
					sent[i] += countAt(p, edge)
				}
			}
		}
		row := make([]float64, columns)
		for i := range row {
			could := r.Fabric.Ports[l.ID].Rate.BytesPerSecond() * g.Edges[i+1].Sub(g.Edges[i]).Seconds()
			row[i] = min(1, (sent[i+1]-sent[i])/could)
		}
		g.Values = append(g.Values, row)
	}
	return g
}

// countAt is what a counter stood at, in a straight line between samples.
func countAt(p *telemetry.Points, at units.Instant) float64 {
	s := p.Samples
	i, exact := slices.BinarySearchFunc(s, at, func(x telemetry.Sample, t units.Instant) int {
		return int(min(1, max(-1, x.At.PS()-t.PS())))
	})
	switch {
	case exact:
		return float64(s[i].Count)
	case i == 0:
		return float64(s[0].Count)
	case i == len(s):
		return float64(s[i-1].Count)
	}
	share := float64(at.Sub(s[i-1].At)) / float64(s[i].At.Sub(s[i-1].At))
	return float64(s[i-1].Count) + share*float64(s[i].Count-s[i-1].Count)
}

// Queues is how long the longest egress queues of the run were over time, in bytes: the most within each column. It has no ports where
// the engine knows no queues.
func (r *Run) Queues(rows, columns int) Grid {
	g := Grid{Edges: r.edges(columns)}
	type port struct {
		name   string
		most   float64
		values []float64
	}
	var list []port
	for p := range r.Fabric.Ports {
		name := r.Fabric.PortName(fabric.PortID(p))
		var values []float64
		most := 0.0
		for prio := int8(0); prio < 8; prio++ {
			points, ok := r.Window.Points(telemetry.Key{Series: telemetry.SwitchQueuePeak, Object: name, Priority: prio})
			if !ok {
				continue
			}
			if values == nil {
				values = make([]float64, columns)
			}
			for _, s := range points.Samples {
				// The sample is the most since the one before; it counts where it was read.
				i := min(columns-1, int(float64(s.At.PS())/float64(max(r.Summary.End.PS(), 1))*float64(columns)))
				values[i] = max(values[i], s.Level)
				most = max(most, s.Level)
			}
		}
		if most > 0 {
			list = append(list, port{name + " -> " + r.Fabric.Node(r.Fabric.Ports[p].Peer).Name, most, values})
		}
	}
	slices.SortStableFunc(list, func(a, b port) int {
		switch {
		case a.most > b.most:
			return -1
		case a.most < b.most:
			return 1
		}
		return 0
	})
	for _, p := range list[:min(rows, len(list))] {
		g.Ports, g.Values = append(g.Ports, p.name), append(g.Values, p.values)
	}
	return g
}

// Completions lists how long the measured messages of the job between hosts took, in order; nil where they are not known one by one.
func (r *Run) Completions() []units.Duration {
	if r.Estimate != nil {
		return nil
	}
	out := r.completions()
	slices.Sort(out)
	return out
}

// Distribution is the share of times that are no longer than each place of an axis from the shortest to the longest of all lists.
type Distribution struct {
	Times  []units.Duration
	Shares [][]float64 // by list
}

// DistributionOf works out the distributions of lists of times. Places are apart by equal factors where the longest is more than ten times
// the shortest, so that a tail and a body are both seen, and by equal steps elsewhere.
func DistributionOf(lists [][]units.Duration, places int) Distribution {
	low, high := math.Inf(1), 0.0
	for _, l := range lists {
		for _, t := range l {
			low, high = min(low, float64(t)), max(high, float64(t))
		}
	}
	d := Distribution{Times: make([]units.Duration, places), Shares: make([][]float64, len(lists))}
	if high == 0 {
		return d
	}
	const decade = 10
	for i := range d.Times {
		share := float64(i) / float64(places-1)
		if high > decade*low {
			d.Times[i] = units.Duration(low * math.Pow(high/low, share))
		} else {
			d.Times[i] = units.Duration(low + (high-low)*share)
		}
	}
	d.Times[places-1] = units.Duration(high)
	for k, l := range lists {
		sorted := slices.Sorted(slices.Values(l))
		d.Shares[k] = make([]float64, places)
		for i, t := range d.Times {
			n, _ := slices.BinarySearch(sorted, t+1)
			d.Shares[k][i] = float64(n) / float64(max(len(sorted), 1))
		}
	}
	return d
}
