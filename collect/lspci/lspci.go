// Package lspci owns reading lspci -vvv: access control services of bridges, which decide whether a NIC reaches a
// GPU directly, and the PCIe link of network devices.
package lspci

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxDevices limits bridges and network devices kept of one host. The largest servers have some 300 PCI functions;
// virtual functions bring that to a few thousand.
const MaxDevices = 1 << 14

// Devices reads lspci -vvv (pciutils, lspci.c and ls-caps.c):
//
//	29:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
//		Capabilities: [148 v1] Access Control Services
//			ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
//	c9:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
//			LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
//			LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
//			DevCtl:	... MaxPayload 256 bytes, MaxReadReq 512 bytes
//
// What ACS does stands in PCI Express Base Specification, 6.12: P2P Request Redirect, P2P Completion Redirect and P2P
// Egress Control send traffic between peers up to the root complex, or stop it; Source Validation alone does not.
type Devices struct {
	f       *fragment.Fragment
	address string
	device  int // index into the host's PCI, -1 for a device that is no NIC
	denied  bool
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Devices { return &Devices{f: f, device: -1} }

// Parse reads an output.
func Parse(r io.Reader, f *fragment.Fragment) error {
	d := New(f)
	return lines.Each(r, func(line []byte, n int) { d.Line(line, n) })
}

// Starts tells whether a line begins a device, or is one only lspci prints.
func Starts(line []byte) bool {
	return address(line) != "" || bytes.Contains(line, []byte("ACSCtl:"))
}

// address reads "29:01.0 " or "0000:29:01.0 " at the beginning of a line, behind which the class follows.
func address(line []byte) string {
	first, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(first) < 7 || len(first) > 13 || !bytes.Contains(rest, []byte(": ")) {
		return ""
	}
	s := string(first)
	if s[len(s)-2] != '.' || s[len(s)-5] != ':' {
		return ""
	}
	for _, c := range first {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != ':' && c != '.' {
			return ""
		}
	}
	return s
}

// Line reads one line; false means that it is not of lspci.
func (d *Devices) Line(line []byte, n int) bool {
	if a := address(line); a != "" {
		d.begin(a, string(line[len(a)+1:]), n)
		return true
	}
	t := strings.TrimSpace(string(line))
	if t == "" {
		return true
	}
	if strings.Contains(t, "<access denied>") {
		if !d.denied {
			d.denied = true
			d.f.Inv.Unreadable = append(d.f.Inv.Unreadable, evidence.Unreadable{From: d.f.At(n), Why: "lspci may not read capabilities: run it as root"})
		}
		return true
	}
	key, value, _ := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	h := d.f.TheHost()
	switch key {
	case "ACSCtl":
		if len(h.Bridges) < MaxDevices {
			h.Bridges = append(h.Bridges, bridge(d.address, value, d.f.At(n)))
		}
	case "LnkCap", "LnkSta":
		if link, ok := pciLink(value); ok && d.device >= 0 {
			if key == "LnkCap" {
				h.PCI[d.device].Capable = evidence.Known(link, d.f.At(n))
			} else {
				h.PCI[d.device].Running = evidence.Known(link, d.f.At(n))
			}
		}
	default:
		d.request(t, n)
	}
	return line[0] == '\t' || line[0] == ' '
}

func (d *Devices) begin(a, rest string, n int) {
	d.address, d.device = a, -1
	class, name, _ := strings.Cut(rest, ": ")
	h := d.f.TheHost()
	if len(h.PCI) >= MaxDevices {
		return
	}
	switch {
	case strings.HasPrefix(class, "Ethernet controller"), strings.HasPrefix(class, "Infiniband controller"), strings.HasPrefix(class, "Network controller"):
		d.device = len(h.PCI)
		h.PCI = append(h.PCI, evidence.PCIDevice{Address: a, Name: name, From: d.f.At(n)})
	}
}

func bridge(address, flags string, at evidence.Source) evidence.Bridge {
	b := evidence.Bridge{Address: address, From: at}
	for flag := range strings.FieldsSeq(flags) {
		switch flag {
		case "ReqRedir+", "CmpltRedir+", "EgressCtrl+":
			b.Redirect = true
		case "SrcValid+":
			b.Validate = true
		}
	}
	return b
}

// pciLink reads "Speed 16GT/s (downgraded), Width x8 (downgraded)". Old versions print no word for it, so numbers
// are compared and the word is not read.
func pciLink(v string) (evidence.PCILink, bool) {
	_, speed, ok1 := strings.Cut(v, "Speed ")
	_, width, ok2 := strings.Cut(v, "Width x")
	speed, _, ok3 := strings.Cut(speed, "GT/s")
	if !ok1 || !ok2 || !ok3 {
		return evidence.PCILink{}, false
	}
	if i := strings.IndexFunc(width, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		width = width[:i]
	}
	s, err1 := strconv.ParseFloat(speed, 64)
	w, err2 := strconv.ParseUint(width, 10, 8)
	return evidence.PCILink{Speed: s, Width: int(w)}, err1 == nil && err2 == nil
}

// request reads "MaxPayload 256 bytes, MaxReadReq 512 bytes" of DevCtl. MaxPayload stands in DevCap as well, alone.
func (d *Devices) request(t string, n int) {
	_, read, ok := strings.Cut(t, "MaxReadReq ")
	if !ok || d.device < 0 {
		return
	}
	dev := &d.f.TheHost().PCI[d.device]
	bytesOf := func(s string) (int, bool) {
		w, _, _ := strings.Cut(s, " ")
		v, err := strconv.ParseUint(w, 10, 31)
		return int(v), err == nil
	}
	if v, ok := bytesOf(read); ok {
		dev.MaxRead = evidence.Known(v, d.f.At(n))
	}
	if _, payload, ok := strings.Cut(t, "MaxPayload "); ok {
		if v, ok := bytesOf(payload); ok {
			dev.MaxPayload = evidence.Known(v, d.f.At(n))
		}
	}
}
