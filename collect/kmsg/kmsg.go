// Package kmsg owns reading the kernel log (dmesg, journalctl -k) for trouble with NICs, GPUs and PCIe.
package kmsg

import (
	"bytes"
	"io"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxPerKind is how many lines of one kind are kept of one host: a flapping link writes thousands.
const MaxPerKind = 64

// Log reads kernel messages.
type Log struct{ f *fragment.Fragment }

// New makes a reader for one input.
func New(f *fragment.Fragment) *Log { return &Log{f} }

// Parse reads an input.
func Parse(r io.Reader, f *fragment.Fragment) error {
	l := New(f)
	return lines.Each(r, func(line []byte, n int) { l.Line(line, n) })
}

// sources are the words that begin the messages that matter, and what tells their kind. The texts stand in
// drivers/net/ethernet/mellanox/mlx5/core (events.c, health.c, en_main.c), drivers/net/ethernet/broadcom/bnxt/bnxt.c,
// drivers/pci/pcie/aer.c, and the Xid catalogue of the NVIDIA driver.
var sources = []struct {
	mark  []byte
	kinds []kind
}{
	{[]byte("mlx5_core "), []kind{
		{"insufficient power on the PCIe slot", "pcie power"},
		{"High Temperature", "module temperature"},
		{"Port module event[error]", "module error"},
		{"Link down", "link down"},
		{"Link up", "link up"},
		{"health compromised", "nic health"},
		{"Fatal error", "nic health"},
		{"assert_var", "nic health"},
	}},
	{[]byte("NVRM: Xid"), []kind{{"", "xid"}}},
	{[]byte("bnxt_en "), []kind{{"NIC Link is Down", "link down"}, {"NIC Link is Up", "link up"}}},
	{[]byte("ice "), []kind{{"NIC Link is Down", "link down"}, {"NIC Link is up", "link up"}}},
	{[]byte("PCIe Bus Error"), []kind{{"", "pcie error"}}},
}

type kind struct{ words, name string }

// find tells the kind of a line, "" where it tells of nothing that matters.
func find(line []byte) (name string, known bool) {
	for _, s := range sources {
		if !bytes.Contains(line, s.mark) {
			continue
		}
		for _, k := range s.kinds {
			if k.words == "" || bytes.Contains(line, []byte(k.words)) {
				return k.name, true
			}
		}
	}
	return "", false
}

// Starts tells whether a line is a kernel message that matters.
func Starts(line []byte) bool {
	_, ok := find(line)
	return ok
}

// Line reads one line; false means that it tells of nothing that matters.
func (l *Log) Line(line []byte, n int) bool {
	name, ok := find(line)
	if !ok {
		return false
	}
	h := l.f.TheHost()
	count := 0
	for _, e := range h.Kernel {
		if e.Kind == name {
			count++
		}
	}
	if count < MaxPerKind {
		text := string(line[:min(len(line), fragment.MaxText)])
		h.Kernel = append(h.Kernel, evidence.KernelEvent{Kind: name, Device: pciAddress(text), Text: text, From: l.f.At(n)})
	}
	return true
}

// pciAddress finds "0000:5c:00.0", or "0000:1b:00" as NVRM writes it.
func pciAddress(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '(' || r == ')' || r == ',' || r == '[' || r == ']' }) {
		word = strings.TrimPrefix(strings.TrimSuffix(word, ":"), "PCI:")
		if len(word) >= 10 && word[4] == ':' && word[7] == ':' && hex(word[:4]) && hex(word[5:7]) && hex(word[8:10]) {
			return word
		}
	}
	return ""
}

func hex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
