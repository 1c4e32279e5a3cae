package nvidia

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Query reads nvidia-smi -q: values below headings, which their indentation tells apart.
//
//	Driver Version                            : 550.54.15
//	GPU 00000000:1B:00.0
//	    Product Name                          : NVIDIA H100 80GB HBM3
//	    PCI
//	        GPU Link Info
//	            PCIe Generation
//	                Max                       : 5
//	                Current                   : 5
//	            Link Width
//	                Current                   : 16x
//	    Clocks Event Reasons
//	        HW Slowdown                       : Not Active
//
// "Clocks Event Reasons" were "Clocks Throttle Reasons" up to driver 530.
type Query struct {
	f        *fragment.Fragment
	gpu      *evidence.GPU
	gpus     int
	headings []heading
}

type heading struct {
	indent int
	text   string
}

// NewQuery makes a reader for one output.
func NewQuery(f *fragment.Fragment) *Query { return &Query{f: f} }

// StartsQuery tells whether a line begins the output or a GPU in it.
func StartsQuery(line []byte) bool {
	return bytes.HasPrefix(line, []byte("==============NVSMI LOG")) || gpuLine(line) != ""
}

// gpuLine reads "GPU 00000000:1B:00.0".
func gpuLine(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte("GPU 0000"))
	if !ok || len(rest) < 8 {
		return ""
	}
	return evidence.PCIAddress(strings.TrimSpace(string(line[len("GPU "):])))
}

// Line reads one line; false means that it is not of the output.
func (q *Query) Line(line []byte, n int) bool {
	if address := gpuLine(line); address != "" {
		q.gpu = q.f.TheHost().GPUAt(address, q.gpus)
		q.gpu.From = q.f.At(n)
		q.gpus++
		q.headings = q.headings[:0]
		return true
	}
	t := bytes.TrimSpace(line)
	if len(t) == 0 {
		return true
	}
	indent := len(line) - len(bytes.TrimLeft(line, " \t"))
	key, value, ok := bytes.Cut(t, []byte(" :"))
	for len(q.headings) > 0 && q.headings[len(q.headings)-1].indent >= indent {
		q.headings = q.headings[:len(q.headings)-1]
	}
	if !ok {
		const deepest = 16
		if len(q.headings) < deepest {
			q.headings = append(q.headings, heading{indent, string(t)})
		}
		return indent > 0 || StartsQuery(line)
	}
	q.value(string(bytes.TrimSpace(key)), string(bytes.TrimSpace(value)), n)
	return true
}

// under tells whether a heading stands above.
func (q *Query) under(names ...string) bool {
	for _, h := range q.headings {
		for _, n := range names {
			if h.text == n {
				return true
			}
		}
	}
	return false
}

// reasons are those that slow a GPU down against its will; "Idle" and settings somebody made are none.
var reasons = map[string]bool{
	"SW Power Cap": true, "HW Slowdown": true, "HW Thermal Slowdown": true, "HW Power Brake Slowdown": true, "SW Thermal Slowdown": true, "Sync Boost": true,
}

func (q *Query) value(key, value string, n int) {
	at := q.f.At(n)
	if q.gpu == nil {
		version(q.f, key, value, at)
		return
	}
	g := q.gpu
	switch {
	case key == "Product Name":
		g.Name = evidence.Known(value, at)
	case key == "GPU UUID":
		g.UUID = evidence.Known(value, at)
	case key == "Minor Number":
		if v, err := strconv.ParseUint(value, 10, 8); err == nil {
			g.Index = int(v)
		}
	case key == "Replays Since Reset":
		whole(&g.Replays, value, at)
	case key == "GPU Current Temp":
		if v, err := strconv.ParseFloat(strings.TrimSuffix(value, " C"), 64); err == nil {
			g.Temperature = evidence.Known(v, at)
		}
	case q.under("PCIe Generation", "Link Width"):
		q.link(key, value, at)
	case q.under("Clocks Event Reasons", "Clocks Throttle Reasons"):
		if reasons[key] && value == "Active" && len(g.Throttle) < len(reasons) {
			g.Throttle = append(g.Throttle, evidence.Throttled{Reason: key, From: at})
		}
	case q.under("ECC Errors") && strings.Contains(key, "Uncorrectable"):
		q.ecc(value, at)
	case q.under("Remapped Rows"):
		if key == "Remapping Failure Occurred" && value == "Yes" {
			g.Remapped = evidence.Known("failed", at)
		} else if key == "Pending" && value == "Yes" && !g.Remapped.Known() {
			g.Remapped = evidence.Known("pending", at)
		}
	case q.under("Fabric"):
		switch key {
		case "State":
			g.Fabric = evidence.Known(value, at)
		case "Status":
			g.FabricState = evidence.Known(value, at)
		}
	case key == "Name" && q.under("Processes"), key == "Process ID" && q.under("Processes"):
		list := g.Processes.Or(nil)
		if key == "Name" && len(list) < MaxDevices {
			g.Processes = evidence.Known(append(list, value), at)
		}
	}
}

// version keeps the versions in the head of the output.
func version(f *fragment.Fragment, key, value string, at evidence.Source) {
	name := map[string]string{"Driver Version": "nvidia driver", "CUDA Version": "cuda"}[key]
	if name == "" || value == "N/A" {
		return
	}
	h := f.TheHost()
	if h.Versions == nil {
		h.Versions = map[string]evidence.Value[string]{}
	}
	h.Versions[name] = evidence.Known(value, at)
}

// generations are the transfer rates of PCIe, GT/s (PCI Express Base Specification 6.0, 1.2).
var generations = []float64{0, 2.5, 5, 8, 16, 32, 64}

// link reads the generation and the width, now and at most. "Max" is the least of what device and host can.
func (q *Query) link(key, value string, at evidence.Source) {
	v, err := strconv.ParseUint(strings.TrimSuffix(value, "x"), 10, 8)
	if err != nil {
		return
	}
	var to *evidence.Value[evidence.PCILink]
	switch key {
	case "Current":
		to = &q.gpu.Running
	case "Max":
		to = &q.gpu.Capable
	default:
		return
	}
	l := to.Or(evidence.PCILink{})
	if q.under("Link Width") {
		l.Width = int(v)
	} else if int(v) < len(generations) {
		l.Speed = generations[v]
	}
	*to = evidence.Known(l, at)
}

// ecc adds up the uncorrectable errors of all memories.
func (q *Query) ecc(value string, at evidence.Source) {
	v, err := strconv.ParseInt(value, 10, 40)
	if err != nil {
		return
	}
	to := &q.gpu.ECCVolatile
	if q.under("Aggregate") {
		to = &q.gpu.ECCLifetime
	} else if !q.under("Volatile") {
		return
	}
	*to = evidence.Known(to.Or(0)+v, at)
}

func whole(to *evidence.Value[int64], value string, at evidence.Source) {
	if v, err := strconv.ParseInt(value, 10, 64); err == nil {
		*to = evidence.Known(v, at)
	}
}

// Banner reads the first lines of plain nvidia-smi, for its versions:
//
//	| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
type Banner struct{ f *fragment.Fragment }

// NewBanner makes a reader for one output.
func NewBanner(f *fragment.Fragment) *Banner { return &Banner{f} }

// StartsBanner tells whether a line is the one with the versions.
func StartsBanner(line []byte) bool {
	return bytes.HasPrefix(line, []byte("| NVIDIA-SMI ")) || bytes.HasPrefix(line, []byte("NVRM version:"))
}

// Line reads one line; false means that it has no version.
func (b *Banner) Line(line []byte, n int) bool {
	if !StartsBanner(line) {
		return bytes.HasPrefix(line, []byte("|")) || bytes.HasPrefix(line, []byte("+"))
	}
	words := strings.Fields(string(line))
	for i := 0; i+2 < len(words); i++ {
		switch {
		case words[i+1] == "Version:":
			version(b.f, words[i]+" Version", words[i+2], b.f.At(n))
		case words[i] == "Kernel" && words[i+1] == "Module": // /proc/driver/nvidia/version
			v := words[i+2]
			if v == "for" && i+4 < len(words) { // "Open Kernel Module for x86_64  550.54.15"
				v = words[i+4]
			}
			version(b.f, "Driver Version", v, b.f.At(n))
		}
	}
	return true
}
