package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// reading is one counter of one file, with the file's moment.
type reading struct {
	sample fragment.Sample
	when   moment
	file   string
	index  int // of the file
}

// stream is all readings of one counter of one port.
type stream struct {
	key     telemetry.Key
	counter string
	all     []reading
}

// timeline turns counters into samples: readings of the same counter and port in several files, or several times in
// one, become the samples of one stream.
//
// Their order is that of the moments in the names of the files. Where two files name no moment nothing tells which
// came first, nor whether they are of the same port at all, so the first alone counts and the rest is named.
func timeline(inv *evidence.Inventory, parts []part) *telemetry.Window {
	ambiguous := map[string]bool{}
	streams := gather(inv, parts, ambiguous)
	w := telemetry.NewWindow(units.At(0), units.At(0))
	dropped := 0
	for _, s := range choose(streams) {
		s.ordered(inv, ambiguous)
		if !s.emit(w) {
			dropped++
		}
	}
	if dropped > 0 {
		inv.Unreadable = append(inv.Unreadable, evidence.Unreadable{Why: fmt.Sprintf("%d counters past the limit of %d were not kept", dropped, telemetry.MaxPoints)})
	}
	return w
}

type streamKey struct {
	key     telemetry.Key
	counter string
}

func gather(inv *evidence.Inventory, parts []part, ambiguous map[string]bool) []*stream {
	index := map[streamKey]*stream{}
	var streams []*stream
	names := newPorts(inv)
	nameless := map[string]string{} // by host: the file whose counters are those of the port nothing names
	for i, p := range parts {
		for _, sample := range p.Samples {
			if sample.Device == "" && !p.when.known {
				first, ok := nameless[sample.Host]
				if !ok {
					nameless[sample.Host] = p.File
				} else if first != p.File {
					unordered(inv, ambiguous, p.File, first)
					break
				}
			}
			k := streamKey{telemetry.Key{Series: sample.Series, Object: names.object(sample), Priority: sample.Priority}, sample.Counter}
			s := index[k]
			if s == nil {
				s = &stream{key: k.key, counter: k.counter}
				index[k] = s
				streams = append(streams, s)
			}
			s.all = append(s.all, reading{sample: sample, when: p.when, file: p.File, index: i})
		}
	}
	return streams
}

// choose keeps one counter for each series of a port. Several counters may stand for one series (rx_out_of_buffer of
// ethtool, out_of_buffer of sysfs): they are not of one scale of time and must not be mixed. The one with most
// readings wins, then the one that shows most, then the first met.
func choose(streams []*stream) []*stream {
	best := map[telemetry.Key]*stream{}
	var order []telemetry.Key
	for _, s := range streams {
		have, ok := best[s.key]
		if !ok {
			order = append(order, s.key)
		}
		if !ok || len(s.all) > len(have.all) || len(s.all) == len(have.all) && s.largest() > have.largest() {
			best[s.key] = s
		}
	}
	chosen := make([]*stream, len(order))
	for i, k := range order {
		chosen[i] = best[k]
	}
	return chosen
}

func (s *stream) largest() uint64 {
	m := uint64(0)
	for _, r := range s.all {
		m = max(m, r.sample.Count)
	}
	return m
}

// ordered sorts the readings, and drops those of files whose order nothing tells.
func (s *stream) ordered(inv *evidence.Inventory, ambiguous map[string]bool) {
	files := map[string]bool{}
	unknown := false
	for _, r := range s.all {
		files[r.file] = true
		unknown = unknown || !r.when.known
	}
	if len(files) > 1 && unknown {
		first := s.all[0].file
		for _, r := range s.all {
			if r.file != first {
				unordered(inv, ambiguous, r.file, first)
			}
		}
		s.all = slices.DeleteFunc(s.all, func(r reading) bool { return r.file != first })
	}
	slices.SortStableFunc(s.all, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.when.order, b.when.order), cmp.Compare(a.when.elapsed, b.when.elapsed), cmp.Compare(a.index, b.index))
	})
}

// unordered names, once, a file whose counters were not used.
func unordered(inv *evidence.Inventory, ambiguous map[string]bool, file, first string) {
	if ambiguous[file] {
		return
	}
	ambiguous[file] = true
	inv.Unreadable = append(inv.Unreadable, evidence.Unreadable{
		From: evidence.Source{File: file},
		Why:  fmt.Sprintf("counters not used: %s has the like, and no name tells port or order apart; call them _before and _after, or by host and device", first),
	})
}

// emit adds the samples. Times are known where one file tells them all, or where every file but the first tells how much
// had passed since; else the samples stand one picosecond apart and are marked as untimed. It returns false where the
// window is full.
func (s *stream) emit(w *telemetry.Window) bool {
	told := s.told()
	timed := len(s.all) > 1
	for i, r := range s.all {
		if !told && i > 0 && (!r.when.timed || r.when.elapsed <= s.all[i-1].when.elapsed) {
			timed = false
		}
	}
	for i, r := range s.all {
		at := units.At(int64(i))
		switch {
		case told:
			at = units.At((r.sample.At - s.all[0].sample.At) * int64(units.Nanosecond))
		case timed:
			at = units.At(int64(r.when.elapsed))
		}
		origin := evidence.Source{File: r.file, Line: r.sample.Line}.String()
		if !w.Add(s.key, telemetry.Sample{At: at, Count: r.sample.Count, Level: r.sample.Level}, r.sample.Scale, origin, !timed) {
			return false
		}
		if at.After(w.To) {
			w.To = at
		}
	}
	return true
}

// maxTold is the longest time between samples that picoseconds can hold, in nanoseconds: 106 days.
const maxTold = (1<<63 - 1) / int64(units.Nanosecond)

// told tells whether all readings are of one file that says when each was made, one after the other.
func (s *stream) told() bool {
	for i, r := range s.all {
		if !r.sample.Timed || r.index != s.all[0].index {
			return false
		}
		if i > 0 && (r.sample.At <= s.all[i-1].sample.At || r.sample.At-s.all[0].sample.At > maxTold) {
			return false // the agent started anew, or datagrams overtook each other
		}
	}
	return len(s.all) > 1
}

// ports finds the RDMA device above an interface, so that counters of both come under one name.
type ports map[hostDevice]*evidence.NIC

type hostDevice struct{ host, netdev string }

func newPorts(inv *evidence.Inventory) ports {
	p := ports{}
	for _, h := range inv.Hosts {
		for _, n := range h.NICs {
			if netdev, ok := n.Netdev.Get(); ok {
				p[hostDevice{h.Name, netdev}] = n
			}
		}
	}
	return p
}

// object is the name a sample's series go by.
func (p ports) object(s fragment.Sample) string {
	h := evidence.Host{Name: s.Host}
	if n, ok := p[hostDevice{s.Host, s.Device}]; ok {
		return h.Object(n)
	}
	return h.Object(&evidence.NIC{Device: s.Device, Port: s.Port})
}
