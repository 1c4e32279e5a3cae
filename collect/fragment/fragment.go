// Package fragment owns what one input adds to the evidence: the inventory it writes into, the host and device
// its path speaks of, and the counters read from it, which become samples only when all files are known.
//
// Every parser below collect fills a Fragment and touches nothing else.
package fragment

import (
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// MaxSamples limits the counters one input may add: 64 devices with 8 priorities and 40 series, fifty times over.
const MaxSamples = 1 << 20

// Fragment is what one input adds.
type Fragment struct {
	Inv *evidence.Inventory
	// File is the path as sources show it.
	File string
	// Host is the host the input is about, "" where nothing tells. A parser that reads a host name sets it.
	Host string
	// Device is the RDMA device or network interface the input's name speaks of, "" where it does not.
	Device string
	// Samples are the counters, in the order of the lines.
	Samples []Sample
	// Now is the time of what is counted from here on, where the input tells it.
	Now   int64
	Timed bool
	// Dropped counts samples beyond MaxSamples.
	Dropped int

	host   *evidence.Host // the answer of TheHost for hostOf
	hostOf string
}

// Sample is one counter as it was read.
type Sample struct {
	Series   telemetry.SeriesID
	Priority int8
	Counter  string // the counter's own name
	// Host and Device it belongs to; Device may be an interface, which the RDMA device is found for later.
	Host, Device string
	Port         int
	Count        uint64
	Level        float64
	Scale        float64
	Line         int
	// At is when it was read, in nanoseconds of a clock that all samples of the host in this input share; Timed tells that
	// the input says so.
	At    int64
	Timed bool
}

// New makes a fragment of an input that writes into inv.
func New(inv *evidence.Inventory, file string) *Fragment { return &Fragment{Inv: inv, File: file} }

// At is a line of the input as a source.
func (f *Fragment) At(line int) evidence.Source { return evidence.Source{File: f.File, Line: line} }

// TheHost is the host the input is about, made if it is not there yet. Every line asks for it, so the last answer is
// kept: an inventory may have thousands.
func (f *Fragment) TheHost() *evidence.Host {
	if f.host == nil || f.hostOf != f.Host {
		f.host, f.hostOf = f.Inv.Host(f.Host), f.Host
	}
	return f.host
}

// Count adds a counter by its own name, of a device, "" for the one the input's name speaks of.
func (f *Fragment) Count(m Counter, name, device string, port int, value uint64, line int) {
	s := Sample{Series: m.Series, Counter: name, Priority: m.Priority, Scale: m.Scale, Count: value, Line: line, Port: port}
	if telemetry.Catalogue[m.Series].Kind == telemetry.Gauge {
		s.Level = float64(value) * m.Scale
	}
	f.add(s, device)
}

func (f *Fragment) add(s Sample, device string) {
	if len(f.Samples) >= MaxSamples {
		f.Dropped++
		return
	}
	s.Host, s.Device, s.At, s.Timed = f.Host, device, f.Now, f.Timed
	if s.Device == "" {
		s.Device = f.Device
	}
	f.Samples = append(f.Samples, s)
}

// Counter is the series a counter of real hardware is read into.
type Counter struct {
	Series   telemetry.SeriesID
	Priority int8
	Scale    float64
}

// Counters finds the series of counters of some systems by the counter's own name.
type Counters map[string]Counter

// Index makes the table of the named systems from the catalogue: {p} in a counter's name becomes 0..7, the
// priorities of IEEE 802.1Q. Where two systems share a name the first one named wins.
func Index(systems ...string) Counters {
	table := Counters{}
	for _, system := range systems {
		for id := range telemetry.SeriesCount {
			for _, src := range telemetry.Catalogue[id].Sources {
				if src.System == system {
					table.insert(src, id)
				}
			}
		}
	}
	return table
}

func (t Counters) insert(src telemetry.Source, id telemetry.SeriesID) {
	put := func(name string, priority int8) {
		if _, taken := t[name]; !taken {
			t[name] = Counter{Series: id, Priority: priority, Scale: src.Scale}
		}
	}
	if !strings.Contains(src.Counter, "{p}") {
		put(src.Counter, telemetry.AnyPriority)
		return
	}
	for p := range int8(8) {
		put(strings.ReplaceAll(src.Counter, "{p}", string(rune('0'+p))), p)
	}
}
