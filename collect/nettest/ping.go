// Package nettest owns reading tests between two hosts that are not of RDMA's own tools: ping with a size, iperf3 and
// qperf. What they reach without the job tells a network that is slow from a job that does not use it.
//
// Read ping.go, then iperf.go and qperf.go.
package nettest

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxTests limits the tests kept of all inputs: every pair of 100 hosts.
const MaxTests = 1 << 14

// Ping reads ping of iputils, and the command before it:
//
//	$ ping -M do -s 8972 -c 3 192.0.2.2
//	PING 192.0.2.2 (192.0.2.2) 8972(9000) bytes of data.
//	8980 bytes from 192.0.2.2: icmp_seq=1 ttl=64 time=0.123 ms
//	ping: local error: message too long, mtu=1500
//	From 192.0.2.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)
//	3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2040ms
//	rtt min/avg/max/mdev = 0.110/0.123/0.140/0.012 ms
//
// The output does not say whether fragments were forbidden. The command does, and so does a refusal.
type Ping struct {
	f  *fragment.Fragment
	at int // index into Inv.MTUProbes, -1 before the first
	do bool
}

// NewPing makes a reader for one output.
func NewPing(f *fragment.Fragment) *Ping { return &Ping{f: f, at: -1} }

// StartsPing tells whether a line begins a run, or is the command of one that probes the MTU.
func StartsPing(line []byte) bool {
	return bytes.HasPrefix(line, []byte("PING ")) && bytes.Contains(line, []byte("bytes of data")) || command(line)
}

func command(line []byte) bool {
	t := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("$ ")), []byte("sudo "))
	return (bytes.HasPrefix(t, []byte("ping ")) || bytes.HasPrefix(t, []byte("ping6 "))) && bytes.Contains(t, []byte(" -M do"))
}

// Line reads one line; false means that it is not of ping.
func (p *Ping) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	switch {
	case command(line):
		p.do = true
	case strings.HasPrefix(t, "PING "):
		p.begin(t, n)
	case t == "" || p.at < 0:
		return t == ""
	case strings.Contains(t, "essage too long"), strings.Contains(t, "Frag needed and DF set"), strings.Contains(t, "Packet too big"):
		probe := p.probe()
		probe.TooLong, probe.DontFragment = true, true
		if v, ok := mtu(t); ok {
			probe.RouteMTU = evidence.Known(v, p.f.At(n))
		}
	case strings.Contains(t, " packets transmitted, "):
		p.counted(t, n)
	case strings.HasPrefix(t, "rtt min/avg/max"), strings.HasPrefix(t, "round-trip min/avg/max"):
		p.rtt(t, n)
	default:
		return strings.Contains(t, " bytes from ") || strings.HasPrefix(t, "From ") || strings.HasPrefix(t, "--- ") || strings.HasPrefix(t, "no answer yet") || strings.HasPrefix(t, "pipe ")
	}
	return true
}

func (p *Ping) probe() *evidence.MTUProbe { return &p.f.Inv.MTUProbes[p.at] }

// begin reads "PING node2 (192.0.2.2) from 192.0.2.1 ens3np0: 8972(9000) bytes of data."
func (p *Ping) begin(t string, n int) {
	if p.at = -1; len(p.f.Inv.MTUProbes) >= MaxTests {
		return
	}
	probe := evidence.MTUProbe{Host: p.f.Host, DontFragment: p.do, From: p.f.At(n)}
	p.do = false
	words := strings.Fields(t)
	if len(words) > 2 {
		probe.Target = strings.Trim(words[2], "()")
	}
	for _, w := range words {
		size, _, ok := strings.Cut(w, "(")
		if v, err := strconv.ParseUint(size, 10, 17); ok && err == nil {
			probe.Payload = int(v)
		}
	}
	for i, w := range words { // IPv6 prints "56 data bytes"
		if v, err := strconv.ParseUint(w, 10, 17); err == nil && i+1 < len(words) && words[i+1] == "data" {
			probe.Payload = int(v)
		}
	}
	p.at = len(p.f.Inv.MTUProbes)
	p.f.Inv.MTUProbes = append(p.f.Inv.MTUProbes, probe)
}

// mtu reads "mtu=1500" and "(mtu = 1500)".
func mtu(t string) (int, bool) {
	_, rest, ok := strings.Cut(t, "mtu")
	rest = strings.TrimLeft(rest, " =")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	v, err := strconv.ParseUint(rest[:end], 10, 17)
	return int(v), ok && err == nil
}

// counted reads "3 packets transmitted, 0 received, ...".
func (p *Ping) counted(t string, n int) {
	probe := p.probe()
	for part := range strings.SplitSeq(t, ",") {
		words := strings.Fields(part)
		if len(words) < 2 {
			continue
		}
		v, err := strconv.ParseUint(words[0], 10, 31)
		switch {
		case err != nil:
		case words[1] == "packets" && len(words) > 2 && words[2] == "transmitted":
			probe.Sent = evidence.Known(int(v), p.f.At(n))
		case words[len(words)-1] == "received": // "3 received", "3 packets received"
			probe.Received = evidence.Known(int(v), p.f.At(n))
		}
	}
}

// rtt reads "rtt min/avg/max/mdev = 0.110/0.123/0.140/0.012 ms".
func (p *Ping) rtt(t string, n int) {
	_, values, _ := strings.Cut(t, "= ")
	parts := strings.Split(values, "/")
	if len(parts) < 3 {
		return
	}
	if v, err := strconv.ParseFloat(parts[1], 64); err == nil && v >= 0 && v < 1e6 {
		p.probe().RTT = evidence.Known(units.Duration(v*float64(units.Millisecond)), p.f.At(n))
	}
}
