package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C018: the job does not run the way the cloud it runs in needs.
//
// Symptom: sockets or a slow provider where the instance has a fast network; a graph search that fails. Mechanism: each
// cloud brings a plugin of its own (EFA: aws-ofi-nccl with libfabric; Google: GPUDirect-TCPX, TCPXO/FasTrak, gIB), with
// variables that only it reads and files that describe one type of instance. Evidence for: variables of a plugin beside
// another network; a libfabric provider that is not the fast one; a topology file for another GPU. Look-alikes: C006 (the
// plugin says itself what is missing), C002.
var causeCloud = Cause{
	Code:     "C018",
	Title:    "the job does not run the way its cloud needs",
	Needs:    "the NCCL log, the variables of the job, the GPUs of its hosts",
	Explains: []string{"C002", "C007"},
	Check:    checkCloud,
}

// cloudPlugin is a plugin of a cloud: variables that only it reads, and words of which its network's name has one.
type cloudPlugin struct {
	name     string
	prefixes []string
	networks []string
	fix      string
}

var cloudPlugins = []cloudPlugin{
	{"GPUDirect-TCPXO (FasTrak)", []string{"NCCL_FASTRAK_"}, []string{"FasTrak", "FASTRAK", "TCPXO"}, "mount the plugin's library into the container and put it before others in LD_LIBRARY_PATH; source its nccl-env-profile.sh"},
	{"GPUDirect-TCPX", []string{"NCCL_GPUDIRECTTCPX_"}, []string{"GPUDirectTCPX", "TCPX"}, "mount the plugin's library into the container and start its receive daemon (tcpgpudmarxd) beside the job"},
	{"aws-ofi-nccl", []string{"OFI_NCCL_", "FI_EFA_", "FI_PROVIDER"}, []string{"Libfabric", "OFI"}, "install aws-ofi-nccl and libfabric in the image and put them into LD_LIBRARY_PATH; hand /dev/infiniband to the container"},
}

func checkCloud(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run is in no cloud")
	}
	var findings []Finding
	looked := false
	for _, p := range cloudPlugins {
		f, bad, there := v.pluginUnused(p)
		looked = looked || there
		if bad {
			findings = append(findings, f)
		}
	}
	if f, bad := v.slowProvider(); bad {
		findings = append(findings, f)
	}
	if f, bad, there := v.topologyOfOther(); bad {
		findings = append(findings, f)
	} else {
		looked = looked || there
	}
	switch {
	case len(findings) > 0:
		return found(findings...)
	case looked:
		return ruledOut("the plugin whose variables are set is in use, and files describe this type of instance")
	}
	return notApplicable("nothing here is of a cloud's own network")
}

// pluginUnused finds variables of a plugin beside a network that is not its.
func (v *View) pluginUnused(p cloudPlugin) (f Finding, bad, there bool) {
	i := slices.IndexFunc(v.Inv.NCCL.Env, func(e evidence.EnvVar) bool {
		return slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(e.Name, prefix) })
	})
	if i < 0 || len(v.Inv.NCCL.Networks) == 0 {
		return f, false, false
	}
	for _, c := range v.Inv.NCCL.Networks {
		if slices.ContainsFunc(p.networks, func(word string) bool { return strings.Contains(c.Name, word) }) {
			return f, false, true
		}
	}
	e, c := v.Inv.NCCL.Env[i], v.Inv.NCCL.Networks[0]
	if c.Name != "Socket" {
		return f, false, true // an image for several clouds sets variables of all; RDMA is what it found here
	}
	return Finding{
		Title:    fmt.Sprintf("variables of %s are set, and %s uses sockets", p.name, called(c.Host)),
		Severity: Critical, Confidence: likely, Where: []string{called(c.Host)},
		Because: "NCCL did not find the plugin, or the plugin found no device, and it went on to sockets",
		Evidence: []Evidence{
			{Layer: "collective", What: "network of " + called(c.Host), Seen: c.Name, Expected: p.name, Role: "cause", From: c.From.String()},
			{Layer: "collective", What: e.Name, Seen: e.Value, From: e.From.String()},
		},
		WrongIf: "the instance type has no such network, and the variables are left from another one",
		Fix:     Fix{Text: p.fix, Commands: []string{"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET ... | grep -E 'NET/Plugin|Using network'", "ldconfig -p | grep libnccl-net", "echo $LD_LIBRARY_PATH"}},
		Settle:  "the lines NET/Plugin and NET/OFI of the log: which library was tried and why it was left",
	}, true, true
}

// slowProvider finds a libfabric provider that was chosen by hand and is not EFA's, or EFA without RDMA.
func (v *View) slowProvider() (Finding, bool) {
	if !slices.ContainsFunc(v.Inv.NCCL.Networks, func(c evidence.NetworkChoice) bool { return strings.Contains(c.Name, "Libfabric") }) {
		return Finding{}, false
	}
	for _, e := range v.Inv.NCCL.Env {
		value := strings.ToLower(strings.TrimSpace(e.Value))
		slow := e.Name == "FI_PROVIDER" && value != "" && !strings.HasPrefix(value, "^") && !strings.Contains(value, "efa") && (strings.Contains(value, "tcp") || strings.Contains(value, "sockets"))
		if !slow && !(e.Name == "FI_EFA_USE_DEVICE_RDMA" && value == "0") {
			continue
		}
		return Finding{
			Title:    fmt.Sprintf("%s=%s keeps libfabric from EFA's RDMA", e.Name, e.Value),
			Severity: Warning, Confidence: likely, Where: []string{orElse(e.Host, e.Name)},
			Because:  "the provider then copies through the kernel or through staging buffers, at a small part of the adapter's rate",
			Evidence: []Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "FI_PROVIDER=efa, RDMA on where the instance has it", Role: "cause", From: e.From.String()}},
			WrongIf:  "the instance type has EFA without RDMA (p3dn), or none",
			Fix:      Fix{Text: "unset it", Commands: []string{"unset " + e.Name, "fi_info -p efa"}, Try: []Change{{Setting: e.Name, Value: ""}}},
			Settle:   "the line \"NET/OFI Selected provider\" of the log",
		}, true
	}
	return Finding{}, false
}

// topologies are files that clouds' images bring, by a part of their path, and the GPUs they describe (Azure: the azhpc
// images' /opt/microsoft; eight GPUs each).
var topologies = []struct{ file, gpu string }{
	{"ndv2", "V100"}, {"ndv4", "A100"}, {"ndv5", "H100"}, {"ncv4", "A100"}, {"p4d", "A100"}, {"p5-", "H100"}, {"p5.48xl", "H100"},
}

// topologyOfOther finds a topology file that describes another type of machine than the one the job runs on.
func (v *View) topologyOfOther() (f Finding, bad, there bool) {
	for _, e := range v.Inv.NCCL.Env {
		if e.Name != "NCCL_TOPO_FILE" && e.Name != "NCCL_GRAPH_FILE" || e.Value == "" {
			continue
		}
		for _, t := range topologies {
			if !strings.Contains(strings.ToLower(e.Value), t.file) {
				continue
			}
			for _, h := range v.Inv.Hosts {
				if e.Host != "" && h.Name != e.Host || len(h.GPUs) == 0 {
					continue
				}
				name, known := h.GPUs[0].Name.Get()
				other := known && !strings.Contains(name, t.gpu)
				fewer := t.file != "ncv4" && len(h.GPUs) < 8 && known
				there = there || known
				if !other && !fewer {
					continue
				}
				seen := fmt.Sprintf("%s of %s", counted(len(h.GPUs), "GPU", "GPUs"), orElse(name, "an unknown kind"))
				return Finding{
					Title:    fmt.Sprintf("%s=%s describes a machine with eight %s, and %s has %s", e.Name, e.Value, t.gpu, called(h.Name), seen),
					Severity: Critical, Confidence: named, Where: []string{called(h.Name)},
					Because: "NCCL takes the file for the machine: it looks for GPUs and NICs that are not there, and fails in its graph search or builds fewer channels",
					Evidence: []Evidence{
						{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "a file for this type of machine, or unset", Role: "cause", From: e.From.String()},
						{Layer: "host", What: "GPUs of " + called(h.Name), Seen: seen, Role: "cause", From: orElse(h.GPUs[0].Name.From.String(), h.GPUs[0].From.String())},
					},
					WrongIf: "the container sees only a part of the machine's GPUs",
					Fix:     Fix{Text: "remove the reference (Azure's images set it in /etc/nccl.conf for one size of machine)", Commands: []string{"unset " + e.Name, "grep -H NCCL /etc/nccl.conf ~/.nccl.conf"}, Try: []Change{{Setting: e.Name, Value: ""}}},
					Settle:  "a run without the variable",
				}, true, true
			}
		}
	}
	return f, false, there
}
