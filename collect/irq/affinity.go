package irq

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Affinity gathers /proc/irq/N/smp_affinity_list and its like of all hosts. Which interrupt is a NIC's is known once
// /proc/interrupts was read, which may be later.
type Affinity struct {
	hosts []*evidence.Host
	sets  map[*evidence.Host]map[int]evidence.Value[evidence.CPUSet]
}

// NewAffinity makes an empty one.
func NewAffinity() *Affinity {
	return &Affinity{sets: map[*evidence.Host]map[int]evidence.Value[evidence.CPUSet]{}}
}

// MaxValue is the most such a file holds: a mask of evidence.MaxCPU bits in words of nine characters.
const MaxValue = 4096

// Locate finds the interrupt in a path of one of the files; ok is false for any other. The effective affinity goes
// before the one that was asked for: interrupts the kernel manages ignore the latter.
func Locate(p string) (number int, file string, ok bool) {
	parts := strings.Split(p, "/")
	n := len(parts)
	if n < 3 || parts[n-3] != "irq" || !slices.Contains(files, parts[n-1]) {
		return 0, "", false
	}
	v, err := strconv.ParseUint(parts[n-2], 10, 20)
	return int(v), parts[n-1], err == nil
}

var files = []string{"smp_affinity_list", "smp_affinity", "effective_affinity_list", "effective_affinity"}

// File reads one file.
func (a *Affinity) File(f *fragment.Fragment, number int, file string, value []byte, line int) {
	text := string(bytes.TrimSpace(value))
	var set evidence.CPUSet
	var ok bool
	if strings.HasSuffix(file, "_list") {
		set, ok = evidence.ParseCPUList(text)
	} else {
		set, ok = evidence.ParseCPUMask(text)
	}
	h := f.TheHost()
	sets := a.sets[h]
	if sets == nil {
		sets = map[int]evidence.Value[evidence.CPUSet]{}
		a.sets[h] = sets
		a.hosts = append(a.hosts, h)
	}
	if _, have := sets[number]; !ok || have && !strings.HasPrefix(file, "effective") || len(sets) >= MaxIRQs*4 {
		return
	}
	sets[number] = evidence.Known(set, f.At(line))
}

// Finish gives the interrupts that were kept their affinity.
func (a *Affinity) Finish() {
	for _, h := range a.hosts {
		for i := range h.IRQs {
			if set, ok := a.sets[h][h.IRQs[i].Number]; ok {
				h.IRQs[i].Affinity = set
			}
		}
	}
}

// Paste reads "path:value" lines, as grep "" /proc/irq/*/smp_affinity_list prints them.
type Paste struct {
	f *fragment.Fragment
	a *Affinity
}

// NewPaste makes a reader that gathers in a, whose Finish is called after the last line.
func NewPaste(f *fragment.Fragment, a *Affinity) *Paste { return &Paste{f, a} }

// StartsPaste tells whether a line speaks of one of the files.
func StartsPaste(line []byte) bool {
	return bytes.HasPrefix(line, []byte("/proc/irq/")) && bytes.IndexByte(line, ':') > 0
}

// Line reads one line; false means that it speaks of none.
func (p *Paste) Line(line []byte, n int) bool {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !StartsPaste(line) {
		return len(bytes.TrimSpace(line)) == 0
	}
	if number, file, ok := Locate(string(name)); ok {
		p.a.File(p.f, number, file, value, n)
	}
	return true
}
