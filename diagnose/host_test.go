package diagnose

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

func withNCCL(n evidence.NCCL) *View {
	v := emptyView()
	v.Inv.NCCL = n
	return v
}

func TestReleases(t *testing.T) {
	banner := func(versions ...string) evidence.NCCL {
		var n evidence.NCCL
		for _, s := range versions {
			n.Versions = append(n.Versions, evidence.VersionSeen{Version: s})
		}
		return n
	}
	for _, tc := range []struct {
		name         string
		nccl         evidence.NCCL
		least220     answer
		sparseBroken answer
	}{
		{"nothing", evidence.NCCL{}, unknown, unknown},
		{"old", banner("2.8.3"), no, no},
		{"between", banner("2.23.4"), yes, yes},
		{"new", banner("2.26.2"), yes, no},
		{"mixed", banner("2.19.3", "2.22.3"), unknown, yes},
		{"with CUDA", banner("2.20.3+cuda12.4"), yes, no},
		{"line forms, lower bound", evidence.NCCL{Oldest: "2.23.4"}, yes, unknown},
		{"line forms, both", evidence.NCCL{Oldest: "2.21.5", Newest: "2.24"}, yes, yes},
		{"upper bound without a patch", evidence.NCCL{Newest: "2.19"}, no, no},
		{"before", evidence.NCCL{Newest: "before 2.20.0"}, no, no},
		{"not a version", banner("master"), unknown, unknown},
	} {
		b := withNCCL(tc.nccl).nccl()
		if got := b.atLeast(2, 20); got != tc.least220 {
			t.Errorf("%s: at least 2.20: %d, want %d (%+v)", tc.name, got, tc.least220, b)
		}
		if got := b.some(221, 226); got != tc.sparseBroken {
			t.Errorf("%s: 2.21 to 2.25: %d, want %d (%+v)", tc.name, got, tc.sparseBroken, b)
		}
	}
}

func TestMatchesHCA(t *testing.T) {
	for _, tc := range []struct {
		value, device string
		port          int
		want          bool
	}{
		{"mlx5", "mlx5_0", 1, true},
		{"mlx5_1", "mlx5_10", 1, true}, // a prefix
		{"=mlx5_1", "mlx5_10", 1, false},
		{"=mlx5_1,mlx5_10", "mlx5_10", 1, true},
		{"^mlx5_2", "mlx5_2", 1, false},
		{"^mlx5_2", "mlx5_0", 1, true},
		{"^=mlx5_1", "mlx5_10", 1, true},
		{"mlx5_0:1", "mlx5_0", 2, false},
		{"mlx5_0:2", "mlx5_0", 2, true},
		{"", "mlx5_0", 1, false},
	} {
		if got := matchesHCA(tc.value, tc.device, tc.port); got != tc.want {
			t.Errorf("NCCL_IB_HCA=%s, %s:%d: %t, want %t", tc.value, tc.device, tc.port, got, tc.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"NCCL_IB_HCA", "NCCL_IB_TC", "NCCL_IB_TIMEOUT", "NCCL_SOCKET_IFNAME"}
	for name, want := range map[string]string{
		"NCCL_IB_TIEMOUT":           "NCCL_IB_TIMEOUT", // swapped
		"NCCL_SOCKET_IFNAME-":       "NCCL_SOCKET_IFNAME",
		"NCCL_SOCKET_INTERFACE":     "",
		"NCCL_IB_HCAS":              "NCCL_IB_HCA",
		"NCCL_FASTRAK_USE_LLCM":     "",
		"NCCL_IBEXT_DISABLE":        "",
		"NCCL_OFI_TUNER_TYPE":       "",
		"NCCL_GPUDIRECTTCPX_FORCE_": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("%s: nearest is %q, want %q", name, got, want)
		}
	}
}

// The list of variables is read whole, and each name once.
func TestVariablesList(t *testing.T) {
	all := ncclVariables()
	if len(all) < 250 {
		t.Fatalf("%d variables, want the list", len(all))
	}
	for name, k := range all {
		if k.last.less(k.first) || k.first == (release{}) {
			t.Errorf("%s: first %v, last %v", name, k.first, k.last)
		}
	}
}

// An errno is compared by number or by word, and by the line where the event has none.
func TestErrnoIs(t *testing.T) {
	for _, tc := range []struct {
		e    evidence.Event
		want bool
	}{
		{evidence.Event{Errno: "Connection timed out"}, true},
		{evidence.Event{Errno: "110"}, true},
		{evidence.Event{Text: "Call to ibv_modify_qp failed with error Connection timed out"}, true},
		{evidence.Event{Errno: "Invalid argument", Text: "timed out later"}, false},
	} {
		if got := errnoIs(tc.e, 110, "timed out"); got != tc.want {
			t.Errorf("%+v: %t, want %t", tc.e, got, tc.want)
		}
	}
}

// A note must not hide an error that it does not explain: the limit of a shell, with RDMA errors of another kind.
func TestNotesHideNothing(t *testing.T) {
	v := emptyView()
	v.Inv.Host("node1").Memlock = evidence.Known("64", evidence.Source{File: "ulimit.txt", Line: 1})
	v.Inv.NCCL.HasLog = true
	v.Inv.NCCL.Events = []evidence.Event{{Kind: evidence.CompletionError, Status: wcRetryExceeded, Host: "node1", Rank: -1, From: evidence.Source{File: "nccl.log", Line: 1}}}
	r := Run(v)
	if len(r.Findings) == 0 || r.Findings[0].Code != "R004" {
		t.Errorf("findings %v, want R004 first", codes(r.Findings))
	}
}

// A simulated run has no hosts' logs: causes told by them do not apply, and none of them is found or counted as missing.
func TestSimulatedRunHasNoHostCauses(t *testing.T) {
	v := emptyView()
	v.Inv.Simulated = true
	for _, c := range hostCauses {
		verdict := c.Check(v)
		if len(verdict.Findings) > 0 {
			t.Errorf("%s found something in an empty simulated run", c.Code)
		}
		if verdict.State == RuledOut {
			t.Errorf("%s is ruled out in an empty simulated run: %s", c.Code, verdict.Why)
		}
	}
}

// Counters of a simulated run tell of a link that fell, once for both ends of the cable.
func TestFlapIsOneFindingForBothEnds(t *testing.T) {
	v := emptyView()
	v.Inv.Simulated = true
	v.Inv.Host("host3").NIC("mlx5_0", 1).Switch = "leaf1/Ethernet8"
	for i, at := range []units.Instant{{}, units.Instant{}.Add(units.Second)} {
		v.Win.Add(telemetry.Key{Series: telemetry.NICLinkDowns, Object: "host3/mlx5_0", Priority: telemetry.AnyPriority}, telemetry.Sample{At: at, Count: uint64(i)}, 1, "simulated", false)
		v.Win.Add(telemetry.Key{Series: telemetry.SwitchLinkDowns, Object: "leaf1/Ethernet8", Priority: telemetry.AnyPriority}, telemetry.Sample{At: at, Count: uint64(i)}, 1, "simulated", false)
	}
	verdict := causeLinkFlap.Check(v)
	if len(verdict.Findings) != 1 || len(verdict.Findings[0].Where) != 2 {
		t.Errorf("findings %+v, want one with both ends", verdict.Findings)
	}
}

func FuzzVariables(f *testing.F) {
	f.Add("NCCL_IB_HCA", "^mlx5_0:1,=mlx5_1", "2.20.5+cuda12.4")
	f.Add("NCCL_SOCKET_IFNAME", "^docker0,^lo", "before 2.20")
	f.Add("NCCL_CHUNK_SIZE", "99999999999999999999", "v2")
	f.Add("NCCL_PROTO", ",;:", "....")
	f.Fuzz(func(t *testing.T, name, value, version string) {
		v := emptyView()
		v.Inv.NCCL.HasLog = true
		v.Inv.NCCL.Env = []evidence.EnvVar{{Name: name, Value: value, From: evidence.Source{File: "env", Line: 1}}}
		v.Inv.NCCL.Versions = []evidence.VersionSeen{{Version: version}}
		v.Inv.NCCL.Devices = []evidence.DeviceList{{Devices: []evidence.DeviceUse{{Device: "mlx5_0", Port: 1, Layer: "RoCE"}}}}
		matchesHCA(value, "mlx5_0", 1)
		Run(v)
	})
}

// fleet is a job on many hosts in which one peer died: the size at which a check that compares all with all shows.
func fleet(hosts int) *View {
	v := emptyView()
	n := &v.Inv.NCCL
	n.HasLog = true
	n.Versions = []evidence.VersionSeen{{Version: "2.21.5"}}
	for i := range hosts {
		name := fmt.Sprintf("node%d", i)
		h := v.Inv.Host(name)
		from := evidence.Source{File: name + ".log", Line: 1}
		list := evidence.DeviceList{Host: name, From: from}
		for d := range 8 {
			x := h.NIC(fmt.Sprintf("mlx5_%d", d), 1)
			a := netip.AddrFrom4([4]byte{10, byte(d), byte(i >> 8), byte(i)})
			x.GIDs = []evidence.GID{{Index: 3, Address: netip.AddrFrom16(a.As16()), Version: "v2", Netdev: fmt.Sprintf("ens%d", d), From: from}}
			x.ActiveMTU = evidence.Known(4096, from)
			x.State = evidence.Known("ACTIVE", from)
			list.Devices = append(list.Devices, evidence.DeviceUse{Device: x.Device, Port: 1, Layer: "RoCE"})
			dev := h.Dev(fmt.Sprintf("ens%d", d))
			dev.Addresses = []netip.Prefix{netip.PrefixFrom(a, 16)}
			n.QPs = append(n.QPs, evidence.QPSetup{Host: name, Device: d, Name: x.Device, MTU: 4096, GIDIndex: 3, GID: a, From: from})
			n.Events = append(n.Events, evidence.Event{Kind: evidence.CompletionError, Host: name, Rank: i*8 + d, Status: wcRetryExceeded, Peer: "10.0.0.0", Local: a, Remote: netip.AddrFrom4([4]byte{10, byte(d), 0, 0}), Sequence: i*8 + d, From: from})
			dev.QoS = &evidence.QoS{Trust: evidence.Known("dscp", from), PFC: evidence.Known([evidence.Priorities]bool{3: true}, from), From: from}
			dev.PCI = evidence.Known(fmt.Sprintf("0000:%02x:00.0", 16+d), from)
			x.Netdev, x.Rate, x.Firmware = evidence.Known(dev.Name, from), evidence.Known(400*units.Gbps, from), evidence.Known("28.41.1000", from)
			link := evidence.Known(evidence.PCILink{Speed: 32, Width: 16}, from)
			h.PCI = append(h.PCI, evidence.PCIDevice{Address: fmt.Sprintf("%02x:00.0", 16+d), Name: "ConnectX-7", Capable: link, Running: link, MaxPayload: evidence.Known(256, from), Relaxed: evidence.Known(true, from), From: from})
			for _, id := range []telemetry.SeriesID{telemetry.NICLocalAckTimeout, telemetry.NICRxDiscards, telemetry.NICRxCRCErrors, telemetry.NICPCISignal, telemetry.NICCNPSent, telemetry.NICECNMarked} {
				for t := range 2 {
					v.Win.Add(telemetry.Key{Series: id, Object: h.Object(x), Priority: telemetry.AnyPriority}, telemetry.Sample{At: units.At(int64(t)), Count: 7}, 1, name, false)
				}
			}
			n.Sockets = append(n.Sockets, evidence.SocketChoice{Host: name, Use: "bootstrap", Interface: "eth0", Address: netip.AddrFrom4([4]byte{192, 168, byte(i >> 8), byte(i)}), From: from})
		}
		n.Devices = append(n.Devices, list)
	}
	return v
}

func BenchmarkRun(b *testing.B) {
	for _, hosts := range []int{16, 256, 4096} {
		v := fleet(hosts)
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				Run(v)
			}
		})
	}
}
