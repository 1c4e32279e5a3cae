package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C015: a list of interfaces or devices does not say what was meant.
//
// Symptom: "no socket interface found", a NIC that should be left out is used, or the reverse. Mechanism: NCCL_SOCKET_IFNAME
// and NCCL_IB_HCA are lists of prefixes; "^" (leave out) and "=" (exact) stand once, before the whole list
// (src/misc/utils.cc, parseStringList). Inside it they are part of a name that matches nothing. The first variable takes
// interfaces, the second RDMA devices. Evidence for: the value. Look-alikes: C001, C004, which are its effects.
var causeInterfaceList = Cause{
	Code:     "C015",
	Title:    "a list of interfaces or devices does not say what was meant",
	Needs:    "the variables of the job",
	Explains: []string{"C001", "C002", "C004", "H005"},
	Check:    checkInterfaceList,
}

func checkInterfaceList(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no variables of NCCL")
	}
	if f, ok := v.noSuchDevice(); ok {
		return found(f)
	}
	var lists []evidence.EnvVar
	for _, e := range v.Inv.NCCL.Env {
		if e.Name == "NCCL_SOCKET_IFNAME" || e.Name == "NCCL_IB_HCA" || e.Name == "NCCL_OOB_NET_IFNAME" {
			lists = append(lists, e)
		}
	}
	if len(lists) == 0 {
		if len(v.Inv.NCCL.Env) == 0 && !v.Inv.NCCL.HasLog {
			return cannotCheck("the variables of the job (NCCL_DEBUG=INFO, or env | grep NCCL)")
		}
		return ruledOut("neither NCCL_SOCKET_IFNAME nor NCCL_IB_HCA is set")
	}
	none := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return !strings.Contains(text, "no socket interface found") && !strings.Contains(text, "no usable interface") &&
			!strings.Contains(text, "is neither af_inet") // 2.27 goes on without one, with an address that was never filled
	})
	noDevice := v.said(evidence.NoDevice)
	for _, e := range lists {
		wrong, right := misread(e, v)
		if wrong == "" && len(none) > 0 && e.Name == "NCCL_SOCKET_IFNAME" {
			wrong, right = "matches no interface", "the name of an interface with an address"
		}
		if wrong == "" {
			wrong, right = v.matchesNone(e, noDevice)
		}
		if wrong == "" {
			continue
		}
		f := Finding{
			Title:    fmt.Sprintf("%s=%s %s", e.Name, e.Value, wrong),
			Severity: Warning, Confidence: named, Where: []string{orElse(e.Host, e.Name)},
			Because:  "the list holds prefixes; \"^\" and \"=\" count only once, at its beginning, and a name that matches nothing is not reported",
			Evidence: []Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: right, Role: "cause", From: e.From.String()}},
			WrongIf:  "interfaces or devices really have such names",
			Fix:      Fix{Text: "write it as: " + right, Commands: []string{"ip -br addr; ibv_devices"}},
			Settle:   "\"Bootstrap : Using\" and \"NET/IB : Using\" of a run with NCCL_DEBUG=INFO",
		}
		if effects := none; len(effects) > 0 || e.Name == "NCCL_IB_HCA" && len(noDevice) > 0 {
			if e.Name == "NCCL_IB_HCA" {
				effects = noDevice
			}
			f.Severity, f.Confidence = Critical, proven
			f.Evidence = append(f.Evidence, tell(effects, "effect")...)
		}
		return found(f)
	}
	return ruledOut("the lists of interfaces and devices are well formed")
}

// noSuchDevice finds UCX's complaint that UCX_NET_DEVICES names a device that is not there. It goes on with the others of the list,
// or ends where there are none.
func (v *View) noSuchDevice() (Finding, bool) {
	said := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool {
		return e.File != "UCX" || !strings.HasPrefix(e.What, "network device '")
	})
	if len(said) == 0 {
		return Finding{}, false
	}
	e := said[0]
	device, _, _ := strings.Cut(strings.TrimPrefix(e.What, "network device '"), "'")
	_, have, _ := strings.Cut(e.What, "one or more of: ")
	return Finding{
		Title:    fmt.Sprintf("UCX_NET_DEVICES names %s, which %s does not have", device, called(e.Host)),
		Severity: Warning, Confidence: named, Where: []string{called(e.Host)},
		Because:  "the list is of whole names with port (mlx5_0:1); a name of another host or of before a renaming is left out, and what is left may be TCP alone",
		Evidence: []Evidence{{Layer: "collective", What: "UCX on " + called(e.Host), Seen: "no " + device, Expected: orElse(shorten(have), "a device of the host"), Role: "cause", From: e.From.String()}},
		WrongIf:  "the device is meant to be there: then look for it with ibv_devices",
		Fix:      Fix{Text: "name devices that the host has, or unset the variable", Commands: []string{"ucx_info -d | grep -E 'Transport|Device'", "ibv_devices", "export UCX_NET_DEVICES=mlx5_0:1"}},
		Settle:   "ucx_info -d on that host",
	}, true
}

// matchesNone tells that a list lets none of the devices or interfaces through that the host is known to have.
func (v *View) matchesNone(e evidence.EnvVar, noDevice []evidence.Event) (wrong, right string) {
	var have []string
	for _, h := range v.Inv.Hosts {
		if e.Host != "" && h.Name != "" && h.Name != e.Host {
			continue
		}
		switch e.Name {
		case "NCCL_IB_HCA":
			for _, n := range h.NICs {
				if matchesHCA(e.Value, n.Device, n.Port) {
					return "", ""
				}
				if state, known := n.State.Get(); !known || state == "" || isActive(n) {
					have = append(have, n.Device)
				}
			}
			if len(noDevice) == 0 {
				have = nil
			}
		default:
			for _, d := range h.Netdevs {
				if matchesHCA(e.Value, d.Name, 0) {
					return "", ""
				}
				if len(d.Addresses) > 0 && !virtual(d.Name) {
					have = append(have, d.Name)
				}
			}
		}
	}
	if len(have) == 0 {
		return "", ""
	}
	return fmt.Sprintf("matches none of %s", listed(have)), "one of " + listed(have)
}

// misread tells what is wrong with a list, and how it should read.
func misread(e evidence.EnvVar, v *View) (wrong, right string) {
	value := strings.TrimSpace(e.Value)
	body := strings.TrimPrefix(strings.TrimPrefix(value, "^"), "=")
	for _, item := range strings.Split(body, ",") {
		item = strings.TrimSpace(item)
		name, _, _ := strings.Cut(item, ":")
		switch {
		case strings.HasPrefix(item, "^"), strings.HasPrefix(item, "="):
			return "has a sign inside the list, where it is part of a name", value[:len(value)-len(body)] + strings.NewReplacer("^", "", "=", "").Replace(body)
		case e.Name == "NCCL_IB_HCA" && interfaceName(name):
			return fmt.Sprintf("names an interface (%s) where RDMA devices belong", name), "RDMA devices, such as mlx5_0"
		case e.Name != "NCCL_IB_HCA" && rdmaName(name):
			return fmt.Sprintf("names an RDMA device (%s) where interfaces belong", name), "interfaces, such as eth0"
		case e.Name == "NCCL_IB_HCA" && !strings.HasPrefix(strings.TrimPrefix(value, "^"), "="):
			if also := v.alsoMatched(name); also != "" {
				return fmt.Sprintf("also matches %s: names are prefixes", also), strings.Replace(value, body, "="+body, 1)
			}
		}
	}
	return "", ""
}

// interfaceName and rdmaName go by the names that the kernel and udev give: en*, eth*, ib* with a number are interfaces; a
// driver's name with a number after "_" is an RDMA device.
func interfaceName(s string) bool {
	return strings.HasPrefix(s, "eth") || strings.HasPrefix(s, "ens") || strings.HasPrefix(s, "enp") || strings.HasPrefix(s, "bond")
}

func rdmaName(s string) bool {
	return strings.HasPrefix(s, "mlx5_") || strings.HasPrefix(s, "mlx4_") || strings.HasPrefix(s, "bnxt_re") || strings.HasPrefix(s, "irdma")
}

// alsoMatched finds a device in use that a prefix lets through besides the one it names, as mlx5_1 lets mlx5_10 through.
func (v *View) alsoMatched(prefix string) string {
	exact, other := false, ""
	for _, l := range v.Inv.NCCL.Devices {
		for _, d := range l.Devices {
			for _, name := range strings.Split(d.Device, "+") {
				if name == prefix {
					exact = true
				} else if strings.HasPrefix(name, prefix) && len(prefix) > 0 && digit(prefix[len(prefix)-1]) && digit(name[len(prefix)]) {
					other = name
				}
			}
		}
	}
	if exact {
		return other
	}
	return ""
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
