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
	f.Add("29:01.0 Ethernet controller: x\n\tLnkSta: Speed 1e9GT/s, Width x999\n\tMaxPayload x, MaxReadReq 5\n\tACSCtl: a+\n")
	f.Fuzz(func(t *testing.T, text string) {
		read(t, text)
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}
