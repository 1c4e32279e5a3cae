package perftest

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

func read(t testing.TB, text string) []evidence.Perftest {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return inv.Perftests
}

func at(line int) evidence.Source { return evidence.Source{File: "f", Line: line} }

var values = cmp.Options{
	cmp.AllowUnexported(evidence.Value[int]{}, evidence.Value[string]{}, evidence.Value[bool]{}, evidence.Value[netip.Addr]{}),
	cmpopts.EquateComparable(netip.Addr{}),
}

// A test that could not begin says why, and with which addresses.
func TestRefused(t *testing.T) {
	got := read(t, ` Number of qps   : 1		Transport type : IB
 Link type       : Ethernet
 local address: LID 0000 QPN 0x003b PSN 0xab3a5e RKey 0x015b1a VAddr 0x007f72e9620000
 GID: 00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00
 remote address: LID 0000 QPN 0x003c PSN 0x65b096 RKey 0x014d0c VAddr 0x007fcb322d5000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:01
Failed to modify QP 59 to RTR
 Unable to Connect the HCA's through the link
$ ib_write_bw -d mlx5_0 192.0.2.1
Couldn't allocate MR
failed to create mr
 GID: 00:300:00:00:00:00:00:00:00:00:00:00:00:00:00:00
 GID: 1:2
`)
	want := []evidence.Perftest{
		{QPs: evidence.Known(1, at(1)), LinkLayer: evidence.Known("Ethernet", at(2)), LocalGID: evidence.Known(netip.IPv6Unspecified(), at(4)),
			RemoteGID: evidence.Known(netip.MustParseAddr("::ffff:192.0.2.1"), at(6)), Failed: evidence.Known("set up a QP", at(7)), From: at(1)},
		{Test: "ib_write_bw -d mlx5_0 192.0.2.1", Failed: evidence.Known("register memory", at(10)), From: at(10)},
	}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Error(diff)
	}
}

func TestBandwidth(t *testing.T) {
	got := read(t, `$ ib_write_bw -d mlx5_0 --use_cuda=0 --report_gbits 192.0.2.1
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 4		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 CQ Moderation   : 100
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
 rdma_cm QPs	 : ON
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0108 PSN 0x1f1f
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.10             391.90             0.747
---------------------------------------------------------------------------------------
`)
	want := []evidence.Perftest{{
		Test: "ib_write_bw -d mlx5_0 --use_cuda=0 --report_gbits 192.0.2.1", Device: "mlx5_0", QPs: evidence.Known(4, at(5)), MTU: evidence.Known(4096, at(8)), GIDIndex: evidence.Known(3, at(10)),
		LinkLayer: evidence.Known("Ethernet", at(9)), RDMACM: evidence.Known(true, at(11)), Connection: evidence.Known("RC", at(6)),
		Rows: []evidence.PerftestRow{{Bytes: 64 * units.KiB, Iterations: 5000, Peak: 392100 * units.Mbps, Average: 391900 * units.Mbps, From: at(15)}},
		From: at(3),
	}}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Error(diff)
	}
}

// MB/sec of old versions is 2^20 bytes a second, as MiB/sec of new ones; latencies are no rates.
func TestUnits(t *testing.T) {
	for unit, want := range map[string]units.Rate{"MB/sec": 100 * 8 << 20, "MiB/sec": 100 * 8 << 20, "Gb/sec": 100 * units.Gbps} {
		got := read(t, " #bytes     #iterations    BW peak["+unit+"]    BW average["+unit+"]   MsgRate[Mpps]\n 65536      1000   101.00   100.00   0.1\n")
		if len(got) != 1 || len(got[0].Rows) != 1 || got[0].Rows[0].Average != want {
			t.Errorf("%s: %+v, want %v", unit, got, want)
		}
	}
	if got := read(t, " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000          1.10           5.2          1.2\n"); len(got[0].Rows) != 0 {
		t.Errorf("latencies became rates: %+v", got)
	}
}

func TestFailure(t *testing.T) {
	got := read(t, " GID index       : 0\n Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n")
	want := []evidence.Perftest{{GIDIndex: evidence.Known(0, at(1)), Status: evidence.Known(12, at(3)), Syndrome: 0x81, From: at(1)}}
	if diff := cmp.Diff(want, got, values); diff != "" {
		t.Error(diff)
	}
}

func TestConflictingFrequency(t *testing.T) {
	got := read(t, "Conflicting CPU frequency values detected: 3645.037000 != 4299.667000. CPU Frequency is not max.\n")
	if len(got) != 1 || got[0].Conflict != at(1) || got[0].Status.Known() {
		t.Errorf("%+v", got)
	}
}

// The unit of the bandwidths is not told, the rate of messages is enough.
func TestRead(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	text := `{"test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_0", "Number_of_qps": 2, "Connection_type": "RC", "Mtu": 4096, "Link_type": "IB", "GID_index": 3, "rdma_cm_QPs": "OFF"},
"results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 46800.0, "BW_average": 46720.0, "MsgRate": 0.747520}}`
	if err := Read(f, []byte(text), 2); err != nil {
		t.Fatal(err)
	}
	p := inv.Perftests[0]
	if p.Test != "RDMA Write BW Test" || p.Device != "mlx5_0" || p.QPs.Or(0) != 2 || p.MTU.Or(0) != 4096 || p.GIDIndex.Or(0) != 3 || p.LinkLayer.Or("") != "InfiniBand" || p.RDMACM.Or(true) || len(p.Rows) != 1 {
		t.Fatalf("%+v", p)
	}
	if r := p.Rows[0]; r.Bytes != 65536 || r.Iterations != 5000 || r.Average != 391915765760 || r.Peak < r.Average {
		t.Errorf("%+v", r)
	}
	if err := Read(f, []byte(`{"test_info":{"test":"Send_BW_Test"},"results":{"bw_avg":391.9}}`), 1); err == nil || len(inv.Perftests[1].Rows) != 0 {
		t.Errorf("a rate out of an unknown unit: %v, %+v", err, inv.Perftests[1])
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"test_info":{"Mtu":1},"results":{"MsgSize":1e99,"MsgRate":1e99,"BW_peak":-1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = Read(fragment.New(&evidence.Inventory{}, "f"), text, 1) // an error is one of the answers
	})
}

func FuzzParse(f *testing.F) {
	f.Add(" RDMA_Write BW Test\n Mtu : 4096[B]\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] M\n 65536 1 1e300 nan 1\nFailed status 12: x syndrom 0xzz")
	f.Add(" #bytes BW average[MB/sec]\n 1 2 3 4")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range read(t, text) {
			for _, r := range p.Rows {
				if r.Average < 0 || r.Peak < 0 {
					t.Fatalf("%+v", r)
				}
			}
		}
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}

// What a test is started by says where it ran; the test is told all the same, and options of other programs are none.
func TestStartedBy(t *testing.T) {
	for line, want := range map[string]bool{
		"ib_write_bw -d mlx5_0 node2": true, "numactl --cpunodebind=1 --membind=1 ib_write_bw -d mlx5_0 node2": true, "# numactl -N 0 -m 0 ib_read_bw node2": true,
		"taskset -c 3 ib_send_bw": true, "CUDA_VISIBLE_DEVICES=0 ib_write_bw --use_cuda=0": true, "sudo ib_write_bw": true,
		"numactl -H": false, "numactl --cpunodebind=1": false, "cat ib_write_bw": false, "": false, "-c": false, "a=b": false,
	} {
		if got := command(line); got != want {
			t.Errorf("%q runs a test: %v", line, got)
		}
	}
}
