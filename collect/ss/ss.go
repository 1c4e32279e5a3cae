// Package ss owns reading what ss of iproute2 prints of sockets (misc/ss.c): one line a socket, and with -i a second, indented
// one with what TCP knows. Only sockets with a peer are kept. It leaves what they mean to those who look at evidence.
package ss

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxSockets limits the sockets kept of one input. NCCL over sockets opens up to 64 a peer and rank; net.ipv4.ip_local_port_range leaves
// 28 232 ports to a host and peer.
const MaxSockets = 1 << 17

// Sockets reads the outputs of ss, ss -t, ss -tunap, ss -ti and the like:
//
//	Netid State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
//	tcp   ESTAB  0      0      192.0.2.1:45678     192.0.2.2:29500   users:(("python3",pid=4711,fd=30))
//		 cubic wscale:7,7 rto:204 rtt:0.2/0.1 bytes_sent:8388608 bytes_acked:8388608 bytes_received:1024 segs_out:6000
//
// The column Netid is there only when several kinds of socket are asked for; without it they are TCP, which is what -i and
// the states say. Names in place of numbers (without -n) cannot be hashed and are counted.
type Sockets struct {
	f      *fragment.Fragment
	netid  bool // lines begin with the kind
	last   int  // the socket that the next indented line is of, as its place in the inventory and one; 0 is none
	named  int
	past   int
	first  int // line of the first that was not kept
	header bool
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Sockets { return &Sockets{f: f} }

// Starts tells whether a line is the head of an output.
func Starts(line []byte) bool {
	words := bytes.Fields(line)
	if len(words) > 0 && string(words[0]) == "Netid" {
		words = words[1:]
	}
	return len(words) >= 6 && string(words[0]) == "State" && string(words[1]) == "Recv-Q" && string(words[2]) == "Send-Q" && string(words[3]) == "Local" &&
		bytes.HasPrefix(words[4], []byte("Address:Port"))
}

// states are those of ss, of sockets that may have a peer and of others.
var states = map[string]bool{
	"ESTAB": true, "SYN-SENT": true, "SYN-RECV": true, "FIN-WAIT-1": true, "FIN-WAIT-2": true, "TIME-WAIT": true, "UNCONN": true,
	"CLOSE-WAIT": true, "LAST-ACK": true, "LISTEN": true, "CLOSING": true, "CLOSED": true, "UNKNOWN": true,
}

// Line reads one line; false means that it is no line of ss.
func (r *Sockets) Line(line []byte, n int) bool {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return true
	case Starts(line):
		if r.header && r.netid != bytes.HasPrefix(bytes.TrimSpace(line), []byte("Netid")) {
			r.last = 0
		}
		r.header, r.netid = true, bytes.HasPrefix(bytes.TrimSpace(line), []byte("Netid"))
		return true
	case line[0] == ' ' || line[0] == '\t':
		if r.last > 0 {
			r.inner(line)
		}
		return r.header
	}
	return r.socket(line, n)
}

// socket reads the line of a socket.
func (r *Sockets) socket(line []byte, n int) bool {
	words := strings.Fields(string(line))
	kind := "tcp"
	if r.netid && len(words) > 0 {
		kind, words = words[0], words[1:]
	}
	if len(words) < 4 || !states[words[0]] || !counts(words[1]) || !counts(words[2]) {
		return r.netid && len(words) >= 4 && other[kind]
	}
	r.last = 0
	if kind != "tcp" && kind != "udp" || len(words) < 5 {
		return true
	}
	local, okLocal := endpoint(words[3])
	peer, okPeer := endpoint(words[4])
	switch {
	case strings.HasSuffix(words[4], ":*") || words[0] == "LISTEN":
		return true // it waits for a peer
	case !okLocal || !okPeer:
		r.named++
		r.note(n)
		return true
	case len(r.f.Inv.Sockets) >= MaxSockets:
		r.past++
		r.note(n)
		return true
	}
	r.f.Inv.Sockets = append(r.f.Inv.Sockets, evidence.Socket{Host: r.f.Host, Protocol: kind, State: words[0], Local: local, Peer: peer,
		Process: process(words[5:]), From: r.f.At(n)})
	r.last = len(r.f.Inv.Sockets)
	r.counters(words[5:])
	return true
}

// other are kinds of socket that are no TCP or UDP (ss.c, with --all).
var other = map[string]bool{
	"nl": true, "p_raw": true, "p_dgr": true, "u_str": true, "u_dgr": true, "u_seq": true, "raw": true, "icmp6": true, "dccp": true, "sctp": true, "v_str": true,
	"v_dgr": true, "ti_rd": true, "ti_sq": true, "xdp": true, "mptcp": true, "???": true,
}

func (r *Sockets) note(n int) {
	if r.first == 0 {
		r.first = n
	}
}

func counts(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}

// endpoint reads "192.0.2.1:80", "[2001:db8::1]:80", "192.0.2.1%eth0:80" and "[::ffff:192.0.2.1]:80".
func endpoint(word string) (netip.AddrPort, bool) {
	i := strings.LastIndexByte(word, ':')
	if i < 0 {
		return netip.AddrPort{}, false
	}
	host := word[:i]
	port, err := strconv.ParseUint(word[i+1:], 10, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(inner, "]")
	}
	host, _, _ = strings.Cut(host, "%")
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(port)), true
}

// process is the name in users:(("python3",pid=4711,fd=30)).
func process(words []string) string {
	for _, w := range words {
		if rest, ok := strings.CutPrefix(w, `users:(("`); ok {
			name, _, ok := strings.Cut(rest, `"`)
			if ok {
				return name
			}
		}
	}
	return ""
}

// inner reads the indented line of a socket.
func (r *Sockets) inner(line []byte) { r.counters(strings.Fields(string(line))) }

// counters reads the counters of tcp_info. bytes_acked is older than bytes_sent (kernels 4.1 and 4.19), and is what reached the peer.
func (r *Sockets) counters(words []string) {
	x := &r.f.Inv.Sockets[r.last-1]
	for _, w := range words {
		name, text, ok := strings.Cut(w, ":")
		if !ok {
			continue
		}
		switch name {
		case "bytes_acked", "bytes_received":
		case "bytes_sent":
			if x.Sent.Known() {
				continue
			}
		default:
			continue
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < 0 {
			continue
		}
		if name == "bytes_received" {
			x.Received = evidence.Known(units.Bytes(v), x.From)
		} else {
			x.Sent = evidence.Known(units.Bytes(v), x.From)
		}
	}
}

// End tells what was not kept.
func (r *Sockets) End() {
	for _, x := range []struct {
		n   int
		why string
	}{{r.named, " sockets have names for addresses or ports; ss -n prints numbers"}, {r.past, " sockets are past the limit of " + strconv.Itoa(MaxSockets)}} {
		if x.n > 0 {
			r.f.Inv.Unreadable = append(r.f.Inv.Unreadable, evidence.Unreadable{From: r.f.At(r.first), Why: strconv.Itoa(x.n) + x.why})
		}
	}
	r.named, r.past = 0, 0
}
