// Package kmsg owns reading the kernel log (dmesg, dmesg -T, journalctl -k in its short forms) for trouble with NICs,
// GPUs, PCIe and the host as a whole, and for what it says of the IOMMU and the command line.
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

// source is what the messages of one driver or part of the kernel begin with.
type source struct {
	mark     []byte
	messages []message
}

// message is a kind of message and the words that tell it.
type message struct {
	words []byte
	name  string
}

// named are messages that tell by themselves that they are the kernel's: they begin with a driver and an address, or
// with words nobody else prints. The texts stand in drivers/net/ethernet/mellanox/mlx5/core (events.c, health.c,
// en_main.c), drivers/net/ethernet/broadcom/bnxt/bnxt.c, drivers/net/ethernet/intel/ice/ice_main.c,
// drivers/pci/pcie/aer.c, and the Xid catalogue of the NVIDIA driver. Of the messages of one source the first that fits
// counts; one without words fits always.
var named = []source{
	{b("mlx5_core "), []message{
		{b("insufficient power on the PCIe slot"), "pcie power"},
		{b("High Temperature"), "module temperature"},
		{b("Port module event[error]"), "module error"},
		{b("Link down"), "link down"},
		{b("Link up"), "link up"},
		{b("health compromised"), "nic health"},
		{b("Fatal error"), "nic health"},
		{b("assert_var"), "nic health"},
		{b("Will cause a leak of a command resource"), "nic health"}, // a command the firmware never answered (cmd.c)
		{b("TX timeout detected"), "netdev watchdog"},
		{b("AER"), "aer"},
	}},
	{b("nvidia_peermem: "), []message{{b("Unknown symbol"), "peermem"}, {b("disagrees about version"), "peermem"}}},
	{b("NVRM: Xid"), []message{{nil, "xid"}}},
	{b("SXid ("), []message{{nil, "sxid"}}},
	{b("bnxt_en "), []message{{b("NIC Link is Down"), "link down"}, {b("NIC Link is Up"), "link up"}}},
	{b("ice "), []message{{b("NIC Link is Down"), "link down"}, {b("NIC Link is up"), "link up"}}},
	{b("PCIe Bus Error"), []message{{nil, "aer"}}},
	{b("AER: "), []message{{b("rror"), "aer"}}}, // "Corrected error received", "Uncorrectable (Fatal) error message received"
}

// general are messages whose words other programs print too, so that they count behind a kernel's time or tag alone:
// mm/oom_kill.c, kernel/watchdog.c, kernel/hung_task.c, kernel/rcu/tree_stall.h, arch/x86/kernel/cpu/mce/core.c,
// net/sched/sch_generic.c, net/core/neighbour.c, net/netfilter/nf_conntrack_core.c, drivers/iommu.
var general = []message{
	{b("Out of memory: Killed process"), "oom"},
	{b("Memory cgroup out of memory"), "oom"},
	{b("oom-kill:"), "oom"},
	{b("soft lockup"), "lockup"},
	{b("hard LOCKUP"), "lockup"},
	{b("blocked for more than"), "lockup"},
	{b("detected stalls on CPUs"), "lockup"},
	{b("self-detected stall"), "lockup"},
	{b("mce: [Hardware Error]"), "mce"},
	{b("Machine check events logged"), "mce"},
	{b("NETDEV WATCHDOG"), "netdev watchdog"},
	{b("neighbor table overflow"), "neighbor overflow"},
	{b("nf_conntrack: table full"), "conntrack full"},
	{b("link status definitely down"), "bond link down"},
	{b("IO_PAGE_FAULT"), "iommu fault"},
	{b("DMAR: [DMA"), "iommu fault"},
	{b("iommu: Default domain type"), "iommu"},
	{b("DMAR: IOMMU enabled"), "iommu"},
	{b("AMD-Vi: "), "iommu"},
}

func b(s string) []byte { return []byte(s) }

// commandLine begins what the kernel was started with (init/main.c).
var commandLine = b("Command line: ")

// find tells the kind of a line, "" where it tells of nothing that matters.
func find(line []byte, head head) string {
	for i := range named {
		if !bytes.Contains(line, named[i].mark) {
			continue
		}
		for _, m := range named[i].messages {
			if bytes.Contains(line, m.words) {
				return m.name
			}
		}
	}
	if !head.kernel {
		return ""
	}
	for i := range general {
		if bytes.Contains(line, general[i].words) {
			return general[i].name
		}
	}
	return ""
}

// head is what stands before a message.
type head struct {
	kernel bool // the line is one of the kernel for certain
	time   string
	host   string // "" where it is not told
}

// headOf reads what dmesg, dmesg -T and journalctl put before a message:
//
//	[   12.345678] message
//	[Mon Jun  2 10:00:00 2025] message
//	Jun 02 10:00:00 node1 kernel: message
//	2025-06-02T10:00:00.123456+0000 node1 kernel: message
func headOf(line []byte) (h head) {
	if len(line) > 3 && line[0] == '[' {
		end := bytes.IndexByte(line, ']')
		if end < 0 || end > 40 {
			return h
		}
		inside := bytes.TrimSpace(line[1:end])
		if uptime(inside) || len(inside) == len("Mon Jun  2 10:00:00 2025") && inside[3] == ' ' && inside[13] == ':' {
			h.kernel, h.time = true, string(line[:end+1])
		}
		return h
	}
	i := bytes.Index(line, b(" kernel: "))
	if i < 0 || i > 100 {
		return h
	}
	time, host := []byte(nil), line[:i] // the host alone where a time in ISO 8601 was taken off before
	if j := bytes.LastIndexByte(host, ' '); j >= 0 {
		time, host = host[:j], host[j+1:]
	}
	return head{kernel: true, time: string(time), host: string(host)}
}

// uptime tells whether b is seconds since the start: "12.345678".
func uptime(b []byte) bool {
	dot := bytes.IndexByte(b, '.')
	if dot <= 0 {
		return false
	}
	for i, c := range b {
		if i != dot && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Starts tells whether a line is a kernel message that matters.
func Starts(line []byte) bool {
	h := headOf(line)
	return find(line, h) != "" || h.kernel && bytes.Contains(line, commandLine)
}

// Line reads one line; false means that it tells of nothing that matters.
func (l *Log) Line(line []byte, n int) bool {
	head := headOf(line)
	name := find(line, head)
	started := name == "" && head.kernel && bytes.Contains(line, commandLine)
	if name == "" && !started {
		return false
	}
	of := l.f.Host
	if head.host != "" {
		l.f.Host, _, _ = strings.Cut(head.host, ".")
	}
	if started {
		l.started(line, n)
	} else {
		l.keep(name, head, line, n)
	}
	l.f.Host = of
	return true
}

func (l *Log) keep(name string, head head, line []byte, n int) {
	h := l.f.TheHost()
	count := 0
	for _, e := range h.Kernel {
		if e.Kind == name {
			count++
		}
	}
	if count < MaxPerKind {
		text := string(line[:min(len(line), fragment.MaxText)])
		h.Kernel = append(h.Kernel, evidence.KernelEvent{Kind: name, Device: pciAddress(text), Text: text, Time: head.time, From: l.f.At(n)})
	}
}

// started keeps the command line the kernel was started with.
func (l *Log) started(line []byte, n int) {
	_, text, _ := bytes.Cut(line, commandLine)
	h := l.f.TheHost()
	if h.Versions == nil {
		h.Versions = map[string]evidence.Value[string]{}
	}
	h.Versions["cmdline"] = evidence.Known(string(bytes.TrimSpace(text[:min(len(text), fragment.MaxText*4)])), l.f.At(n))
}

// pciAddress finds "0000:5c:00.0", or "0000:1b:00" as NVRM writes it. A port that reports the error of a device below it
// ("AER: Corrected error received: 0000:5c:00.0") names itself first.
func pciAddress(text string) string {
	found := ""
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '(' || r == ')' || r == ',' || r == '[' || r == ']' }) {
		word = strings.TrimPrefix(strings.TrimSuffix(word, ":"), "PCI:")
		if len(word) >= 10 && word[4] == ':' && word[7] == ':' && hex(word[:4]) && hex(word[5:7]) && hex(word[8:10]) {
			if found = word; !strings.Contains(text, " received: ") {
				return found
			}
		}
	}
	return found
}

func hex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
