package source

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

var addresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestCSV(t *testing.T) {
	s, err := CSV("f.csv", strings.NewReader("\ufeffdst, SRC,proto,sport,dport,qpn,bytes,conn\n"+
		"# a comment\n192.0.2.9,192.0.2.1,udp,49152,4791,0x11,8MiB,a\n"+
		"2001:db8::2,2001:db8::1,tcp,40000,443,,0,b\n192.0.2.9,::ffff:192.0.2.1,17,49153,4791,18,100,a\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := netip.MustParseAddr
	want := []ecmp.Flow{
		{Src: a("192.0.2.1"), Dst: a("192.0.2.9"), Protocol: 17, SrcPort: 49152, DstPort: 4791, QPN: 17, Bytes: 8 << 20},
		{Src: a("2001:db8::1"), Dst: a("2001:db8::2"), Protocol: 6, SrcPort: 40000, DstPort: 443, Conn: 1},
		{Src: a("192.0.2.1"), Dst: a("192.0.2.9"), Protocol: 17, SrcPort: 49153, DstPort: 4791, QPN: 18, Bytes: 100},
	}
	if diff := cmp.Diff(want, s.Flows, addresses); diff != "" {
		t.Error(diff)
	}
	if s.Known != ecmp.FiveTuple|ecmp.QPN || s.Modelled != 0 || !s.Bytes || len(s.Notes) != 0 {
		t.Errorf("known %s, modelled %s, bytes %v, notes %q", s.Known, s.Modelled, s.Bytes, s.Notes)
	}
}

// Of a file that tells the ends alone the rest is put in by rule, and never passes for read.
func TestCSVOfEndsAlone(t *testing.T) {
	s, err := CSV("f.csv", strings.NewReader("src,dst\n192.0.2.1,192.0.2.2\n192.0.2.1,192.0.2.3\n192.0.2.2,192.0.2.1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Known != ecmp.SrcIP|ecmp.DstIP || s.Modelled != ecmp.Protocol|ecmp.SrcPort|ecmp.DstPort|ecmp.QPN || s.Bytes || len(s.Notes) != 2 {
		t.Errorf("known %s, modelled %s, bytes %v, notes %q", s.Known, s.Modelled, s.Bytes, s.Notes)
	}
	f := s.Flows
	if !f[0].RoCE() || f[0].SrcPort < 0xc000 || f[0].QPN == 0 || f[0].SrcPort == f[1].SrcPort {
		t.Errorf("%+v", f)
	}
	// 192.0.2.1 opened two QPs before the third flow's: its numbers count up, and both ends of a flow have one port.
	if want := route.SourcePort(f[0].QPN+1, f[2].QPN); f[2].SrcPort != want {
		t.Errorf("the third flow has port %d, not %d", f[2].SrcPort, want)
	}
}

// Every mistake is told with its place.
func TestCSVMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"src,dst,sport\n192.0.2.1,x,70000\n192.0.2.1\n", "f.csv:2:11: dst: \"x\" is no IP address\nf.csv:2:13: sport: \"70000\" is no number from 0 to 65535\n" +
			"f.csv:3:1: the line has 1 of 3 columns: dst is missing\nf.csv:3:1: the line has 1 of 3 columns: sport is missing"},
		{"src,dst,vlan,src\n", "f.csv:1:3: there is no column \"vlan\"; write some of src, dst, proto, sport, dport, qpn, bytes, conn\nf.csv:1:4: the column src is there twice"},
		{"src,proto\n192.0.2.1,udp\n", "f.csv:1:1: a column dst is missing"},
		{"src,dst,proto,bytes,qpn\n192.0.2.1,192.0.2.2,roce,many,16777216\n", "f.csv:2:21: proto: \"roce\" is no protocol; write udp, tcp or a number\n" +
			"f.csv:2:26: bytes: \"many\" are no bytes; write 8388608 or 8MiB\nf.csv:2:31: qpn: \"16777216\" is no number from 0 to 16777215"},
		{"src,dst\n\"192.0.2.1,192.0.2.2\n", "f.csv:2:22: extraneous or missing \" in quoted-field"},
	} {
		_, err := CSV("f.csv", strings.NewReader(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
	if StartsCSV([]byte("src address\n")) || !StartsCSV([]byte("\ufeff\"Src\", dst\r\n")) {
		t.Error("the header is not told from other text")
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("src,dst,proto,sport,dport,qpn,bytes,conn\n192.0.2.1,2001:db8::1,udp,1,4791,3,4KiB,a\n"))
	f.Add([]byte("src,dst\n::1%lo,::1\n"))
	f.Add([]byte("dst,src\n\"\n"))
	f.Add([]byte("src,dst,src\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := CSV("f.csv", bytes.NewReader(text))
		if err != nil {
			return
		}
		if len(s.Flows) > bytes.Count(text, []byte("\n"))+bytes.Count(text, []byte("\r")) {
			t.Fatalf("%d flows out of %q", len(s.Flows), text)
		}
		for _, x := range s.Flows {
			if !x.Src.IsValid() || !x.Dst.IsValid() || x.Bytes < 0 || x.QPN > 0xffffff {
				t.Fatalf("%+v", x)
			}
		}
	})
}

// captured is a capture of two QPs, one of them with an acknowledgement, and of TCP.
func captured(t testing.TB) (file []byte, frames [][]byte) {
	t.Helper()
	var b bytes.Buffer
	w, err := packet.NewWriter(&b, packet.PCAP, packet.LinkEthernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, z := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	roce := func(src, dst netip.Addr, sport uint16, op packet.Opcode, qp uint32, payload int) []byte {
		p := packet.Packet{IP: packet.IPHeader{Src: src, Dst: dst, TTL: 64, Protocol: packet.ProtocolUDP}, SrcPort: sport,
			BTH: packet.BTHHeader{Opcode: op, QP: qp}}
		p.Payload = make([]byte, payload)
		if op.Operation() == packet.Acknowledge {
			p.Headers = packet.AppendAETH(nil, packet.SyndromeACK, 1)
		}
		return packet.AppendFrame(nil, p)
	}
	frames = [][]byte{
		roce(a, z, 50000, packet.RC|packet.SendOnly, 7, 1024),
		roce(a, z, 50000, packet.RC|packet.SendOnly, 7, 1024),
		roce(z, a, 50000, packet.RC|packet.Acknowledge, 9, 0),
		roce(a, z, 50001, packet.RC|packet.SendOnly, 8, 64),
		packet.AppendOther(nil, packet.MAC{}, packet.MAC{}, packet.IPHeader{Src: z, Dst: a, TTL: 64, Protocol: packet.ProtocolTCP}, 443, 40000, 10),
	}
	for _, f := range frames {
		if err := w.Write(0, f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes(), frames
}

func TestCapture(t *testing.T) {
	file, frames := captured(t)
	s, err := Capture(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	a, z := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	want := []ecmp.Flow{
		{Src: a, Dst: z, Protocol: 17, SrcPort: 50000, DstPort: 4791, QPN: 7, Bytes: units.Bytes(2 * len(frames[0]))},
		{Src: a, Dst: z, Protocol: 17, SrcPort: 50001, DstPort: 4791, QPN: 8, Bytes: units.Bytes(len(frames[3])), Conn: 1},
		{Src: z, Dst: a, Protocol: 6, SrcPort: 443, DstPort: 40000, Bytes: units.Bytes(len(frames[4])), Conn: 2},
	}
	if diff := cmp.Diff(want, s.Flows, addresses); diff != "" {
		t.Error(diff)
	}
	if len(s.Notes) != 2 || !strings.HasPrefix(s.Notes[0], "1 acknowledgements") {
		t.Errorf("notes %q", s.Notes)
	}
	cut, err := Capture(bytes.NewReader(file[:len(file)-5]))
	if err != nil || len(cut.Flows) != 2 || !slices.ContainsFunc(cut.Notes, func(n string) bool { return strings.Contains(n, "not read to its end, after frame 4") }) {
		t.Errorf("cut off: %d flows, notes %q, %v", len(cut.Flows), cut.Notes, err)
	}
}

func FuzzCapture(f *testing.F) {
	file, _ := captured(f)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Capture(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, x := range s.Flows {
			if !x.Src.IsValid() || !x.Dst.IsValid() || x.Bytes < 0 {
				t.Fatalf("%+v", x)
			}
		}
	})
}

// load reads texts as files of a cluster.
func load(t *testing.T, text string) *evidence.Inventory {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.log")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	inv, _, err := collect.Load([]string{file}, collect.Options{Connections: true})
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

const ncclLog = `node1:10:11 [0] NCCL INFO NCCL_IB_QPS_PER_CONNECTION set by environment to 2.
node1:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
node2:20:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0/GDRDMA
node2:20:21 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/1/GDRDMA
node1:10:11 [0] NCCL INFO Channel 01/0 : 2[2] -> 0[0] [receive] via NET/IB/1/GDRDMA
node1:10:11 [0] NCCL INFO Channel 02/0 : 0[0] -> 9[1] [send] via NET/AWS Libfabric/0
node1:10:11 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 59 mtu 5 query_ece={supported=1, options=0x3} GID 3 (0/010200C0FFFF0000)
`

func TestNCCLLog(t *testing.T) {
	s := NCCL(load(t, ncclLog), NCCLOptions{})
	if len(s.Flows) != 6 || s.QPs != 2 {
		t.Fatalf("%d flows, %d QPs a connection", len(s.Flows), s.QPs)
	}
	type ends struct{ src, dst string }
	var got []ends
	for _, f := range s.Flows {
		if !f.RoCE() || f.QPN == 0 || f.SrcPort < 0xc000 {
			t.Errorf("%+v", f)
		}
		got = append(got, ends{f.Src.String(), f.Dst.String()})
	}
	// Device 0 of node1 has its GID in the log: 192.0.2.1. The others are made up, by host and device.
	want := []ends{{"192.0.2.1", "198.18.0.1"}, {"192.0.2.1", "198.18.0.1"}, {"198.18.1.1", "198.18.1.2"}, {"198.18.1.1", "198.18.1.2"},
		{"198.18.1.3", "198.18.1.2"}, {"198.18.1.3", "198.18.1.2"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(ends{})); diff != "" {
		t.Error(diff)
	}
	if s.Known != ecmp.Protocol|ecmp.DstPort || s.Modelled != ecmp.SrcIP|ecmp.DstIP|ecmp.SrcPort|ecmp.QPN {
		t.Errorf("known %s, modelled %s", s.Known, s.Modelled)
	}
	for _, note := range []string{"1 ends of connections via NET/AWS Libfabric", "of 2 connections one end alone", "the addresses of 4 of 5 devices", "does not tell source ports"} {
		if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, note) }) {
			t.Errorf("no note says %q: %q", note, s.Notes)
		}
	}
	if more := NCCL(load(t, ncclLog), NCCLOptions{QPs: 4}); len(more.Flows) != 12 {
		t.Errorf("%d flows with 4 QPs", len(more.Flows))
	}
}

func TestNCCLOverSockets(t *testing.T) {
	s := NCCL(load(t, "node1:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"), NCCLOptions{})
	if len(s.Flows) != 1 || s.Flows[0].Protocol != packet.ProtocolTCP || s.Flows[0].QPN != 0 || s.Flows[0].DstPort < 32768 {
		t.Errorf("%+v", s.Flows)
	}
}

func TestManyHostsHaveAddressesOfTheirOwn(t *testing.T) {
	l := newPlaces(&evidence.Inventory{})
	seen := map[netip.Addr]bool{}
	for h := range 2000 {
		for d := range 8 {
			a := l.address(port{fmt.Sprint("node", h), d})
			if seen[a] {
				t.Fatalf("%v twice", a)
			}
			seen[a] = true
		}
	}
}

func TestSockets(t *testing.T) {
	inv := load(t, "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"+
		"ESTAB 0      0      192.0.2.1:45678    192.0.2.2:29500\n\t cubic bytes_acked:100 bytes_received:7\n"+
		"ESTAB 0      0      192.0.2.2:29500    192.0.2.1:45678\n\t cubic bytes_acked:6 bytes_received:90\n"+
		"ESTAB 0      0      127.0.0.1:45678    127.0.0.1:29500\n")
	s := Sockets(inv)
	a, z := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	want := []ecmp.Flow{
		{Src: a, Dst: z, Protocol: 6, SrcPort: 45678, DstPort: 29500, Bytes: 100},
		{Src: z, Dst: a, Protocol: 6, SrcPort: 29500, DstPort: 45678, Bytes: 7},
	}
	if diff := cmp.Diff(want, s.Flows, addresses); diff != "" || !s.Bytes {
		t.Errorf("bytes known: %v\n%s", s.Bytes, diff)
	}
	some := Sockets(load(t, "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 0 192.0.2.1:45678 192.0.2.2:29500\n"))
	if some.Bytes || len(some.Flows) != 2 || !slices.ContainsFunc(some.Notes, func(n string) bool { return strings.Contains(n, "not known of all") }) {
		t.Errorf("%+v", some)
	}
}
