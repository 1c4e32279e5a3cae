package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H001: GPU Direct RDMA is off, so data between NIC and GPU goes through host memory.
//
// Symptom: bandwidth between hosts is about half of what the NICs give, and the CPUs' memory is busy. Mechanism:
// without nvidia-peermem (or DMA-BUF) the NIC cannot read GPU memory, and NCCL bounces through a buffer of the
// host; it also does so where NIC and GPU are farther apart than NCCL_NET_GDR_LEVEL (default PXB). Evidence for:
// "GPU Direct RDMA Disabled" lines, connections "via NET/IB" without /GDRDMA. Against: /GDRDMA. Look-alikes:
// H002 (GPU Direct works but is redirected), a connection by sockets, where it does not exist.
var causeGDROff = Cause{
	Code:  "H001",
	Title: "GPU Direct RDMA is off",
	Needs: "the NCCL log (INIT and NET), or its topology file",
	Check: checkGDROff,
}

func checkGDROff(v *View) Verdict {
	if f, ok := v.gpuMemoryRefused(); ok {
		return found(f)
	}
	n := &v.Inv.NCCL
	var off, on []evidence.GDRState
	for _, g := range n.GDR {
		if g.Enabled {
			on = append(on, g)
		} else {
			off = append(off, g)
		}
	}
	var without, with []evidence.ChannelCount
	total, direct := 0, 0
	for _, c := range n.Channels {
		if !namesGDR(c.Via) {
			continue
		}
		total, direct = total+c.Total, direct+c.GDR
		if c.GDR < c.Total {
			without = append(without, c)
		}
		if c.GDR > 0 {
			with = append(with, c)
		}
	}
	if len(off) == 0 && total == 0 && len(on) == 0 {
		if verdict, ok := v.gdrByTopology(); ok {
			return verdict
		}
		if s, silent := v.silent(); silent {
			return s
		}
		if v.onlySockets() {
			return notApplicable("the job runs over sockets, which have no GPU Direct RDMA")
		}
		return cannotCheck("lines that tell (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET): \"GPU Direct RDMA\", \"Channel ... via NET/IB\"")
	}
	if len(off) == 0 && len(without) == 0 {
		if len(with) > 0 {
			return ruledOut(fmt.Sprintf("%d of %d connections over RDMA use GPU Direct (/GDRDMA)", direct, total))
		}
		return ruledOut("GPU Direct RDMA is reported as enabled")
	}
	// A device that is off for itself while all connections use GPU Direct is not in use.
	if total > 0 && direct == total {
		return ruledOut(fmt.Sprintf("all %d connections over RDMA use GPU Direct (/GDRDMA)", total))
	}
	f := gdrFinding()
	var hosts []string
	for _, g := range off {
		if !slices.Contains(hosts, g.Host) {
			hosts = append(hosts, g.Host)
		}
		if len(f.Evidence) < maxRows {
			seen := "disabled"
			if g.Reason != "" {
				seen += " (" + g.Reason + ")"
			}
			if g.Limit > 0 && g.Distance > g.Limit {
				seen += fmt.Sprintf(" (distance %d > %d)", g.Distance, g.Limit)
			}
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "GPU Direct RDMA of " + object(g.Host, g.Device), Seen: seen, Expected: "enabled", Role: "cause", From: g.From.String()})
		}
	}
	for i, c := range without {
		if !slices.Contains(hosts, c.Host) {
			hosts = append(hosts, c.Host)
		}
		if i < maxRows {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "connections of " + called(c.Host) + " via " + c.Via, Seen: fmt.Sprintf("%d of %d with GPU Direct", c.GDR, c.Total), Expected: "all", Role: "effect", From: c.Example.String()})
		}
	}
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			if k.Kind == "peermem" && (h.Name == "" || slices.Contains(hosts, h.Name)) && len(f.Evidence) < 2*maxRows {
				f.Evidence = append([]Evidence{{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Expected: "nvidia_peermem loads without a word", Role: "cause", From: k.From.String()}}, f.Evidence...)
				f.Because = "nvidia-peermem was built for another RDMA stack than the one that runs, so it does not load; each byte is copied to host memory and crosses the PCIe root and the memory bus again"
				f.Fix.Text = "install the GPU driver (or build nvidia-peermem) again after the RDMA stack that is in use; or use the open kernel modules with DMA-BUF"
				break
			}
		}
	}
	f.Where = hosts
	if len(f.Where) == 0 || f.Where[0] == "" {
		f.Where = []string{called("")}
	}
	f.Title = "GPU Direct RDMA is off on " + names(hosts)
	f.Confidence = named
	switch {
	case len(off) > 0 && total > 0 && direct == 0:
		f.Confidence = proven
	case direct > 0 && !slices.ContainsFunc(n.Channels, func(c evidence.ChannelCount) bool { return namesGDR(c.Via) && c.GDR > 0 && c.GDR < c.Total }) && hosts[0] != "" && !slices.ContainsFunc(with, func(c evidence.ChannelCount) bool { return slices.Contains(hosts, c.Host) }):
		f.Because += "; there no connection uses it and on the other hosts all do, so what is missing is missing on those hosts"
		f.Fix.Text = "compare with a host that has it: nvidia-peermem loaded, versions of driver and RDMA stack, then the distance between GPU and NIC"
	case direct > 0:
		f.Title = fmt.Sprintf("%d of %d connections over RDMA go through host memory instead of GPU Direct, on %s", total-direct, total, names(hosts))
		f.Confidence = likely
		f.Because += "; only some connections do, so the distance between those GPUs and NICs is the likely reason"
	case len(off) > 0 && len(on) > 0 && total == 0:
		f.Confidence = likely
	}
	if e, ok := v.variable("NCCL_NET_GDR_LEVEL", hosts[0]); ok && (e.Value == "0" || strings.EqualFold(e.Value, "LOC")) {
		f.Title = fmt.Sprintf("GPU Direct RDMA is switched off by NCCL_NET_GDR_LEVEL=%s on %s", e.Value, names(hosts))
		f.Evidence = append([]Evidence{{Layer: "collective", What: "NCCL_NET_GDR_LEVEL", Seen: e.Value, Expected: "unset", Role: "cause", From: e.From.String()}}, f.Evidence...)
		f.Fix = Fix{Text: "unset NCCL_NET_GDR_LEVEL, unless it is there to test for H002", Commands: []string{"unset NCCL_NET_GDR_LEVEL"}}
	}
	return found(f)
}

// namesGDR tells whether a network's connections are printed with /GDRDMA where they use it. Plugins of clouds that move GPU
// memory by other means print nothing.
func namesGDR(via string) bool {
	for _, p := range []string{"NET/IB", "NET/AWS Libfabric", "NET/OFI"} {
		if strings.HasPrefix(via, p) {
			return true
		}
	}
	return false
}

// gpuMemoryRefused finds a registration of GPU memory that the kernel refused: "Bad address" (EFAULT), which is its answer to an
// address that is not one of the process's own memory, or any refusal of a registration by DMA-BUF.
func (v *View) gpuMemoryRefused() (Finding, bool) {
	failed := without(v.said(evidence.RegisterFailed), func(e evidence.Event) bool {
		return !errnoIs(e, 14, "Bad address") && !strings.Contains(e.What, "dmabuf")
	})
	var tests []Evidence
	for _, t := range v.Inv.Perftests {
		if t.Failed.Is(func(s string) bool { return s == "register memory" }) && onGPU(t) {
			tests = append(tests, Evidence{Layer: "RDMA", What: "bandwidth test with GPU memory on " + object(t.Host, t.Device), Seen: "could not register its memory", Role: "effect", From: t.Failed.From.String()})
		}
	}
	if len(failed)+len(tests) == 0 {
		return Finding{}, false
	}
	f := gdrFinding()
	f.Severity, f.Confidence = Critical, likely
	f.Evidence = append(tell(failed, "cause"), tests...)
	f.Where = []string{called("")}
	if len(failed) > 0 {
		f.Where = []string{called(failed[0].Host)}
	}
	f.Title = fmt.Sprintf("the NIC of %s cannot register GPU memory", f.Where[0])
	f.Because = "the kernel took the address for one of host memory and refused it: nvidia-peermem is missing, or was built for another RDMA stack than the one that runs (inbox against MLNX_OFED), or the driver of NIC or GPU does not do DMA-BUF"
	f.Not = []string{"the limit of locked memory: that is refused with \"Cannot allocate memory\" (H003)"}
	f.Fix = Fix{
		Text:     "load nvidia-peermem, installed after the RDMA stack that is in use; or use the open kernel modules with DMA-BUF; as a test run without GPU Direct",
		Commands: []string{"modprobe nvidia-peermem; dmesg | tail", "lsmod | grep -E 'peermem|ib_core'; ofed_info -s", "export NCCL_NET_GDR_LEVEL=LOC   # as a test"},
	}
	f.WrongIf = "it fails in the same way with NCCL_NET_GDR_LEVEL=LOC"
	return f, true
}

func gdrFinding() Finding {
	return Finding{
		Severity: Warning,
		Because:  "the NIC cannot reach GPU memory, so each byte is copied to host memory and crosses the PCIe root and the memory bus again",
		Not:      []string{"the network: it carries whatever it is given; host-memory tests (ib_write_bw without --use_cuda) stay fast"},
		WrongIf:  "the GPUs are of a kind that has no GPU Direct RDMA (GeForce), or the platform has no common PCIe switch for GPU and NIC",
		Fix: Fix{
			Text:     "load nvidia-peermem (or use the open kernel modules with DMA-BUF on kernel 5.12 and later); for single NICs, place the GPU and the NIC under one PCIe switch",
			Commands: []string{"modprobe nvidia-peermem && lsmod | grep peermem", "nvidia-smi topo -m", "ib_write_bw -d DEVICE --use_cuda=0"},
		},
		Settle: "ib_write_bw --use_cuda against ib_write_bw without it, on the same pair of hosts",
	}
}

// onlySockets tells whether every process that told its network settled on sockets.
func (v *View) onlySockets() bool {
	n := v.Inv.NCCL.Networks
	return len(n) > 0 && !slices.ContainsFunc(n, func(c evidence.NetworkChoice) bool { return c.Name != "Socket" })
}
