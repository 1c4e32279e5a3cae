package lspci

import (
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// detail reads one line below a device.
func (d *Devices) detail(t string, n int) {
	if strings.Contains(t, "<access denied>") {
		if !d.denied {
			d.denied = true
			d.f.Inv.Unreadable = append(d.f.Inv.Unreadable, evidence.Unreadable{From: d.f.At(n), Why: "lspci may not read capabilities: run it as root"})
		}
		return
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
		if link, ok := pciLink(value); ok {
			d.link(key == "LnkCap", evidence.Known(link, d.f.At(n)))
		}
	case "Bus":
		d.bus(value)
	default:
		if d.device >= 0 {
			d.nic(&h.PCI[d.device], key, value, t, n)
		}
	}
}

// link keeps what a device is capable of, or runs at.
func (d *Devices) link(capable bool, link evidence.Value[evidence.PCILink]) {
	h := d.f.TheHost()
	put := func(cap, sta *evidence.Value[evidence.PCILink]) {
		if capable {
			*cap = link
		} else {
			*sta = link
		}
	}
	if d.device >= 0 {
		put(&h.PCI[d.device].Capable, &h.PCI[d.device].Running)
	}
	if d.gpu != nil {
		put(&d.gpu.Capable, &d.gpu.Running)
	}
	if d.node >= 0 {
		put(&h.Tree[d.node].Capable, &h.Tree[d.node].Running)
	}
}

// bus reads "primary=29, secondary=2a, subordinate=2c, sec-latency=0" of a bridge.
func (d *Devices) bus(value string) {
	_, rest, ok := strings.Cut(value, "secondary=")
	secondary, _, _ := strings.Cut(rest, ",")
	address := evidence.PCIAddress(d.address)
	if !ok || address == "" || len(secondary) != 2 || len(d.buses) >= MaxDevices {
		return
	}
	domain, _, _ := strings.Cut(address, ":")
	d.buses[domain+":"+secondary] = address
}

// nic reads what matters of a network device alone.
func (d *Devices) nic(dev *evidence.PCIDevice, key, value, t string, n int) {
	at := d.f.At(n)
	switch key {
	case "DevCap":
		setAfter(&dev.MayPayload, t, "MaxPayload ", at)
	case "Physical Slot":
		dev.Slot = evidence.Known(value, at)
	case "NUMA node":
		if v, err := strconv.ParseInt(value, 10, 16); err == nil {
			dev.NUMANode = evidence.Known(int(v), at)
		}
	case "Kernel driver in use":
		dev.Driver = evidence.Known(value, at)
	case "Product Name":
		dev.Part = evidence.Known(value, at)
	case "[SN] Serial number":
		dev.Serial = evidence.Known(value, at)
	default:
		d.control(dev, t, at)
	}
}

// control reads the lines of DevCtl: "RlxdOrd+ ..." and "MaxPayload 256 bytes, MaxReadReq 512 bytes". MaxPayload stands
// in DevCap as well, alone.
func (d *Devices) control(dev *evidence.PCIDevice, t string, at evidence.Source) {
	if strings.Contains(t, "RlxdOrd+") {
		dev.Relaxed = evidence.Known(true, at)
	} else if strings.Contains(t, "RlxdOrd-") {
		dev.Relaxed = evidence.Known(false, at)
	}
	if strings.Contains(t, "MaxReadReq ") {
		setAfter(&dev.MaxRead, t, "MaxReadReq ", at)
		setAfter(&dev.MaxPayload, t, "MaxPayload ", at)
	}
}

// setAfter reads "MaxPayload 256 bytes".
func setAfter(to *evidence.Value[int], t, mark string, at evidence.Source) {
	_, rest, ok := strings.Cut(t, mark)
	word, _, _ := strings.Cut(rest, " ")
	if v, err := strconv.ParseUint(word, 10, 31); ok && err == nil {
		*to = evidence.Known(int(v), at)
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
