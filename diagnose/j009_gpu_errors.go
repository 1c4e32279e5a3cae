package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// J009: a GPU reports errors of its own.
//
// Symptom: jobs that die or hang on one host, often without a CUDA error in any log. Mechanism: a GPU that fell off its bus,
// has memory errors or a broken NVLink ends or stops its process. Evidence for: Xid lines of the kernel log, uncorrectable
// ECC errors, rows that could not be remapped, failures of dcgmi. Against: Xids that programs cause (13, 31, 43, 45).
// Look-alikes: J005, where the program's own log has the CUDA error.
var causeGPUErrors = Cause{
	Code:     "J009",
	Title:    "not the network: a GPU reports errors of its own",
	Needs:    "the kernel log, nvidia-smi -q, dcgmi health or diag",
	Explains: []string{"J005", "J003", "J002", "R004", "J008"},
	Check:    checkGPUErrors,
}

// xids are errors that mean broken hardware or driver (NVIDIA, GPU deployment and management: Xid errors). What programs
// cause by themselves is not among them.
var xids = map[int]string{
	46: "the GPU stopped processing", 48: "uncorrectable memory error", 62: "internal microcontroller halt", 63: "memory row is being remapped", 64: "memory row could not be remapped",
	74: "NVLink error", 79: "the GPU fell off the bus", 92: "many corrected memory errors", 94: "memory error, contained to one program", 95: "memory error, not contained", 109: "context switch timed out",
	119: "GPU system processor does not answer", 120: "GPU system processor error", 122: "SPI bus error", 136: "NVLink error of a link's training", 137: "NVLink privilege error", 140: "uncorrectable ECC error", 143: "GPU did not initialise", 149: "NVLink error", 154: "GPU needs to be reset",
}

func checkGPUErrors(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated GPU has no errors")
	}
	var findings []Finding
	read := false
	add := func(host, gpu, what string, row Evidence, confidence float64) {
		where := object(host, gpu)
		if i := slices.IndexFunc(findings, func(f Finding) bool { return f.Where[0] == where }); i >= 0 {
			findings[i].Evidence = append(findings[i].Evidence, row)
			return
		}
		f := Finding{
			Title:    fmt.Sprintf("not the network: %s reports errors: %s", where, what),
			Severity: Warning, Confidence: confidence, Where: []string{where},
			Because:  "a GPU in that state ends or stops its process, and all others wait for it",
			Evidence: []Evidence{row},
			WrongIf:  "the error is from before the GPU was reset or replaced",
			Not:      []string{"the network between hosts"},
			Fix:      Fix{Text: "drain the host, reset the GPU, run its diagnosis, and have it replaced if the error comes back", Commands: []string{"nvidia-smi -q -d ECC,ROW_REMAPPER -i INDEX", "dcgmi diag -r 3", "dmesg -T | grep -i xid"}},
			Settle:   "dcgmi diag -r 3 on that host",
		}
		if effects := v.lossOf(host); len(effects) > 0 {
			f.Severity, f.Confidence = Critical, named
			f.Evidence = append(f.Evidence, tell(effects, "effect")...)
		} else if stuck := v.said(evidence.WatchdogTimeout, evidence.CudaError); len(stuck) > 0 && len(v.networkErrors()) == 0 {
			f.Severity = Critical
			f.Evidence = append(f.Evidence, tell(stuck, "effect")...)
		}
		findings = append(findings, f)
	}
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			read = true
			if k.Kind == "sxid" && strings.Contains(k.Text, ", Fatal,") {
				_, number, _ := strings.Cut(k.Text, "): ")
				number, _, _ = strings.Cut(number, ",")
				add(h.Name, "NVSwitch "+orElse(k.Device, "of it"), "SXid "+strings.TrimSpace(number)+", fatal error of an NVLink switch", Evidence{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}, likely)
			}
			if k.Kind != "xid" {
				continue
			}
			if what, ok := xids[xidOf(k.Text)]; ok {
				add(h.Name, orElse(k.Device, "a GPU"), fmt.Sprintf("Xid %d, %s", xidOf(k.Text), what), Evidence{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}, likely)
			}
		}
		for _, g := range h.GPUs {
			if n, ok := g.ECCVolatile.Get(); ok {
				read = true
				if n > 0 {
					add(h.Name, gpuName(g), counted(int(n), "uncorrectable memory error", "uncorrectable memory errors")+" since the driver was loaded", Evidence{Layer: "host", What: "uncorrectable ECC errors of " + object(h.Name, gpuName(g)), Seen: strconv.FormatInt(n, 10), Expected: "0", Role: "cause", From: g.ECCVolatile.From.String()}, likely)
				}
			}
			if s, ok := g.Remapped.Get(); ok {
				what := "remapping of memory rows " + s
				if s == "pending" {
					what = "memory rows wait for a reset to be remapped"
				}
				add(h.Name, gpuName(g), what, Evidence{Layer: "host", What: "row remapper of " + object(h.Name, gpuName(g)), Seen: s, Expected: "no", Role: "cause", From: g.Remapped.From.String()}, possible)
			}
		}
	}
	for _, r := range v.Inv.Health {
		read = true
		if !strings.EqualFold(r.Result, "Failure") && !strings.EqualFold(r.Result, "Fail") {
			continue
		}
		gpu := "its GPUs"
		if r.GPU >= 0 {
			gpu = fmt.Sprintf("GPU %d", r.GPU)
		}
		add(r.Host, gpu, r.Subsystem+": "+shorten(orElse(r.Text, r.Result)), Evidence{Layer: "host", What: "dcgmi, " + r.Subsystem + " of " + object(r.Host, gpu), Seen: shorten(orElse(r.Text, r.Result)), Expected: "Healthy, or Pass", Role: "cause", From: r.From.String()}, likely)
	}
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case read:
		return ruledOut("neither the kernel log, nvidia-smi nor dcgmi shows an error of a GPU")
	}
	return cannotCheck("the kernel log, nvidia-smi -q or dcgmi health of the hosts")
}

// xidOf reads the number out of "NVRM: Xid (PCI:0000:1b:00): 79, pid=...", 0 where there is none.
func xidOf(text string) int {
	_, rest, ok := strings.Cut(text, "Xid (")
	if !ok {
		return 0
	}
	_, rest, ok = strings.Cut(rest, "): ")
	if !ok {
		return 0
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil {
		return 0
	}
	return n
}
