package nvidia

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxHealth limits the lines kept of all hosts.
const MaxHealth = 1 << 14

// DCGM reads the tables of dcgmi diag and dcgmi health (DCGM, dcgmi/Diag.cpp and Health.cpp):
//
//	| Diagnostic                | Result                                         |
//	|-----  Integration  -------+------------------------------------------------|
//	| PCIe                      | Fail - GPU: 3                                  |
//	| Warning                   | GPU 3 Running PCIe at x8 ...                   |
//	| Overall Health   | Warning                                                   |
//	|    -> NVLink     | Failure                                                   |
//
// What passed is kept with what failed: a test that was not run tells nothing.
type DCGM struct {
	f    *fragment.Fragment
	gpu  int
	last int // index into Inv.Health of the line a text belongs to, -1 before the first
}

// NewDCGM makes a reader for one output.
func NewDCGM(f *fragment.Fragment) *DCGM { return &DCGM{f: f, gpu: -1, last: -1} }

// StartsDCGM tells whether a line is the head of one of the tables.
func StartsDCGM(line []byte) bool {
	return bytes.HasPrefix(line, []byte("| Diagnostic ")) && bytes.Contains(line, []byte("| Result ")) || bytes.HasPrefix(line, []byte("| Overall Health "))
}

// results are the words a result begins with.
var results = map[string]bool{"Pass": true, "Fail": true, "Skip": true, "Warn": true, "Healthy": true, "Warning": true, "Failure": true}

// Line reads one line; false means that it is not of a table.
func (d *DCGM) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if !strings.HasPrefix(t, "|") {
		return t == "" || strings.HasPrefix(t, "+")
	}
	cells := strings.Split(strings.Trim(t, "|"), "|")
	if len(cells) != 2 {
		return true // a line that parts sections
	}
	name, value := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
	name = strings.TrimSpace(strings.TrimPrefix(name, "->"))
	first, rest, _ := strings.Cut(value, " ")
	if index, err := strconv.ParseUint(name, 10, 8); err == nil && results[first] {
		d.gpu, name = int(index), "GPU"
	}
	inv := d.f.Inv
	switch {
	case results[first] && name != "" && name != "Warning":
		if len(inv.Health) >= MaxHealth {
			d.last = -1
			return true
		}
		r := evidence.HealthReport{Host: d.f.Host, Subsystem: name, Result: first, GPU: d.gpu, Text: strings.TrimSpace(strings.TrimPrefix(rest, "- ")), From: d.f.At(n)}
		if _, index, ok := strings.Cut(rest, "GPU: "); ok {
			if v, err := strconv.ParseUint(index, 10, 8); err == nil {
				r.GPU = int(v)
			}
		}
		d.last = len(inv.Health)
		inv.Health = append(inv.Health, r)
	case d.last >= 0 && d.last < len(inv.Health) && value != "" && (name == "" || name == "Warning"):
		if h := &inv.Health[d.last]; len(h.Text) < fragment.MaxText {
			h.Text = strings.TrimSpace(h.Text + " " + value)
		}
	}
	return true
}

// LinkStates reads dcgmi nvlink -s:
//
//	GPUs:
//	    gpuId 0:
//	        U U U D X _
type LinkStates struct {
	f   *fragment.Fragment
	gpu *evidence.GPU
}

// NewLinkStates makes a reader for one output.
func NewLinkStates(f *fragment.Fragment) *LinkStates { return &LinkStates{f: f} }

// StartsLinkStates tells whether a line begins a GPU.
func StartsLinkStates(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("gpuId "))
}

// Line reads one line; false means that it is not of the output.
func (l *LinkStates) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if rest, ok := strings.CutPrefix(t, "gpuId "); ok {
		index, err := strconv.ParseUint(strings.TrimSuffix(rest, ":"), 10, 8)
		if err != nil {
			return false
		}
		l.gpu = l.f.TheHost().GPUAt("", int(index))
		return true
	}
	if t == "" || l.gpu == nil {
		return true
	}
	words := strings.Fields(t)
	for _, w := range words {
		if len(w) != 1 || strings.IndexByte("UDX_", w[0]) < 0 {
			return strings.HasSuffix(t, ":") || strings.HasPrefix(t, "Key")
		}
	}
	at := l.f.At(n)
	links := NVLinks{f: l.f, gpu: l.gpu}
	for i, w := range words {
		if w == "_" || i >= 64 {
			continue
		}
		links.link(i, n).Active = evidence.Known(w == "U", at)
	}
	return true
}
