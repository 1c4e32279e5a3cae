// Package numa owns reading how a host's processors and memory are laid out: numactl -H and lscpu.
package numa

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxNodes limits the nodes of one host: Linux is built for 1024 (CONFIG_NODES_SHIFT of x86_64 is at most 10).
const MaxNodes = 1 << 10

// Hardware reads numactl -H (numactl.c, hardware()):
//
//	available: 2 nodes (0-1)
//	node 0 cpus: 0 1 2 3
//	node 0 size: 515855 MB
//	node distances:
//	node   0   1
//	  0:  10  21
//	  1:  21  10
type Hardware struct {
	f         *fragment.Fragment
	distances bool
}

// NewHardware makes a reader for one output.
func NewHardware(f *fragment.Fragment) *Hardware { return &Hardware{f: f} }

// StartsHardware tells whether a line is one only numactl prints.
func StartsHardware(line []byte) bool {
	return bytes.HasPrefix(line, []byte("available: ")) && bytes.Contains(line, []byte(" nodes (")) ||
		bytes.HasPrefix(line, []byte("node ")) && bytes.Contains(line, []byte(" cpus:")) || bytes.HasPrefix(line, []byte("node distances:"))
}

// Line reads one line; false means that it is not of the output.
func (r *Hardware) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	words := strings.Fields(t)
	if len(words) == 0 || words[0] == "available:" {
		return true
	}
	if t == "node distances:" {
		r.distances = true
		return true
	}
	if words[0] == "node" {
		if !r.distances && len(words) >= 3 && words[2] == "cpus:" {
			r.cpus(words, n)
		}
		return true
	}
	if id, ok := strings.CutSuffix(words[0], ":"); ok && r.distances {
		if node := node(r.f, id, n); node != nil {
			node.Distances = nil
			for _, w := range words[1:min(len(words), MaxNodes)] {
				if v, err := strconv.ParseUint(w, 10, 8); err == nil {
					node.Distances = append(node.Distances, int(v))
				}
			}
		}
		return true
	}
	return false
}

// cpus reads "node 0 cpus: 0 1 2 3".
func (r *Hardware) cpus(words []string, n int) {
	node := node(r.f, words[1], n)
	if node == nil {
		return
	}
	var set evidence.CPUSet
	for _, w := range words[3:] {
		if v, err := strconv.ParseUint(w, 10, 16); err == nil {
			set.Add(int(v))
		}
	}
	node.CPUs = evidence.Known(set, r.f.At(n))
}

// node finds a node of the host, made if it is not there yet; nil for one that cannot be.
func node(f *fragment.Fragment, id string, n int) *evidence.NUMANode {
	v, err := strconv.ParseUint(id, 10, 16)
	h := f.TheHost()
	if err != nil || v >= MaxNodes {
		return nil
	}
	for i := range h.NUMA {
		if h.NUMA[i].ID == int(v) {
			return &h.NUMA[i]
		}
	}
	h.NUMA = append(h.NUMA, evidence.NUMANode{ID: int(v), From: f.At(n)})
	return &h.NUMA[len(h.NUMA)-1]
}

// LSCPU reads lscpu (util-linux, sys-utils/lscpu.c), whose lines are indented since 2.37:
//
//	CPU(s):                   224
//	Model name:               Intel(R) Xeon(R) Platinum 8480C
//	NUMA node0 CPU(s):        0-55,112-167
type LSCPU struct{ f *fragment.Fragment }

// NewLSCPU makes a reader for one output.
func NewLSCPU(f *fragment.Fragment) *LSCPU { return &LSCPU{f} }

var lscpuHeads = [][]byte{[]byte("Architecture: "), []byte("CPU op-mode(s):"), []byte("CPU(s): "), []byte("Thread(s) per core:"), []byte("Socket(s):"), []byte("NUMA node")}

// StartsLSCPU tells whether a line is one of lscpu.
func StartsLSCPU(line []byte) bool {
	t := bytes.TrimLeft(line, " ")
	for _, h := range lscpuHeads {
		if bytes.HasPrefix(t, h) {
			return !bytes.HasPrefix(t, []byte("NUMA node")) || bytes.Contains(t, []byte("CPU(s):"))
		}
	}
	return false
}

// Line reads one line; false means that it is not of lscpu.
func (r *LSCPU) Line(line []byte, n int) bool {
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok {
		return key == ""
	}
	value = strings.TrimSpace(value)
	p := &r.f.TheHost().Processor
	at := r.f.At(n)
	switch key {
	case "CPU(s)":
		count(&p.CPUs, value, at)
	case "Thread(s) per core":
		count(&p.ThreadsPerCore, value, at)
	case "Socket(s)":
		count(&p.Sockets, value, at)
	case "Model name":
		p.Model = evidence.Known(value, at)
	case "Hypervisor vendor":
		p.Virtual = evidence.Known(value, at)
	default:
		id, ok := strings.CutPrefix(key, "NUMA node")
		if id, ok2 := strings.CutSuffix(id, " CPU(s)"); ok && ok2 {
			if set, ok := evidence.ParseCPUList(value); ok {
				if node := node(r.f, id, n); node != nil {
					node.CPUs = evidence.Known(set, at)
				}
			}
		}
	}
	return true
}

func count(to *evidence.Value[int], value string, at evidence.Source) {
	if v, err := strconv.ParseUint(value, 10, 31); err == nil {
		*to = evidence.Known(int(v), at)
	}
}
