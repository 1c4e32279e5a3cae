// Package irq owns reading which processors take the interrupts of NICs: /proc/interrupts, and the affinity files of
// /proc/irq.
//
// Read interrupts.go, then affinity.go.
package irq

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Limits on what is kept of one host: 16 NICs with an interrupt for each of 256 processors, and of one interrupt the
// processors that took it most. An interrupt is moved rarely, so it has one or two.
const (
	MaxIRQs   = 1 << 12
	MaxPerIRQ = 8
)

// Interrupts reads /proc/interrupts (Documentation/filesystems/proc.rst, kernel/irq/proc.c):
//
//	           CPU0       CPU1
//	156:   12345678          0  IR-PCI-MSIX-0000:5c:00.0    1-edge      mlx5_comp0@pci:0000:5c:00.0
//	NMI:         12         11   Non-maskable interrupts
//
// Only interrupts of network devices are kept, and of each the processors that took it.
type Interrupts struct {
	f    *fragment.Fragment
	cpus []int // number of the processor of each column
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Interrupts { return &Interrupts{f: f} }

// Starts tells whether a line is the head of the table.
func Starts(line []byte) bool {
	if len(line) == 0 || line[0] != ' ' || !bytes.Contains(line[:min(len(line), 64)], []byte(" CPU")) {
		return false
	}
	for word := range bytes.FieldsSeq(line) {
		if _, ok := cpuNumber(word); !ok {
			return false
		}
	}
	return true
}

func cpuNumber(word []byte) (int, bool) {
	digits, ok := bytes.CutPrefix(word, []byte("CPU"))
	n, err := strconv.ParseUint(string(digits), 10, 16)
	return int(n), ok && err == nil && n < evidence.MaxCPU
}

// Line reads one line; false means that it is not of the table.
func (r *Interrupts) Line(line []byte, n int) bool {
	if Starts(line) {
		r.cpus = r.cpus[:0]
		for word := range bytes.FieldsSeq(line) {
			cpu, _ := cpuNumber(word)
			r.cpus = append(r.cpus, cpu)
		}
		return true
	}
	label, rest, ok := bytes.Cut(line, []byte(":"))
	label = bytes.TrimSpace(label)
	if !ok || len(label) == 0 || len(label) > 5 || len(r.cpus) == 0 {
		return len(bytes.TrimSpace(line)) == 0
	}
	number, err := strconv.ParseUint(string(label), 10, 20)
	if err != nil {
		return true // NMI, LOC and the like
	}
	q := evidence.IRQ{Number: int(number), From: r.f.At(n)}
	for i := 0; i < len(r.cpus); i++ {
		word, more := nextWord(rest)
		count, err := strconv.ParseUint(string(word), 10, 64)
		if err != nil {
			return true // cut off
		}
		rest = more
		if count > 0 {
			q.Total += count
			q.PerCPU = append(q.PerCPU, evidence.Count{CPU: r.cpus[i], Count: count})
		}
	}
	if q.Name, q.Device = device(string(rest)); q.Device == "" {
		return true
	}
	if len(q.PerCPU) > MaxPerIRQ {
		slices.SortStableFunc(q.PerCPU, func(a, b evidence.Count) int { return cmp.Compare(b.Count, a.Count) })
		q.PerCPU = slices.Clip(slices.Clone(q.PerCPU[:MaxPerIRQ]))
	}
	if h := r.f.TheHost(); len(h.IRQs) < MaxIRQs {
		h.IRQs = append(h.IRQs, q)
	}
	return true
}

func nextWord(b []byte) (word, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// drivers begin the names that drivers of NICs give their interrupts: mlx5_comp0@pci:.., mlx5_async, bnxt_en-ens1-..,
// ice-ens1f0-TxRx-0, irdma-ens1f0-.., ena-mgmnt@pci:.., efa-mgmnt@pci:.., ionic-..
var drivers = []string{"mlx5_", "mlx4", "bnxt", "ice-", "irdma", "ena-", "efa-", "ionic", "hfi1", "i40e-"}

// interfaces begin the names of interfaces, which other drivers put first: ens3-TxRx-5, eth0-Tx-Rx-3.
var interfaces = []string{"en", "eth", "ib", "hsn", "bond"}

// device finds what an interrupt is of; name is "" where it is of no NIC.
func device(description string) (name, of string) {
	words := strings.Fields(description)
	if len(words) == 0 {
		return "", ""
	}
	name = words[len(words)-1]
	if before, address, ok := strings.Cut(name, "@pci:"); ok && hasPrefix(before, drivers) {
		return name, evidence.PCIAddress(address)
	}
	for part := range strings.SplitSeq(name, "-") {
		if hasPrefix(part, interfaces) && strings.ContainsAny(part, "0123456789") {
			return name, part
		}
	}
	if !hasPrefix(name, drivers) {
		return "", ""
	}
	for _, w := range words { // "IR-PCI-MSIX-0000:5c:00.0" of Linux 6.2 and later
		if i := strings.LastIndexByte(w, '-'); i > 0 {
			if address := evidence.PCIAddress(w[i+1:]); address != "" {
				return name, address
			}
		}
	}
	return name, name
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
