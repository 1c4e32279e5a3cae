package nvidia

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// NVLinks reads nvidia-smi nvlink -s and -e, and the list of GPUs (-L):
//
//	GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-..)
//		 Link 0: 26.562 GB/s
//		 Link 1: <inactive>
//		 Link 0: Replay Errors: 0
type NVLinks struct {
	f   *fragment.Fragment
	gpu *evidence.GPU
}

// NewNVLinks makes a reader for one output.
func NewNVLinks(f *fragment.Fragment) *NVLinks { return &NVLinks{f: f} }

// StartsNVLinks tells whether a line begins a GPU.
func StartsNVLinks(line []byte) bool {
	return bytes.HasPrefix(line, []byte("GPU ")) && bytes.Contains(line, []byte("(UUID: GPU-"))
}

// Line reads one line; false means that it is not of the output.
func (l *NVLinks) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if StartsNVLinks(line) {
		number, rest, _ := strings.Cut(t[len("GPU "):], ":")
		index, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			return false
		}
		l.gpu = l.f.TheHost().GPUAt("", int(index))
		name, uuid, _ := strings.Cut(strings.TrimSpace(rest), " (UUID: ")
		l.gpu.Name = evidence.Known(name, l.f.At(n))
		l.gpu.UUID = evidence.Known(strings.TrimSuffix(uuid, ")"), l.f.At(n))
		return true
	}
	rest, ok := strings.CutPrefix(t, "Link ")
	if !ok || l.gpu == nil {
		return t == ""
	}
	number, value, _ := strings.Cut(rest, ":")
	index, err := strconv.ParseUint(number, 10, 6) // 18 links are the most so far
	if err != nil {
		return false
	}
	l.set(l.link(int(index), n), strings.TrimSpace(value), l.f.At(n))
	return true
}

func (l *NVLinks) link(index, n int) *evidence.NVLink {
	for i := range l.gpu.NVLinks {
		if l.gpu.NVLinks[i].Index == index {
			return &l.gpu.NVLinks[i]
		}
	}
	l.gpu.NVLinks = append(l.gpu.NVLinks, evidence.NVLink{Index: index, From: l.f.At(n)})
	return &l.gpu.NVLinks[len(l.gpu.NVLinks)-1]
}

func (l *NVLinks) set(link *evidence.NVLink, value string, at evidence.Source) {
	if value == "<inactive>" {
		link.Active = evidence.Known(false, at)
		return
	}
	if speed, ok := strings.CutSuffix(value, " GB/s"); ok {
		if v, err := strconv.ParseFloat(speed, 64); err == nil && v >= 0 && v < 1e4 {
			link.Active, link.Speed = evidence.Known(true, at), evidence.Known(v, at)
		}
		return
	}
	if _, count, ok := strings.Cut(value, " Errors: "); ok {
		if v, err := strconv.ParseInt(count, 10, 48); err == nil {
			link.Errors = evidence.Known(link.Errors.Or(0)+v, at)
		}
	}
}
