package ss

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

func parse(text string) *evidence.Inventory {
	inv := &evidence.Inventory{}
	r := New(fragment.New(inv, "f"))
	for i, line := range strings.Split(text, "\n") {
		if !r.Line([]byte(line), i+1) {
			break
		}
	}
	r.End()
	return inv
}

// equal compares sockets but for where they were read.
func equal(t *testing.T, got, want []evidence.Socket) {
	t.Helper()
	value := cmp.Comparer(func(a, b evidence.Value[units.Bytes]) bool {
		x, okA := a.Get()
		y, okB := b.Get()
		return x == y && okA == okB
	})
	ends := cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })
	if diff := cmp.Diff(want, got, value, ends, cmpopts.IgnoreFields(evidence.Socket{}, "From")); diff != "" {
		t.Error(diff)
	}
}

func sent(n units.Bytes) evidence.Value[units.Bytes] { return evidence.Known(n, evidence.Source{}) }

const all = `Netid State     Recv-Q Send-Q              Local Address:Port      Peer Address:Port Process
udp   UNCONN    0      0                         0.0.0.0:4791           0.0.0.0:*
udp   ESTAB     0      0           192.0.2.1%ens3np0:5353         192.0.2.2:5353  users:(("agent",pid=9,fd=4))
tcp   LISTEN    0      4096                      0.0.0.0:29500          0.0.0.0:* users:(("python3",pid=4711,fd=30))
tcp   ESTAB     0      0               192.0.2.1:45678         192.0.2.2:29500    users:(("python3",pid=4711,fd=31),("python3",pid=4712,fd=31))
tcp   ESTAB     0      0      [::ffff:192.0.2.1]:45680  [::ffff:192.0.2.3]:29500
tcp   TIME-WAIT 0      0         [2001:db8::1]:50000     [2001:db8::2]:443
u_str ESTAB     0      0      /run/systemd/journal/stdout 20411                 * 20410
tcp   ESTAB     0      0               node1:45682         node2:ssh
`

func TestAllKinds(t *testing.T) {
	inv := parse(all)
	at := netip.MustParseAddrPort
	equal(t, inv.Sockets, []evidence.Socket{
		{Protocol: "udp", State: "ESTAB", Local: at("192.0.2.1:5353"), Peer: at("192.0.2.2:5353"), Process: "agent"},
		{Protocol: "tcp", State: "ESTAB", Local: at("192.0.2.1:45678"), Peer: at("192.0.2.2:29500"), Process: "python3"},
		{Protocol: "tcp", State: "ESTAB", Local: at("192.0.2.1:45680"), Peer: at("192.0.2.3:29500")},
		{Protocol: "tcp", State: "TIME-WAIT", Local: at("[2001:db8::1]:50000"), Peer: at("[2001:db8::2]:443")},
	})
	if len(inv.Unreadable) != 1 || !strings.HasPrefix(inv.Unreadable[0].Why, "1 sockets have names") || inv.Unreadable[0].From.Line != 9 {
		t.Errorf("unreadable: %+v", inv.Unreadable)
	}
}

// ss -tin has no column for the kind; the counters stand on a line of their own. bytes_acked is what arrived, and what counts where both are told.
func TestCounters(t *testing.T) {
	inv := parse("State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n" +
		"ESTAB 0      0      192.0.2.1:45678    192.0.2.2:29500\n" +
		"\t cubic wscale:7,7 rto:204 rtt:0.2/0.1 bytes_sent:8389000 bytes_retrans:392 bytes_acked:8388608 bytes_received:1024 segs_out:6000 send 93.1Gbps\n" +
		"ESTAB 0      0      192.0.2.1:45680    192.0.2.3:29500\n" +
		"\t cubic rto:204 bytes_sent:77\n" +
		"ESTAB 0      0      192.0.2.1:45682    192.0.2.3:29501 timer:(keepalive,1min,0) cubic bytes_received:5 lastsnd:8\n")
	at := netip.MustParseAddrPort
	equal(t, inv.Sockets, []evidence.Socket{
		{Protocol: "tcp", State: "ESTAB", Local: at("192.0.2.1:45678"), Peer: at("192.0.2.2:29500"), Sent: sent(8388608), Received: sent(1024)},
		{Protocol: "tcp", State: "ESTAB", Local: at("192.0.2.1:45680"), Peer: at("192.0.2.3:29500"), Sent: sent(77)},
		{Protocol: "tcp", State: "ESTAB", Local: at("192.0.2.1:45682"), Peer: at("192.0.2.3:29501"), Received: sent(5)},
	})
}

func TestEndsWhereSomethingElseBegins(t *testing.T) {
	r := New(fragment.New(&evidence.Inventory{}, "f"))
	for _, line := range strings.Split(strings.TrimSpace(all), "\n") {
		if !r.Line([]byte(line), 1) {
			t.Fatalf("%q is a line of ss", line)
		}
	}
	if r.Line([]byte("mlx5_0:1 is up"), 2) {
		t.Error("another output is taken for a line of ss")
	}
	if Starts([]byte("State of the network")) {
		t.Error("prose is taken for a head")
	}
}

func FuzzSockets(f *testing.F) {
	f.Add([]byte(all))
	f.Add([]byte("State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 [::1]:1 [::1%lo]:2 users:((\"\n bytes_acked:-1 bytes_sent:99999999999999999999\n"))
	f.Add([]byte("ESTAB 0 0 : :\n bytes_sent:1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := parse(string(text))
		if len(inv.Sockets) > strings.Count(string(text), "\n")+1 {
			t.Fatalf("%d sockets out of %q", len(inv.Sockets), text)
		}
		for _, s := range inv.Sockets {
			if !s.Local.IsValid() || !s.Peer.IsValid() {
				t.Fatalf("a socket without an end: %+v", s)
			}
		}
	})
}
