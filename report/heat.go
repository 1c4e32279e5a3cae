package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
)

// HeatSchema names the JSON form of a heat map.
const HeatSchema = "shunt/heat/v1"

// Heat is the spray heat map of a simulated run (S0.10): how many packets of each QP left by each path of the first switch that had a choice. The
// articles read it from a NIC's debugfs; no public driver offers such a file, and of all that is public only a simulator knows which packet took which
// path. It is truth of a run and reaches no diagnosis.
type Heat struct {
	Schema string `json:"schema"`
	Title  string `json:"title"`
	Seed   uint64 `json:"seed"`
	// Paths are the columns: the uplinks of a switch by their order, called by what is behind them where that is the same at all switches.
	Paths []string  `json:"paths"`
	QPs   []HeatRow `json:"qps"`      // the most uneven first
	Sums  []HeatRow `json:"switches"` // of all QPs below a switch, in the order of the switches
	All   HeatRow   `json:"all"`
	// Level is the p below which a row counts as uneven: 1 % shared out over all that are judged (Bonferroni), so that a map of even QPs has a
	// mark in it once in a hundred.
	Level   float64       `json:"level"`
	EndPS   int64         `json:"end_ps"`    // of the run
	Local   int           `json:"local_qps"` // QPs whose first switch had no choice; they have no row
	Buckets []HeatBuckets `json:"buckets,omitempty"`
}

// HeatRow is one QP, or several together, and where their packets went.
type HeatRow struct {
	Name      string   `json:"name"` // "host0 -> host9", or the name of a switch
	QPN       uint32   `json:"qpn,omitempty"`
	Switch    string   `json:"switch,omitempty"`
	Packets   []uint64 `json:"packets"` // by path; as many as the switch has
	Total     uint64   `json:"total"`
	Imbalance float64  `json:"imbalance"` // the fullest path against an even share of all paths
	ChiSquare float64  `json:"chi_square,omitempty"`
	P         float64  `json:"p"`
	Verdict   Evenness `json:"verdict"`
}

// Evenness is what a test says of a row.
type Evenness string

// Verdicts.
const (
	Even   Evenness = "even"    // chance alone may have done it, or it is more even than chance
	Uneven Evenness = "uneven"  // an even split does this less often than Level
	TooFew Evenness = "unknown" // fewer packets than can tell: five for each path
)

// HeatBuckets is how the buckets of a switch belonged to its paths over time.
type HeatBuckets struct {
	Switch  string   `json:"switch"`
	Paths   []string `json:"paths"`
	TimesPS []int64  `json:"times_ps"` // when they changed
	Buckets [][]int  `json:"buckets"`  // by time, by path
	EndPS   int64    `json:"end_ps"`   // of the run
}

// familyLevel is how likely one mark or more is in a map without unevenness.
const familyLevel = 0.01

// NewHeat makes the heat map of a run from what it traced.
func NewHeat(title string, seed uint64, f *fabric.Fabric, end int64, t netsim.SprayTrace) *Heat {
	h := &Heat{Schema: HeatSchema, Title: title, Seed: seed, EndPS: end}
	uplinks := map[fabric.NodeID][]fabric.PortID{} // only looked up
	var order []fabric.NodeID
	for _, q := range t.QPs {
		ports, seen := uplinks[q.Switch]
		if !seen {
			ports = uplinksOf(f, q.Switch)
			uplinks[q.Switch] = ports
			order = append(order, q.Switch)
		}
		row := HeatRow{Name: f.Node(q.Src).Name + " -> " + f.Node(q.Dst).Name, QPN: q.QPN, Switch: f.Nodes[q.Switch].Name, Packets: make([]uint64, len(ports))}
		for _, p := range q.Paths {
			if i := slices.Index(ports, p.Port); i >= 0 {
				row.Packets[i] += p.Packets
				row.Total += p.Packets
			}
		}
		if row.Total == 0 {
			h.Local++
			continue
		}
		h.QPs = append(h.QPs, row)
	}
	slices.Sort(order)
	var lists [][]fabric.PortID
	for _, s := range order {
		lists = append(lists, uplinks[s])
	}
	h.Paths = pathNames(f, lists)
	for _, s := range order {
		h.Sums = append(h.Sums, HeatRow{Name: f.Nodes[s].Name, Switch: f.Nodes[s].Name, Packets: make([]uint64, len(uplinks[s]))})
	}
	h.sum()
	h.judge()
	for _, o := range t.Occupancy {
		h.occupied(f, end, o)
	}
	return h
}

// uplinksOf lists the ports of a switch that lead away from hosts, in the order of their numbers.
func uplinksOf(f *fabric.Fabric, s fabric.NodeID) []fabric.PortID {
	var out []fabric.PortID
	node := &f.Nodes[s]
	for p := node.FirstPort; p < node.FirstPort+fabric.PortID(node.NumPorts); p++ {
		if f.Ports[p].Uplink {
			out = append(out, p)
		}
	}
	return out
}

// pathNames calls the columns by what is behind the uplinks, where all switches agree on it.
func pathNames(f *fabric.Fabric, switches [][]fabric.PortID) []string {
	var out []string
	for _, ports := range switches {
		seen := map[string]int{} // links to the same neighbour
		for i, p := range ports {
			name := f.Node(f.Ports[p].Peer).Name
			if seen[name]++; seen[name] > 1 {
				name = fmt.Sprintf("%s (%d)", name, seen[name])
			}
			if i == len(out) {
				out = append(out, name)
			} else if out[i] != name {
				out[i] = fmt.Sprintf("uplink %d", i)
			}
		}
	}
	return out
}

// sum adds the QPs up by switch and over all. A switch whose QPs all stay below it has no row.
func (h *Heat) sum() {
	h.All = HeatRow{Name: "all", Packets: make([]uint64, len(h.Paths))}
	at := map[string]int{} // only looked up
	for i := range h.Sums {
		at[h.Sums[i].Name] = i
	}
	for _, q := range h.QPs {
		for _, to := range []*HeatRow{&h.Sums[at[q.Switch]], &h.All} {
			for k, n := range q.Packets {
				to.Packets[k] += n
			}
			to.Total += q.Total
		}
	}
	h.Sums = slices.DeleteFunc(h.Sums, func(r HeatRow) bool { return r.Total == 0 })
}

// judge tests every row and orders the QPs.
func (h *Heat) judge() {
	rows := []*HeatRow{&h.All}
	for i := range h.Sums {
		rows = append(rows, &h.Sums[i])
	}
	for i := range h.QPs {
		rows = append(rows, &h.QPs[i])
	}
	judged := 0
	for _, r := range rows {
		u := evenSplit(r.Packets)
		r.ChiSquare, r.P, r.Verdict = u.statistic, u.p, TooFew
		if u.judged {
			judged++
			r.Verdict = Even
		}
		if r.Total > 0 {
			r.Imbalance = float64(slices.Max(r.Packets)) * float64(len(r.Packets)) / float64(r.Total)
		}
	}
	h.Level = familyLevel / float64(max(judged, 1))
	for _, r := range rows {
		if r.Verdict == Even && r.P < h.Level {
			r.Verdict = Uneven
		}
	}
	// Among QPs as uneven as each other the larger comes first; those of which nothing can be said come last, since one packet is
	// on one path whatever happens.
	slices.SortStableFunc(h.QPs, func(a, b HeatRow) int {
		return cmp.Or(
			cmp.Compare(boolRank(a.Verdict == TooFew), boolRank(b.Verdict == TooFew)),
			-cmp.Compare(a.Imbalance, b.Imbalance), -cmp.Compare(a.Total, b.Total))
	})
}

func boolRank(is bool) int {
	if is {
		return 1
	}
	return 0
}

// occupied adds what the buckets of a switch were at a time; one that changed nothing is left out.
func (h *Heat) occupied(f *fabric.Fabric, end int64, o netsim.Occupancy) {
	name := f.Nodes[o.Switch].Name
	i := slices.IndexFunc(h.Buckets, func(b HeatBuckets) bool { return b.Switch == name })
	if i < 0 {
		i = len(h.Buckets)
		b := HeatBuckets{Switch: name, EndPS: end}
		for _, p := range o.Paths {
			b.Paths = append(b.Paths, f.Node(f.Ports[p.Port].Peer).Name)
		}
		h.Buckets = append(h.Buckets, b)
	}
	b := &h.Buckets[i]
	var now []int
	for _, p := range o.Paths {
		now = append(now, p.Buckets)
	}
	if n := len(b.Buckets); len(now) != len(b.Paths) || n > 0 && slices.Equal(b.Buckets[n-1], now) {
		return // a set of ports that changed has other columns
	}
	b.TimesPS, b.Buckets = append(b.TimesPS, o.At.PS()), append(b.Buckets, now)
}

// HeatGrid is a heat map as a picture has it: shares of an even split, rows by name.
type HeatGrid struct {
	Title   string
	Rows    []string
	Columns []string
	Values  [][]float64
}

// Grid is the map with the most uneven QPs by themselves, and the others and the sum of each switch below.
func (h *Heat) Grid(rows int) HeatGrid {
	shown := h.QPs[:min(rows, len(h.QPs))]
	g := HeatGrid{Columns: h.Paths, Title: fmt.Sprintf("packets of %d of %d QPs by path: from white (none) over an even share to dark (twice that or more); ! = uneven beyond chance", len(shown), len(h.QPs))}
	add := func(r *HeatRow, name string) {
		if r.Verdict == Uneven {
			name = "! " + name
		}
		values := make([]float64, len(h.Paths))
		for i, n := range r.Packets {
			values[i] = min(2, float64(n)*float64(len(r.Packets))/float64(max(r.Total, 1)))
		}
		g.Rows, g.Values = append(g.Rows, name), append(g.Values, values)
	}
	for i := range shown {
		add(&shown[i], fmt.Sprintf("%s %#06x", shown[i].Name, shown[i].QPN))
	}
	if rest := h.QPs[len(shown):]; len(rest) > 0 {
		add(together(rest), fmt.Sprintf("%d more together", len(rest)))
	}
	for i := range h.Sums {
		if i == maxHeatSums {
			break
		}
		add(&h.Sums[i], "all of "+h.Sums[i].Name)
	}
	return g
}

// BucketGrid is how buckets belonged to paths over the run, switch by switch, those first whose buckets moved most.
func (h *Heat) BucketGrid(rows, columns int) HeatGrid {
	g := HeatGrid{Title: "buckets by switch and path over the run: from white (none) over an even share to dark (twice that or more)"}
	for _, b := range h.moving() {
		if len(g.Rows)+len(b.Paths) > rows {
			break
		}
		for p, name := range b.Paths {
			values := make([]float64, columns)
			for c := range values {
				values[c] = min(2, b.mean(p, c, columns)/b.fair())
			}
			g.Rows, g.Values = append(g.Rows, b.Switch+" -> "+name), append(g.Values, values)
		}
	}
	return g
}

// moving lists the switches whose buckets moved, the liveliest first.
func (h *Heat) moving() []HeatBuckets {
	out := slices.DeleteFunc(slices.Clone(h.Buckets), func(b HeatBuckets) bool { return len(b.TimesPS) < 2 })
	slices.SortStableFunc(out, func(a, b HeatBuckets) int { return len(b.TimesPS) - len(a.TimesPS) })
	return out
}

// mean is how many buckets a path had in one of equal parts of the run, on average over its time.
func (b *HeatBuckets) mean(path, part, parts int) float64 {
	from, to := b.EndPS/int64(parts)*int64(part), b.EndPS/int64(parts)*int64(part+1)
	sum := 0.0
	for i := -1; i < len(b.TimesPS); i++ {
		at, until, n := int64(0), b.EndPS, b.fair() // dealt evenly until the first reading
		if i >= 0 {
			at, n = b.TimesPS[i], float64(b.Buckets[i][path])
		}
		if i+1 < len(b.TimesPS) {
			until = b.TimesPS[i+1]
		}
		if lo, hi := max(at, from), min(until, to); hi > lo {
			sum += n * float64(hi-lo)
		}
	}
	return sum / float64(max(to-from, 1))
}

// size is the number of buckets, fair the even share of a path.
func (b *HeatBuckets) size() int {
	sum := 0
	for _, n := range b.Buckets[0] {
		sum += n
	}
	return sum
}

func (b *HeatBuckets) fair() float64 { return float64(b.size()) / float64(len(b.Paths)) }
