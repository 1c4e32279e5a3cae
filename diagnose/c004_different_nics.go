package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// C004: hosts of a job use different sets of NICs.
//
// Symptom: pairs of equal hosts work, other pairs hang, crash or are slow. Mechanism: NCCL pairs devices of two
// hosts by their index in the list of devices; an extra NIC, or another order of names, joins a compute NIC of one
// host with a storage NIC of the other. Evidence for: lists of devices that differ, one name with different rates or
// kinds of interface. Against: NCCL_IB_HCA leaves equal lists. Look-alikes: one slow port of the same set, which is
// a fault of that port and not of the numbering.
var causeDifferentNICs = Cause{
	Code:     "C004",
	Title:    "hosts use different sets of NICs",
	Needs:    "the NCCL log, ibstat or ibdev2netdev of two hosts or more",
	Explains: []string{"R004", "J002", "J003"},
	Check:    checkDifferentNICs,
}

// nicFace is what can be compared of a NIC port across hosts.
type nicFace struct {
	rate units.Rate // 0 where not known
	kind string     // "InfiniBand" or "Ethernet", "" where not known
	from evidence.Source
}

func (n nicFace) String() string {
	var words []string
	if n.rate > 0 {
		words = append(words, n.rate.String())
	}
	if n.kind != "" {
		words = append(words, n.kind)
	}
	if len(words) == 0 {
		return "present"
	}
	return strings.Join(words, " ")
}

func checkDifferentNICs(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("hosts of a simulated run are built alike")
	}
	hosts, faces := v.nicFaces()
	lists := v.deviceLists()
	if len(hosts) < 2 && len(lists) < 2 {
		return cannotCheck("the NICs of two hosts or more (ibstat, ibdev2netdev, or their NCCL logs)")
	}
	symptoms := append(v.rdmaErrors(), v.said(evidence.WatchdogTimeout)...)
	f := Finding{
		Severity: Warning, Confidence: likely,
		Because: "NCCL pairs the devices of two hosts by their index, so a NIC more or another order joins NICs that belong to different networks",
		WrongIf: "NCCL_IB_HCA, or /etc/nccl.conf of each host, leaves equal lists",
		Fix: Fix{
			Text:     "name the NICs of the compute fabric on each host, so that the n-th device is the same rail everywhere; or rename them by udev rules",
			Commands: []string{"export NCCL_IB_HCA==DEVICE,DEVICE,...   # exact names, per host in /etc/nccl.conf", "ibdev2netdev -v", "ibstat | grep -E 'CA|Rate'"},
		},
		Settle: "the line \"NET/IB : Using\" of both hosts",
	}
	raise := func() {
		if len(symptoms) > 0 {
			f.Severity, f.Confidence = Critical, named
			f.Evidence = append(f.Evidence, tell(symptoms, "effect")...)
		}
	}
	if usual, odd, alike := oddList(lists); odd.host != "" {
		f.Title = fmt.Sprintf("%s and %s use different RDMA devices: %s against %s", odd.host, usual.host, listed(odd.devices), listed(usual.devices))
		if alike > 1 {
			f.Title = fmt.Sprintf("%s uses other RDMA devices (%s) than %d other hosts (%s)", odd.host, listed(odd.devices), alike, listed(usual.devices))
		}
		f.Where = []string{odd.host, usual.host}
		for _, l := range []hostDevices{odd, usual} {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "RDMA devices of " + l.host, Seen: listed(l.devices), Expected: "the same list on every host", Role: "cause", From: l.from.String()})
		}
		f.Confidence = named
		raise()
		return found(f)
	}
	if len(lists) >= 2 {
		return ruledOut("the hosts use the same list of devices")
	}
	for _, other := range hosts[1:] {
		a := hosts[0]
		if title, rows, ok := compareFaces(a, other, faces[a], faces[other]); ok {
			f.Title, f.Evidence = title, rows
			f.Where = []string{called(a), called(other)}
			raise()
			return found(f)
		}
	}
	return ruledOut("the hosts that were read have the same NICs")
}

// oddList finds the list that most hosts use, and a host that uses another one. Of two lists that are as common the longer
// one is the odd one: an extra NIC is what goes wrong most often.
func oddList(lists []hostDevices) (usual, odd hostDevices, alike int) {
	count := map[string]int{}
	key := func(l hostDevices) string { return strings.Join(l.devices, ",") }
	for _, l := range lists {
		count[key(l)]++
	}
	for _, l := range lists {
		n := count[key(l)]
		if n > alike || n == alike && len(l.devices) < len(usual.devices) {
			usual, alike = l, n
		}
	}
	for _, l := range lists {
		if key(l) != key(usual) {
			return usual, l, alike
		}
	}
	return usual, hostDevices{}, alike
}

// compareFaces compares the NICs of two hosts by name.
func compareFaces(a, b string, fa, fb map[string]nicFace) (title string, rows []Evidence, ok bool) {
	row := func(host, device string, n nicFace, there bool) Evidence {
		seen := "absent"
		if there {
			seen = n.String()
		}
		return Evidence{Layer: "NIC", What: object(host, device), Seen: seen, Expected: "the same on every host", Role: "cause", From: n.from.String()}
	}
	var kinds, rates, missing []string
	for _, device := range slices.Sorted(maps.Keys(fa)) {
		x := fa[device]
		y, there := fb[device]
		switch {
		case !there:
			missing = append(missing, device)
		case x.kind != "" && y.kind != "" && x.kind != y.kind:
			kinds = append(kinds, device)
		case x.rate > 0 && y.rate > 0 && x.rate != y.rate:
			rates = append(rates, device)
		}
	}
	for _, device := range slices.Sorted(maps.Keys(fb)) {
		if _, there := fa[device]; !there {
			missing = append(missing, device)
		}
	}
	add := func(devices []string) {
		for _, d := range devices[:min(len(devices), maxRows/2)] {
			x, inA := fa[d]
			y, inB := fb[d]
			if !inA {
				x.from = y.from
			}
			if !inB {
				y.from = x.from
			}
			rows = append(rows, row(a, d, x, inA), row(b, d, y, inB))
		}
	}
	switch {
	case len(kinds) > 0:
		d := kinds[0]
		title = fmt.Sprintf("%s is %s on %s and %s on %s: the NICs are numbered differently", d, fa[d].kind, called(a), fb[d].kind, called(b))
		add(kinds)
	case len(rates) > 0 && (len(missing) > 0 || sameRates(fa, fb)):
		d := rates[0]
		title = fmt.Sprintf("%s runs at %s on %s and at %s on %s: the NICs are numbered differently", d, fa[d].rate, called(a), fb[d].rate, called(b))
		add(append(rates, missing...))
	case len(missing) > 0 && len(fa) > 1 && len(fb) > 1:
		title = fmt.Sprintf("%s and %s do not have the same NICs: %s on one of them only", called(a), called(b), listed(missing))
		add(missing)
	default:
		return "", nil, false
	}
	return title, rows, true
}

// sameRates tells whether two hosts have the same rates, whatever the names: then an order was changed. Where
// they do not, one port is slow, which is no matter of numbering.
func sameRates(a, b map[string]nicFace) bool {
	rates := func(m map[string]nicFace) []units.Rate {
		var r []units.Rate
		for _, n := range m {
			r = append(r, n.rate)
		}
		slices.Sort(r)
		return r
	}
	return slices.Equal(rates(a), rates(b))
}

// nicFaces lists what is known of the NICs of each host that take part in the job.
func (v *View) nicFaces() (hosts []string, faces map[string]map[string]nicFace) {
	faces = map[string]map[string]nicFace{}
	for _, p := range v.hostPorts() {
		n := nicFace{from: p.Rate.From}
		n.rate, _ = p.Rate.Get()
		n.kind, _ = p.LinkLayer.Get()
		netdev, told := p.Netdev.Get()
		if n.kind == "" && told {
			// systemd and the kernel name InfiniBand interfaces ib...; Ethernet ones en... or eth....
			switch {
			case strings.HasPrefix(netdev, "ib"):
				n.kind = "InfiniBand"
			case strings.HasPrefix(netdev, "en"), strings.HasPrefix(netdev, "eth"):
				n.kind = "Ethernet"
			}
		}
		for _, at := range []evidence.Source{p.Netdev.From, p.State.From, p.LinkLayer.From} {
			if n.from.File == "" {
				n.from = at
			}
		}
		if n.from.File == "" {
			continue // only counters name it, and those need not be complete
		}
		if faces[p.host.Name] == nil {
			faces[p.host.Name] = map[string]nicFace{}
			hosts = append(hosts, p.host.Name)
		}
		name := p.Device
		if p.Port > 1 {
			name += fmt.Sprintf(":%d", p.Port)
		}
		faces[p.host.Name][name] = n
	}
	return hosts, faces
}

// hostDevices is the list of RDMA devices one host uses.
type hostDevices struct {
	host    string
	devices []string
	from    evidence.Source
}

// deviceLists lists the devices each host uses, the first list of each host.
func (v *View) deviceLists() []hostDevices {
	return once(v, func(f *facts) **[]hostDevices { return &f.lists }, func() []hostDevices {
		var all []hostDevices
		seen := map[string]bool{}
		for _, l := range v.Inv.NCCL.Devices {
			if l.Host == "" || len(l.Devices) == 0 || seen[l.Host] {
				continue
			}
			seen[l.Host] = true
			d := hostDevices{host: l.Host, from: l.From}
			for _, u := range l.Devices {
				name := u.Device
				if u.Port > 1 {
					name += fmt.Sprintf(":%d", u.Port)
				}
				d.devices = append(d.devices, name+"/"+u.Layer)
			}
			all = append(all, d)
		}
		return all
	})
}
