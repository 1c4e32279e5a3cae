// Package topology owns reading NCCL's topology files (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE; src/graph/xml.cc of NCCL).
//
// What a file says of NICs and GPUs is kept. Files are cut when people paste them, so tags are read as they come and no
// balance of them is asked for.
package topology

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxNICs limits the NICs kept of all files.
const MaxNICs = 1 << 16

// File reads one file:
//
//	<pci busid="0000:c9:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
//	  <nic>
//	    <net name="mlx5_7" dev="7" speed="400000" port="1" guid="0x2aa5e0003d3ebe8" maxconn="1" gdr="0" coll="1"/>
type File struct {
	f    *fragment.Fragment
	pci  string
	link evidence.Value[evidence.PCILink]
}

// New makes a reader for one file.
func New(f *fragment.Fragment) *File { return &File{f: f} }

// Parse reads a file.
func Parse(r io.Reader, f *fragment.Fragment) error {
	t := New(f)
	return lines.Each(r, func(line []byte, n int) { t.Line(line, n) })
}

// Starts tells whether a line is one of a topology file.
func Starts(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	return bytes.HasPrefix(t, []byte("<system version=")) || bytes.HasPrefix(t, []byte("<pci busid=")) || bytes.HasPrefix(t, []byte("<net name="))
}

// Line reads one line; false means that it holds no tag.
func (t *File) Line(line []byte, n int) bool {
	s := strings.TrimSpace(string(line))
	if !strings.HasPrefix(s, "<") {
		return s == ""
	}
	switch {
	case strings.HasPrefix(s, "<pci "):
		t.pci, _ = attribute(s, "busid")
		t.link = evidence.Value[evidence.PCILink]{}
		speed, _ := attribute(s, "link_speed")
		speed, _, _ = strings.Cut(speed, " ")
		width, _ := attribute(s, "link_width")
		v, err1 := strconv.ParseFloat(speed, 64)
		w, err2 := strconv.ParseUint(width, 10, 8)
		if err1 == nil && err2 == nil && v > 0 && w > 0 {
			t.link = evidence.Known(evidence.PCILink{Speed: v, Width: int(w)}, t.f.At(n))
		}
	case strings.HasPrefix(s, "<net "):
		t.net(s, n)
	case strings.HasPrefix(s, "<gpu "):
		t.gpu(s, n)
	}
	return true
}

func (t *File) net(s string, n int) {
	if len(t.f.Inv.Topology) >= MaxNICs {
		return
	}
	at := t.f.At(n)
	nic := evidence.TopoNIC{Host: t.f.Host, PCI: t.pci, Link: t.link, Index: -1, From: at}
	nic.Name, _ = attribute(s, "name")
	nic.GUID, _ = attribute(s, "guid")
	if v, ok := integer(s, "dev"); ok {
		nic.Index = v
	}
	if v, ok := integer(s, "port"); ok {
		nic.Port = v
	}
	if v, ok := integer(s, "speed"); ok { // Mbit/s
		nic.Speed = evidence.Known(units.Rate(v)*units.Mbps, at)
	}
	if v, ok := integer(s, "gdr"); ok {
		nic.GDR = evidence.Known(v == 1, at)
	}
	t.f.Inv.Topology = append(t.f.Inv.Topology, nic)
}

func (t *File) gpu(s string, n int) {
	if len(t.f.Inv.TopologyGPUs) >= MaxNICs {
		return
	}
	at := t.f.At(n)
	g := evidence.TopoGPU{Host: t.f.Host, Dev: -1, Rank: -1, PCI: t.pci, From: at}
	if v, ok := integer(s, "dev"); ok {
		g.Dev = v
	}
	if v, ok := integer(s, "rank"); ok {
		g.Rank = v
	}
	if v, ok := integer(s, "gdr"); ok {
		g.GDR = evidence.Known(v == 1, at)
	}
	t.f.Inv.TopologyGPUs = append(t.f.Inv.TopologyGPUs, g)
}

func integer(s, name string) (int, bool) {
	v, ok := attribute(s, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(v, 10, 31)
	return int(n), err == nil
}

// attribute reads name="value".
func attribute(s, name string) (string, bool) {
	_, rest, ok := strings.Cut(s, " "+name+`="`)
	if !ok {
		return "", false
	}
	v, _, ok := strings.Cut(rest, `"`)
	return v, ok
}
