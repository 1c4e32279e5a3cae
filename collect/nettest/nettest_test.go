package nettest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line(line []byte, n int) bool }

func read(t testing.TB, open func(*fragment.Fragment) reader, text string) *evidence.Inventory {
	t.Helper()
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "node1"
	r := open(f)
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		n++
		if !r.Line([]byte(line), n) {
			t.Errorf("%q is not taken", line)
		}
	}
	if e, ok := r.(interface{ End() }); ok {
		e.End()
	}
	return inv
}

func TestPing(t *testing.T) {
	inv := read(t, func(f *fragment.Fragment) reader { return NewPing(f) }, `ping -M do -s 8972 -c 3 192.0.2.2
PING 192.0.2.2 (192.0.2.2) 8972(9000) bytes of data.
8980 bytes from 192.0.2.2: icmp_seq=1 ttl=64 time=0.123 ms

--- 192.0.2.2 ping statistics ---
3 packets transmitted, 3 received, 0% packet loss, time 2040ms
rtt min/avg/max/mdev = 0.110/0.123/0.140/0.012 ms
PING node3 (192.0.2.3) from 192.0.2.1 ens3np0: 8972(9000) bytes of data.
ping: local error: message too long, mtu=1500
3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2040ms
PING 192.0.2.4 (192.0.2.4) 4000(4028) bytes of data.
From 192.0.2.9 icmp_seq=1 Frag needed and DF set (mtu = 1480)
PING 192.0.2.5 (192.0.2.5) 56(84) bytes of data.
`)
	var got []string
	for _, p := range inv.MTUProbes {
		passed, ok := p.Passed()
		got = append(got, fmt.Sprint(p.Target, " ", p.Payload, " ", p.DontFragment, " ", p.Sent, " ", p.Received, " ", p.TooLong, " ", p.RouteMTU, " ", p.RTT, " ", passed, ok))
	}
	want := []string{
		"192.0.2.2 8972 true 3 3 false unknown 123us true true", "192.0.2.3 8972 true 3 0 true 1500 unknown false true",
		"192.0.2.4 4000 true unknown unknown true 1480 unknown false true", "192.0.2.5 56 false unknown unknown false unknown unknown false false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func show(inv *evidence.Inventory) (out []string) {
	for _, n := range inv.NetTests {
		out = append(out, fmt.Sprint(n.Tool, " ", n.Test, " ", n.Host, ">", n.Peer, " ", n.Rate, " ", n.Latency, " retr ", n.Retransmits, " streams ", n.Streams, " ", n.Failed))
	}
	return out
}

func TestIperf(t *testing.T) {
	inv := read(t, func(f *fragment.Fragment) reader { return NewIperf(f) }, `Connecting to host 192.0.2.2, port 5201
[  5] local 192.0.2.1 port 41222 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.09 GBytes  9.38 Gbits/sec    0   1.5 MBytes
- - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  10.9 GBytes  9.37 Gbits/sec   12             sender
[  5]   0.00-10.04  sec  10.9 GBytes  9.33 Gbits/sec                  receiver

Connecting to host 192.0.2.3, port 5201
[  5]   0.00-10.00  sec  10.9 GBytes  9.0 Gbits/sec   12             sender
[SUM]   0.00-10.00  sec  43.6 GBytes  37.4 Gbits/sec  210             sender
[SUM]   0.00-10.00  sec  43.6 GBytes  37.2 Gbits/sec                  receiver
Connecting to host 192.0.2.4, port 5201
iperf3: error - unable to connect to server: Connection refused
`)
	want := []string{
		"iperf3 tcp node1>192.0.2.2 9.33Gbps unknown retr 12 streams unknown ", "iperf3 tcp node1>192.0.2.3 37.2Gbps unknown retr 210 streams unknown ",
		"iperf3 tcp node1>192.0.2.4 unknown unknown retr unknown streams unknown unable to connect to server: Connection refused",
	}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Error(diff)
	}
}

func TestReadIperf(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "node1"
	for _, text := range []string{
		`{"start":{"connected":[{"remote_host":"192.0.2.2"}],"test_start":{"protocol":"TCP","num_streams":8,"blksize":131072}},"end":{"sum_sent":{"bits_per_second":9.4e9,"retransmits":17},"sum_received":{"bits_per_second":9.3e9}}}`,
		`{"start":{},"end":{},"error":"unable to connect"}`,
	} {
		if err := ReadIperf(f, []byte(text), 1); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"iperf3 tcp node1>192.0.2.2 9.3Gbps unknown retr 17 streams 8 ", "iperf3  node1> unknown unknown retr unknown streams unknown unable to connect"}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Error(diff)
	}
}

func TestQperf(t *testing.T) {
	inv := read(t, func(f *fragment.Fragment) reader { return NewQperf(f) }, "qperf -t 10 192.0.2.2 tcp_bw rc_rdma_write_lat\ntcp_bw:\n    bw  =  4.5 GB/sec\nrc_rdma_write_lat:\n    latency  =  1.9 us\n")
	want := []string{"qperf tcp_bw node1>192.0.2.2 36Gbps unknown retr unknown streams unknown ", "qperf rc_rdma_write_lat node1>192.0.2.2 unknown 1.9us retr unknown streams unknown "}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Error(diff)
	}
}

func TestStarts(t *testing.T) {
	for _, line := range []string{"ping is fine", "PING pong", "tcp_bw", "my_bw:", "tcp_x:", "[ ID] x", "Connecting to host x"} {
		if StartsPing([]byte(line)) || StartsQperf([]byte(line)) || StartsIperf([]byte(line)) {
			t.Errorf("%q begins a test", line)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("PING a (b) 1(2) bytes of data.\nx mtu=99999999\n1 packets transmitted, 1 received\nrtt min/avg/max/mdev = 1/2/3/4 ms"))
	f.Add([]byte("Connecting to host a, port 1\n[SUM] 9 Gbits/sec 1 sender\ntcp_bw:\n bw = 1e99 GB/sec\n latency = 1e99 sec\nqperf a"))
	f.Add([]byte(`{"start":{"connected":[]},"end":{"sum":{"bits_per_second":1e300}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		i := NewIperf(fr)
		readers := []reader{NewPing(fr), i, NewQperf(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsPing(line)
			StartsIperf(line)
			StartsQperf(line)
			for _, r := range readers {
				r.Line(line, 1)
			}
		}
		i.End()
		_ = ReadIperf(fr, text, 1) // an error is one of the answers
	})
}
