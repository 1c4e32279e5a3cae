// Package nvidia owns reading what nvidia-smi and dcgmi tell of GPUs: how they are connected (topo -m, nvlink), their
// state (-q) and their health.
//
// Read topo.go, then query.go, nvlink.go and dcgm.go.
package nvidia

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxDevices limits the rows of a table: 16 GPUs and 32 NICs are the most one system has, and partitions double that.
const MaxDevices = 256

// Topo reads nvidia-smi topo -m. NICs stand under their own names in old versions, and numbered, with a legend below,
// in new ones; the head is underlined by terminal escapes.
//
//		GPU0	GPU1	NIC0	CPU Affinity	NUMA Affinity	GPU NUMA ID
//	GPU0	 X 	NV18	PIX	0-55,112-167	0		N/A
//	GPU1	NV18	 X 	SYS	56-111,168-223	1		N/A
//	NIC0	PIX	SYS	 X
//	NIC Legend:
//	  NIC0: mlx5_0
type Topo struct {
	f      *fragment.Fragment
	m      evidence.DeviceMatrix
	legend bool
}

// NewTopo makes a reader for one output.
func NewTopo(f *fragment.Fragment) *Topo { return &Topo{f: f} }

// StartsTopo tells whether a line is the head of the table.
func StartsTopo(line []byte) bool {
	words := bytes.Fields(line)
	return len(words) >= 3 && string(words[0]) == "GPU0" && bytes.Contains(line, []byte("Affinity")) && !bytes.Contains(line, []byte(" X "))
}

// paths are the words of the cells, by the legend of the tool; NV is followed by a number of links.
var paths = map[string]bool{"X": true, "SYS": true, "NODE": true, "PHB": true, "PXB": true, "PIX": true, "N/A": true, "SOC": true, "PSB": true}

func isPath(w string) bool {
	if n, ok := strings.CutPrefix(w, "NV"); ok {
		_, err := strconv.ParseUint(n, 10, 8)
		return err == nil
	}
	return paths[w]
}

// Line reads one line; false means that it is not of the table.
func (r *Topo) Line(line []byte, n int) bool {
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return true
	}
	if StartsTopo(line) {
		r.End()
		r.m = evidence.DeviceMatrix{From: r.f.At(n)}
		for _, w := range words {
			if w == "CPU" || len(r.m.Names) >= MaxDevices {
				break
			}
			r.m.Names = append(r.m.Names, w)
		}
		return true
	}
	if bytes.Contains(line, []byte("Legend:")) {
		r.legend = true
		return true
	}
	if r.legend {
		return r.name(words)
	}
	return r.row(words, n)
}

// row reads the cells of one device. The line of the k-th device that is read is the k-th row.
func (r *Topo) row(words []string, n int) bool {
	k := len(r.m.Paths)
	if k >= len(r.m.Names) || words[0] != r.m.Names[k] {
		return false
	}
	var cells []string
	for _, w := range words[1:min(len(words), len(r.m.Names)+1)] {
		if !isPath(w) {
			break
		}
		cells = append(cells, w)
	}
	r.m.Paths = append(r.m.Paths, cells)
	var cpus evidence.Value[evidence.CPUSet]
	var node evidence.Value[int]
	at := r.f.At(n)
	if rest := words[1+len(cells):]; len(rest) > 0 {
		if set, ok := evidence.ParseCPUList(rest[0]); ok {
			cpus = evidence.Known(set, at)
		}
		if len(rest) > 1 {
			if v, err := strconv.ParseUint(rest[1], 10, 8); err == nil {
				node = evidence.Known(int(v), at)
			}
		}
	}
	r.m.CPUs, r.m.NUMA = append(r.m.CPUs, cpus), append(r.m.NUMA, node)
	return true
}

// name reads "NIC0: mlx5_0" of the legend.
func (r *Topo) name(words []string) bool {
	if len(words) != 2 || !strings.HasSuffix(words[0], ":") {
		return true // "PIX  = Connection traversing at most a single PCIe bridge"
	}
	for i, have := range r.m.Names {
		if have+":" == words[0] {
			r.m.Names[i] = words[1]
		}
	}
	return true
}

// End writes the table, and the nodes it tells of.
func (r *Topo) End() {
	if len(r.m.Paths) == 0 {
		return
	}
	h := r.f.TheHost()
	h.Matrix = evidence.Known(r.m, r.m.From)
	for i, name := range r.m.Names[:len(r.m.NUMA)] {
		if index, ok := strings.CutPrefix(name, "GPU"); ok && r.m.NUMA[i].Known() {
			if k, err := strconv.ParseUint(index, 10, 8); err == nil {
				h.GPUAt("", int(k)).NUMANode = r.m.NUMA[i]
			}
		}
	}
	r.m, r.legend = evidence.DeviceMatrix{}, false
}
