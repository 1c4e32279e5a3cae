package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H011: a NIC is used from the far side of the host.
//
// Symptom: one flow is slow with all links whole; some GPUs of a host get less than others. Mechanism: between two sockets
// data crosses the processors' own link, which is narrower, shared, and for peer-to-peer between NIC and GPU much slower.
// Evidence for: the topology matrix (SYS from a GPU to each NIC of the job, while other GPUs have one near); NCCL's refusal of
// GPU Direct by distance; a bandwidth test bound to another NUMA node than its NIC's. Against: a host that has NICs on one
// side only, by design; its GPUs on the other side cannot do better. Look-alikes: H006, H015.
var causeFarNIC = Cause{
	Code:     "H011",
	Title:    "a NIC is used from the far side of the host",
	Needs:    "nvidia-smi topo -m, or the NUMA node of the NIC and how the test was bound",
	Explains: []string{"H001"},
	Check:    checkFarNIC,
}

func checkFarNIC(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated host has no sockets")
	}
	findings := v.farTests()
	read := len(findings) > 0
	for _, h := range v.Inv.Hosts {
		m, ok := h.Matrix.Get()
		if !ok {
			continue
		}
		far, near, nics := v.farGPUs(h, m)
		if nics == 0 {
			continue
		}
		read = true
		if len(far) == 0 {
			continue
		}
		f := farFinding(called(h.Name))
		f.Evidence = []Evidence{{Layer: "host", What: "best path to a NIC of the job from " + listed(far) + " on " + called(h.Name), Seen: "SYS (across sockets)", Expected: "PIX or PXB", Role: "cause", From: m.From.String()}}
		f.Title = fmt.Sprintf("%s of %s reach the job's NICs across sockets only", listed(far), called(h.Name))
		if len(far) == 1 {
			f.Title = fmt.Sprintf("%s of %s reaches the job's NICs across sockets only", far[0], called(h.Name))
		}
		if unused := v.unusedNear(h, m, far); len(unused) > 0 {
			f.Title += fmt.Sprintf(", though %s is near and left out", listed(unused))
			f.Confidence = named
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "RDMA devices near them that the job does not use", Seen: listed(unused), Expected: "in use", Role: "cause", From: m.From.String()})
			if e, ok := v.variable("NCCL_IB_HCA", h.Name); ok {
				f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: e.Name, Seen: e.Value, From: e.From.String()})
			}
		} else if near == 0 {
			f.Severity, f.Confidence = Note, possible
			f.Title = fmt.Sprintf("the GPUs of %s and its NICs are on different sides of the host", called(h.Name))
		} else {
			f.Severity, f.Confidence = Note, possible // by design: there is no NIC on that side
		}
		findings = append(findings, f)
	}
	switch {
	case len(findings) > 0:
		slices.SortStableFunc(findings, before)
		return found(findings...)
	case read:
		return ruledOut("each GPU has a NIC of the job on its own side of the host")
	}
	return cannotCheck("nvidia-smi topo -m, or numactl beside the bandwidth test and the NUMA node of its NIC")
}

func farFinding(where string) Finding {
	return Finding{
		Severity: Warning, Confidence: likely, Where: []string{where},
		Because: "data crosses the link between the sockets, which all of the host shares, and GPU Direct is off at that distance",
		WrongIf: "the test reaches the port's rate as it is",
		Not:     []string{"the cable and the switch: the detour is inside the host"},
		Fix:     Fix{Text: "use the NIC on the side of the GPU (or of the process), and bind the process to the cores of that NUMA node", Commands: []string{"nvidia-smi topo -m", "cat /sys/class/infiniband/DEVICE/device/numa_node", "numactl --cpunodebind=NODE --membind=NODE ib_write_bw -d DEVICE PEER"}},
		Settle:  "the same test bound to the NIC's own NUMA node",
	}
}

// farGPUs lists the GPUs whose best path to a NIC of the job goes across sockets, and counts those that have one nearer.
func (v *View) farGPUs(h *evidence.Host, m evidence.DeviceMatrix) (far []string, near, nics int) {
	var used []string
	for _, name := range m.Names {
		if !strings.HasPrefix(name, "GPU") && v.usesDevice(h, name) {
			used = append(used, name)
		}
	}
	if len(used) == 0 {
		return nil, 0, 0
	}
	for _, gpu := range m.Names {
		if !strings.HasPrefix(gpu, "GPU") {
			continue
		}
		best := "SYS"
		for _, nic := range used {
			if p, ok := m.Path(gpu, nic); ok && p != "SYS" {
				best = p
			}
		}
		if best == "SYS" {
			far = append(far, gpu)
		} else {
			near++
		}
	}
	return far, near, len(used)
}

// usesDevice tells whether the job uses a device of the matrix.
func (v *View) usesDevice(h *evidence.Host, name string) bool {
	return v.jobDevices().has(h.Name, &evidence.NIC{Device: name, Port: 1})
}

// unusedNear lists devices that are near to GPUs and that the job leaves out.
func (v *View) unusedNear(h *evidence.Host, m evidence.DeviceMatrix, gpus []string) (devices []string) {
	for _, name := range m.Names {
		if strings.HasPrefix(name, "GPU") || v.usesDevice(h, name) {
			continue
		}
		for _, g := range gpus {
			if p, ok := m.Path(g, name); ok && (p == "PIX" || p == "PXB") && !slices.Contains(devices, name) {
				devices = append(devices, name)
			}
		}
	}
	return devices
}

// farTests finds bandwidth tests that were bound to another NUMA node than that of their NIC.
func (v *View) farTests() (findings []Finding) {
	for _, t := range v.Inv.Perftests {
		node, ok := boundNode(t.Test)
		if !ok || t.Device == "" {
			continue
		}
		h := v.host(t.Host)
		if h == nil {
			continue
		}
		at, from := nodeOfNIC(h, t.Device)
		if at < 0 || at == node {
			continue
		}
		f := farFinding(object(t.Host, t.Device))
		f.Title = fmt.Sprintf("the bandwidth test on %s ran on NUMA node %d, and the NIC is on node %d", object(t.Host, t.Device), node, at)
		f.Evidence = []Evidence{
			{Layer: "host", What: "NUMA node the test was bound to", Seen: strconv.Itoa(node), Expected: strconv.Itoa(at), Role: "cause", From: t.From.String()},
			{Layer: "host", What: "NUMA node of " + object(t.Host, t.Device), Seen: strconv.Itoa(at), From: from},
		}
		if row, ok := fastest(t); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "RDMA", What: "bandwidth it reached", Seen: fmt.Sprintf("%.4g Gbit/s", float64(row.Average)/1e9), Role: "effect", From: row.From.String()})
		}
		findings = append(findings, f)
	}
	return findings
}

// boundNode reads the node out of "numactl --cpunodebind=0 --membind=0 ib_write_bw ...", "-N 0" and "-m 0".
func boundNode(command string) (int, bool) {
	if !strings.Contains(command, "numactl") {
		return 0, false
	}
	words := strings.Fields(command)
	for i, w := range words {
		name, value, joined := strings.Cut(w, "=")
		switch name {
		case "--cpunodebind", "-N", "--cpubind":
			if !joined && i+1 < len(words) {
				value = words[i+1]
			}
			n, err := strconv.Atoi(value)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// nodeOfNIC is the NUMA node of an RDMA device, -1 where it is not known.
func nodeOfNIC(h *evidence.Host, device string) (int, string) {
	for _, n := range h.NICs {
		if n.Device != device {
			continue
		}
		if node, ok := n.NUMANode.Get(); ok && node >= 0 {
			return node, n.NUMANode.From.String()
		}
		at := evidence.PCIAddress(n.PCI.Or(""))
		for _, d := range h.Netdevs {
			if n.Netdev.Or("") != d.Name {
				continue
			}
			if node, ok := d.NUMANode.Get(); ok && node >= 0 {
				return node, d.NUMANode.From.String()
			}
			if at == "" {
				at = evidence.PCIAddress(d.PCI.Or(""))
			}
		}
		for _, p := range h.PCI {
			if node, ok := p.NUMANode.Get(); ok && node >= 0 && at != "" && evidence.PCIAddress(p.Address) == at {
				return node, p.NUMANode.From.String()
			}
		}
	}
	for _, p := range h.PCI { // of sys/class/infiniband/DEVICE/device alone, which tells no address
		if node, ok := p.NUMANode.Get(); ok && node >= 0 && p.Address == device {
			return node, p.NUMANode.From.String()
		}
	}
	return -1, ""
}
