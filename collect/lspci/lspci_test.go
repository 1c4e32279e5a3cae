package lspci

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) *evidence.Inventory {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	return inv
}

func at(line int) evidence.Source { return evidence.Source{File: "f", Line: line} }

func TestDevices(t *testing.T) {
	h := read(t, `29:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
	Capabilities: [148 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl+ DirectTrans+
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
0000:2a:00.0 PCI bridge: Broadcom / LSI Device c030
		ACSCtl:	SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
c9:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			MaxPayload 256 bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
`).Host("")
	want := []evidence.Bridge{{Address: "29:01.0", Redirect: true, Validate: true, From: at(4)}, {Address: "0000:2a:00.0", Validate: true, From: at(6)}}
	if diff := cmp.Diff(want, h.Bridges); diff != "" {
		t.Error(diff)
	}
	if len(h.PCI) != 1 {
		t.Fatalf("%+v", h.PCI)
	}
	d := h.PCI[0]
	if got := fmt.Sprint(d.Address, " ", d.Capable, " ", d.Running, " ", d.MaxPayload, " ", d.MaxRead); got != "c9:00.0 {32 16} {16 8} 256 512" {
		t.Error(got)
	}
}

// With numbers, in the layout of today, and everything a NIC tells.
func TestDetails(t *testing.T) {
	h := read(t, `00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04)
	Bus: primary=00, secondary=01, subordinate=02, sec-latency=0
		LnkSta:	Speed 32GT/s, Width x16
0000:01:00.0 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
	Physical Slot: 3
	NUMA node: 1
		DevCap:	MaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
			MaxPayload 128 bytes, MaxReadReq 4096 bytes
		Product Name: NVIDIA ConnectX-7 HHHL Adapter
			[SN] Serial number: MT0000X00000
	Kernel driver in use: mlx5_core
02:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1
		LnkSta:	Speed 2.5GT/s (downgraded), Width x16 (ok)
`).Host("")
	d := h.PCI[0]
	if got := fmt.Sprint(d.Class, "|", d.Slot, d.NUMANode, d.MayPayload, d.MaxPayload, d.MaxRead, d.Relaxed, "|", d.Driver, "|", d.Part, "|", d.Serial); got != "Ethernet controller|3 1 512 128 4096 false|mlx5_core|NVIDIA ConnectX-7 HHHL Adapter|MT0000X00000" {
		t.Error(got)
	}
	if len(h.PCI) != 1 || len(h.GPUs) != 1 || h.GPUs[0].PCI != "0000:02:00.0" || h.GPUs[0].Running.Or(evidence.PCILink{}) != (evidence.PCILink{Speed: 2.5, Width: 16}) {
		t.Errorf("GPUs %+v", h.GPUs)
	}
	if up, ok := h.BridgesAbove("01:00.0"); !ok || fmt.Sprint(up) != "[0000:00:01.0]" || !h.Tree[0].Running.Known() {
		t.Errorf("above the NIC: %v, %v, %+v", up, ok, h.Tree)
	}
	if up, ok := h.BridgesAbove("02:00.0"); !ok || len(up) != 0 {
		t.Errorf("above the GPU: %v, %v", up, ok)
	}
}

func TestTree(t *testing.T) {
	for name, text := range map[string]string{
		"with names": `-+-[0000:c9]-+-00.0  Intel Corporation Device 09a2
 |           \-01.0-[ca-cd]----00.0-[cb-cd]--+-00.0-[cc]--+-00.0  NVIDIA Corporation GH100
 |                                           |            \-00.1  NVIDIA Corporation Device
 |                                           \-01.0-[cd]----00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
 \-[0000:00]-+-00.0  Intel Corporation Device
             +-1c.0-[01]----00.0  Samsung NVMe
             \-1d.0-[02]--
`,
		"without": `-+-[0000:c9]-+-00.0
 |           \-01.0-[ca-cd]----00.0-[cb-cd]--+-00.0-[cc]--+-00.0
 |                                           |            \-00.1
 |                                           \-01.0-[cd]----00.0
 \-[0000:00]-+-00.0
             +-1c.0-[01]----00.0
             \-1d.0-[02]--
`,
	} {
		first, _, _ := strings.Cut(text, "\n")
		if !Starts([]byte(first)) {
			t.Errorf("%q begins nothing", first)
		}
		h := read(t, text).Host("")
		var got []string
		for _, n := range h.Tree {
			got = append(got, n.Address+" "+n.Parent)
		}
		want := []string{
			"0000:c9:00.0 ", "0000:c9:01.0 ", "0000:ca:00.0 0000:c9:01.0", "0000:cb:00.0 0000:ca:00.0", "0000:cc:00.0 0000:cb:00.0", "0000:cc:00.1 0000:cb:00.0",
			"0000:cb:01.0 0000:ca:00.0", "0000:cd:00.0 0000:cb:01.0", "0000:00:00.0 ", "0000:00:1c.0 ", "0000:01:00.0 0000:00:1c.0", "0000:00:1d.0 ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if way, ok := h.BridgesBetween("cc:00.0", "cd:00.0"); !ok || fmt.Sprint(way) != "[0000:cb:00.0 0000:ca:00.0 0000:cb:01.0]" {
			t.Errorf("%s: from GPU to NIC %v, %v", name, way, ok)
		}
		if name == "with names" && h.Tree[7].Name != "Mellanox Technologies MT2910 Family [ConnectX-7]" {
			t.Errorf("%+v", h.Tree[7])
		}
	}
	h := read(t, "-[0000:00]-+-00.0  Intel\n           +-01.0-[01]----00.0  Mellanox\n           \\-02.0  Intel\n").Host("")
	if len(h.Tree) != 4 || h.Tree[2].Parent != "0000:00:01.0" || h.Tree[3].Address != "0000:00:02.0" {
		t.Errorf("one root complex: %+v", h.Tree)
	}
}

// What an unprivileged run cannot see is unknown, and said so once.
func TestDenied(t *testing.T) {
	inv := read(t, "c9:00.0 Ethernet controller: Mellanox Technologies MT2910\n\tCapabilities: <access denied>\n\tCapabilities: <access denied>\n")
	if len(inv.Unreadable) != 1 || inv.Unreadable[0].From != at(2) {
		t.Errorf("%+v", inv.Unreadable)
	}
	if d := inv.Host("").PCI[0]; d.Running.Known() || d.Capable.Known() {
		t.Errorf("%+v", d)
	}
}

func TestExcerpt(t *testing.T) {
	const line = "                ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl+ DirectTrans-"
	if !Starts([]byte(line)) {
		t.Error("an excerpt begins nothing")
	}
	if h := read(t, line+"\n").Host(""); len(h.Bridges) != 1 || !h.Bridges[0].Redirect || h.Bridges[0].Address != "" {
		t.Errorf("%+v", h.Bridges)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-+-[0000:c9]-+-00.0  x\n |           \\-01.0-[ca-cd]----00.0\n \\-[0000:00]-+-00.0\n")
	f.Add("29:01.0 Ethernet controller: x\n\tLnkSta: Speed 1e9GT/s, Width x999\n\tMaxPayload x, MaxReadReq 5\n\tACSCtl: a+\n")
	f.Fuzz(func(t *testing.T, text string) {
		read(t, text)
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}
