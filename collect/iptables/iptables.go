// Package iptables owns reading the packet filter of a host: iptables -L and -S (and iptables-save).
package iptables

import (
	"bytes"
	"io"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
)

// MaxRules limits the rules kept of one host.
const MaxRules = 1 << 12

// Rules reads the rules that reject or drop what comes to the host or leaves it:
//
//	Chain INPUT (policy ACCEPT)
//	target     prot opt source               destination
//	REJECT     all  --  anywhere             anywhere             reject-with icmp-host-prohibited
//	-A INPUT -j REJECT --reject-with icmp-host-prohibited
//
// Not kept are rules for packets in state INVALID, which every firewall has, and chains of forwarding and of
// container runtimes, which do not see the host's own traffic.
type Rules struct {
	f     *fragment.Fragment
	chain string
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Rules { return &Rules{f: f} }

// Parse reads an output.
func Parse(r io.Reader, f *fragment.Fragment) error {
	p := New(f)
	return lines.Each(r, func(line []byte, n int) { p.Line(line, n) })
}

// Starts tells whether a line begins a chain, or is a rule in the form of iptables-save.
func Starts(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Chain ")) && bytes.IndexByte(line, '(') > 0 ||
		bytes.HasPrefix(line, []byte("-A ")) && bytes.Contains(line, []byte(" -j ")) || bytes.HasPrefix(line, []byte("-P INPUT "))
}

// Line reads one line; false means that it is no rule.
func (r *Rules) Line(line []byte, n int) bool {
	fields := strings.Fields(string(line))
	if len(fields) == 0 {
		return true
	}
	if i := strings.IndexByte(fields[0], '['); i == 0 { // packet counters of iptables-save -c: "[12:720] -A INPUT ..."
		fields = fields[1:]
	}
	if len(fields) < 2 {
		return false
	}
	switch fields[0] {
	case "Chain":
		r.chain = fields[1]
		if len(fields) >= 4 && fields[2] == "(policy" && blocks(strings.TrimSuffix(fields[3], ")")) {
			r.keep(line, n)
		}
	case "-P":
		r.chain = fields[1]
		if len(fields) >= 3 && blocks(fields[2]) {
			r.keep(line, n)
		}
	case "-A":
		r.chain = fields[1]
		for i := 2; i+1 < len(fields); i++ {
			if fields[i] == "-j" && blocks(fields[i+1]) {
				r.keep(line, n)
			}
		}
	case "target", "pkts", "num":
	default:
		return r.listed(fields, line, n)
	}
	return true
}

// listed reads a rule of iptables -L, with numbers and counters before the target or without.
func (r *Rules) listed(fields []string, line []byte, n int) bool {
	if r.chain == "" {
		return false
	}
	for i, f := range fields[:min(len(fields), 4)] {
		if blocks(f) {
			r.keep(line, n)
			return true
		}
		if f[0] < '0' || f[0] > '9' {
			return i+2 < len(fields)
		}
	}
	return true
}

func blocks(target string) bool { return target == "REJECT" || target == "DROP" }

func (r *Rules) keep(line []byte, n int) {
	if !own(r.chain) || bytes.Contains(line, []byte("INVALID")) {
		return
	}
	if h := r.f.TheHost(); len(h.Filters) < MaxRules {
		h.Filters = append(h.Filters, r.f.At(n))
	}
}

// own tells whether a chain filters what comes to the host or leaves it: the built-in ones, and those firewalld and
// ufw hang below them.
func own(chain string) bool {
	for _, p := range [...]string{"INPUT", "OUTPUT", "IN_", "OUT_", "ufw-", "nixos-fw", "LIBVIRT_INP", "LIBVIRT_OUT"} {
		if strings.HasPrefix(chain, p) {
			return true
		}
	}
	return false
}
