package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// H005: the RDMA devices of the host cannot be used from where the job runs.
//
// Symptom: "No device found", "Unable to open device", "Failed to open libibverbs", then sockets. Mechanism: a
// container needs the device nodes (/dev/infiniband/uverbsN, rdma_cm) and, in its image, libibverbs with the
// provider of the NIC (rdma-core: ibverbs-providers); without either the library sees no device. Evidence for:
// the failed open, the missing library, and a host that has active ports. Against: a host without RDMA, where the
// same line is normal. Look-alikes: C005 (switched off), C006 (a plugin that failed first).
var causeDevices = Cause{
	Code:     "H005",
	Title:    "RDMA devices cannot be used from the container",
	Needs:    "the NCCL log; ibstatus on the host",
	Explains: []string{"C002"},
	Check:    checkDevices,
}

func checkDevices(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	open := v.said(evidence.DeviceOpenFailed)
	library := v.said(evidence.NoVerbsLibrary)
	none := v.said(evidence.NoDevice)
	provider := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool { return e.What != "no verbs provider" })
	hardware, there := v.hasRDMA()
	f := Finding{
		Severity: Critical, Confidence: named,
		WrongIf: "RDMA is meant to be off for this job",
		Settle:  "ls -l /dev/infiniband and ibv_devices, both inside the container",
	}
	switch {
	case len(open) > 0:
		f.Title = fmt.Sprintf("RDMA devices of %s are visible but cannot be opened", names(eventHosts(open)))
		f.Because = "the device is listed in sysfs, which a container shares with its host, but opening its node in /dev/infiniband is refused or the node is missing"
		f.Evidence = tell(open, "cause")
		f.Fix = Fix{
			Text:     "hand the device nodes to the container, with the right to lock memory",
			Commands: []string{"docker run --device=/dev/infiniband --ulimit memlock=-1 --cap-add=IPC_LOCK ...", "kubernetes: request the RDMA device plugin's resource, and the IPC_LOCK capability"},
		}
	case len(library) > 0:
		f.Title = fmt.Sprintf("libibverbs is missing where the job runs on %s", names(eventHosts(library)))
		f.Because = "NCCL loads libibverbs at run time; an image without it, or without the provider of the NIC, has no RDMA whatever the host has"
		f.Evidence = tell(library, "cause")
		f.Fix = Fix{
			Text:     "install the verbs library and the providers in the image, of the same generation as the host's drivers",
			Commands: []string{"apt-get install libibverbs1 ibverbs-providers", "ibv_devices"},
		}
		if !there {
			if v.spans() == unknown && !v.onlySockets() {
				return cannotCheck("whether the host has RDMA devices at all (ibstatus): the missing library is normal without")
			}
			// The line alone is what a cluster without RDMA prints too.
			f.Severity, f.Confidence = Note, weak
			if v.spans() == yes {
				f.Severity = Warning
			}
			f.Settle = "ibstatus on the host: without RDMA devices the line is normal"
		}
	case len(provider) > 0 && len(none) > 0 && !v.rdmaOff():
		f.Title = fmt.Sprintf("libibverbs has no driver for the RDMA devices of %s", names(eventHosts(none)))
		f.Because = "the kernel has the device, and the provider library that belongs to it is missing in the image, or of another generation than libibverbs, so NCCL finds no device"
		f.Evidence = append(tell(provider, "cause"), tell(none, "effect")...)
		f.Fix = Fix{
			Text:     "install the provider of the NIC in the image, of the same rdma-core as libibverbs",
			Commands: []string{"apt-get install libibverbs1 ibverbs-providers", "ls /etc/libibverbs.d /usr/lib/*/libibverbs", "ibv_devices"},
		}
	case len(none) > 0 && there && !v.rdmaOff():
		f.Title = fmt.Sprintf("NCCL found no RDMA device on %s, although there are some", names(eventHosts(none)))
		f.Because = "the library lists no device it can use: the provider library is missing in the image, the device is in another network namespace, or NCCL_IB_HCA leaves all of them out"
		f.Confidence = likely
		f.Evidence = tell(none, "cause")
		f.Fix = Fix{
			Text:     "list the devices inside the container, then install the provider, hand in the device nodes, or mend NCCL_IB_HCA",
			Commands: []string{"ibv_devices", "ls -l /dev/infiniband", "apt-get install libibverbs1 ibverbs-providers", "rdma system"},
		}
	default:
		if c, ok := v.withoutDevices(); ok && len(none) > 0 && !v.rdmaOff() {
			f.Title = fmt.Sprintf("the container %s asks for GPUs and for no RDMA device, and NCCL found none", c.Name)
			f.Because = "a pod sees only the devices that its specification asks for; without the resource of the RDMA device plugin, or the host's devices, the library lists none"
			f.Severity, f.Confidence = Warning, possible
			f.Where = []string{orElse(c.Pod, c.Name)}
			var asked []string
			for _, r := range c.Resources {
				asked = append(asked, r.Name+": "+r.Amount)
			}
			f.Evidence = append([]Evidence{{Layer: "host", What: "devices of container " + c.Name, Seen: listed(asked), Expected: "an RDMA resource besides (rdma/hca, vpc.amazonaws.com/efa, ...)", Role: "cause", From: c.From.String()}}, tell(none, "effect")...)
			f.WrongIf = "the nodes have no RDMA devices"
			f.Fix = Fix{
				Text:     "request the RDMA device plugin's resource, as many as NICs are needed, with the IPC_LOCK capability",
				Commands: []string{"kubectl describe node | grep -E 'rdma|efa|hca|sriov'", "resources: {limits: {rdma/hca_shared_devices_a: 1}}", "securityContext: {capabilities: {add: [IPC_LOCK]}}"},
			}
			f.Settle = "kubectl describe node: which RDMA resources it offers; ibstatus on the node"
			return found(f)
		}
		if len(none) > 0 {
			return cannotCheck("whether the host has RDMA devices at all (ibstatus)")
		}
		return ruledOut("no RDMA device or library failed to open")
	}
	if there {
		f.Evidence = append(f.Evidence, hardware)
		if len(library) > 0 || len(open) > 0 {
			f.Confidence = proven
		}
	}
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "Socket" {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "network of " + called(c.Host), Seen: "Socket", Expected: "IB", Role: "effect", From: c.From.String()})
			break
		}
	}
	f.Where = []string{called(append(append(open, library...), none...)[0].Host)}
	f.Not = []string{"the line about libnccl-net.so: NCCL prints it whenever no plugin is installed, and uses its own code"}
	return found(f)
}

// withoutDevices finds a container that was given GPUs and nothing of RDMA.
func (v *View) withoutDevices() (evidence.Container, bool) {
	for _, c := range v.Inv.Containers {
		gpus, rdma := false, c.Privileged.Or(false)
		for _, r := range c.Resources {
			name := strings.ToLower(r.Name)
			if strings.Contains(name, "nvidia.com/gpu") || strings.Contains(name, "amd.com/gpu") {
				gpus = true
				continue
			}
			rdma = true // whatever the plugin of this cluster is called, it is a device beside the GPUs
		}
		if gpus && !rdma && !slices.ContainsFunc(c.Devices, func(d string) bool { return strings.Contains(d, "infiniband") }) {
			return c, true
		}
	}
	return evidence.Container{}, false
}

// hasRDMA tells whether any host is known to have an RDMA port or to have used one, and by what line.
func (v *View) hasRDMA() (Evidence, bool) {
	for _, h := range v.Inv.Hosts {
		if len(h.NICs) > 0 {
			n := h.NICs[0]
			at := n.State.From
			if at.File == "" {
				at = n.LinkLayer.From
			}
			if at.File == "" {
				at = n.GIDTable
			}
			return Evidence{Layer: "NIC", What: "port " + object(h.Name, n.Device), Seen: n.State.Or("present"), From: orElse(at.String(), "the list of devices")}, true
		}
	}
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "IB" || strings.HasPrefix(c.Name, "IBext") {
			return Evidence{Layer: "collective", What: "network of another process, on " + called(c.Host), Seen: c.Name, From: c.From.String()}, true
		}
	}
	if i := slices.IndexFunc(v.Inv.NCCL.Devices, func(d evidence.DeviceList) bool { return len(d.Devices) > 0 }); i >= 0 {
		d := v.Inv.NCCL.Devices[i]
		return Evidence{Layer: "collective", What: "RDMA devices of " + called(d.Host), Seen: d.Devices[0].Device, From: d.From.String()}, true
	}
	return Evidence{}, false
}

// rdmaOff tells whether RDMA is switched off on purpose.
func (v *View) rdmaOff() bool {
	e, ok := v.Inv.NCCL.Lookup("NCCL_IB_DISABLE")
	if ok && strings.TrimSpace(e.Value) != "0" && strings.TrimSpace(e.Value) != "" {
		return true
	}
	e, ok = v.Inv.NCCL.Lookup("NCCL_NET")
	return ok && strings.EqualFold(e.Value, "Socket")
}
