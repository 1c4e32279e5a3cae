package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// A RoCE port has a table of GIDs: each address of its interface twice, once for RoCE v1 (Ethernet type 0x8915,
// not routed) and once for v2 (UDP port 4791). Linux fills the default GIDs, made of the link-local address,
// first, so index 0 is link-local v1 on devices that speak both (drivers/infiniband/core/roce_gid_mgmt.c,
// gid_table_setup_one). Which index a QP uses decides whether packets arrive.

// gidIndex is the index of the GID table the job uses on a host, and how that is known.
type gidIndex struct {
	host  string
	index int
	how   string          // "set by NCCL_IB_GID_INDEX", "default of NCCL 2.8.3"
	from  evidence.Source // zero for a default
	fixed bool            // set by someone, not a default or a choice of the library
}

// routable tells whether a GID can carry RoCE between hosts: version 2 and an address that is routed.
func routable(g evidence.GID) bool { return g.Version == "v2" && !g.LinkLocal() && g.Address.IsValid() }

// roce tells whether the job runs over RoCE. Yes needs a word of the library, a port or a GID table; a port
// table with nothing but InfiniBand is a no.
func (v *View) roce() answer {
	n := &v.Inv.NCCL
	ib := false
	for _, l := range n.Devices {
		for _, d := range l.Devices {
			if d.Layer == "RoCE" {
				return yes
			}
			ib = ib || d.Layer == "IB"
		}
	}
	for _, q := range n.QPs {
		if q.GIDIndex >= 0 {
			return yes
		}
		ib = true
	}
	if ib {
		return no // the job told what it uses; other ports of the hosts do not matter
	}
	for _, e := range v.rdmaErrors() {
		if e.Local.Is4In6() || e.Remote.Is4In6() { // GIDs of InfiniBand hold a GUID, never an IPv4 address
			return yes
		}
		if e.What == "UCX" && strings.Contains(e.Text, "/RoCE (synd") {
			return yes
		}
	}
	for _, h := range v.Inv.Hosts {
		for _, x := range h.NICs {
			for _, g := range x.GIDs {
				if g.Version == "v2" {
					return yes
				}
			}
			switch layer, _ := x.LinkLayer.Get(); layer {
			case "Ethernet":
				return yes
			case "InfiniBand":
				ib = true
			}
		}
	}
	for _, t := range v.Inv.Perftests {
		switch layer, _ := t.LinkLayer.Get(); layer {
		case "Ethernet":
			return yes
		case "IB", "InfiniBand":
			ib = true
		}
	}
	if ib {
		return no
	}
	return unknown
}

// roceOnly is the verdict of a cause of RoCE addressing where the job does not run over RoCE, or nobody can tell.
func (v *View) roceOnly() (Verdict, bool) {
	switch v.roce() {
	case no:
		return notApplicable("the job runs over InfiniBand"), true
	case unknown:
		if s, silent := v.silent(); silent {
			return s, true
		}
		return cannotCheck("whether the job runs over RoCE (ibv_devinfo, or NCCL_DEBUG=INFO)"), true
	}
	return Verdict{}, false
}

// chooses tells whether NCCL chooses the index itself: 2.21 and later do where none is set, and take a RoCE v2 entry
// that is not link-local where there is one (src/transport/net_ib.cc, ncclIbGetGidIndex).
func (v *View) chooses() bool {
	e, set := v.Inv.NCCL.Lookup("NCCL_IB_GID_INDEX")
	if set && !strings.HasPrefix(strings.TrimSpace(e.Value), "-") {
		return false
	}
	version, other := v.Inv.NCCL.Lookup("NCCL_IB_ROCE_VERSION_NUM")
	return v.nccl().atLeast(2, 21) == yes && (!other || strings.TrimSpace(version.Value) == "2")
}

// gidIndexes lists the indexes in use, one a host that is known to use one. An empty list with a reason means
// that it is not known which are used; an automatic choice of NCCL 2.21 or later is one such reason.
func (v *View) gidIndexes() (used []gidIndex, why string) {
	n := &v.Inv.NCCL
	seen := map[string]bool{}
	add := func(g gidIndex) {
		if k := fmt.Sprint(g.index, g.host); !seen[k] {
			seen[k] = true
			used = append(used, g)
		}
	}
	for _, q := range n.QPs {
		if q.GIDIndex >= 0 {
			_, set := v.variable("NCCL_IB_GID_INDEX", q.Host)
			add(gidIndex{q.Host, q.GIDIndex, "used by its QPs", q.From, set})
		}
	}
	for _, e := range n.Events {
		if e.Kind == evidence.ModifyQPFailed && e.HasGIDIndex && e.Local.IsValid() {
			_, set := v.variable("NCCL_IB_GID_INDEX", e.Host)
			add(gidIndex{e.Host, e.GIDIndex, "named by the failed call", e.From, set})
		}
	}
	for _, e := range n.Events { // UCX names the index of a send that failed
		if e.Kind == evidence.CompletionError && e.HasGIDIndex && !n.HasLog {
			add(gidIndex{e.Host, e.GIDIndex, "named by the failed send", e.From, false})
		}
	}
	if len(used) > 0 {
		return used, ""
	}
	auto := false
	for _, e := range n.Env {
		if e.Name != "NCCL_IB_GID_INDEX" {
			continue
		}
		index, err := strconv.Atoi(strings.TrimSpace(e.Value))
		switch {
		case strings.TrimSpace(e.Value) == "":
			index = 0 // NCCL reads an empty value as 0 (src/misc/param.cc, strtoll of "")
		case err != nil:
			continue
		case index < 0:
			auto = true
			continue
		}
		add(gidIndex{e.Host, index, "set by NCCL_IB_GID_INDEX", e.From, true})
	}
	if len(used) > 0 {
		return used, ""
	}
	if auto {
		return nil, "NCCL_IB_GID_INDEX=-1 leaves the choice to NCCL"
	}
	b := v.nccl()
	switch b.atLeast(2, 21) {
	case yes:
		return nil, b.String() + " chooses the index itself"
	case unknown:
		return nil, "neither NCCL_IB_GID_INDEX nor the version of NCCL is known"
	}
	if _, silent := v.silent(); silent {
		return nil, "no NCCL log, so it is not known whether NCCL_IB_GID_INDEX is set"
	}
	hosts := v.jobHosts()
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	addressed := map[string]bool{} // hosts whose errors name a GID of IPv4, which the default index 0 never is
	for _, e := range v.rdmaErrors() {
		if e.Local.Is4In6() {
			addressed[e.Host] = true
		}
	}
	for _, h := range hosts {
		if !addressed[h] {
			add(gidIndex{h, 0, "the default of " + b.String(), b.From, false})
		}
	}
	if len(used) == 0 {
		return nil, "the errors name GIDs of IPv4, so an index is set that the files do not show"
	}
	return used, ""
}

// jobDevices tells which RDMA devices take part in the job: those the library lists, else those that NCCL_IB_HCA lets
// through, else all.
type jobDevices struct {
	v      *View
	listed map[string]map[string]bool // by host; "" for what lists without a host and all lists together name
}

func (v *View) jobDevices() jobDevices {
	return once(v, func(f *facts) **jobDevices { return &f.jobDevices }, func() jobDevices {
		j := jobDevices{v, map[string]map[string]bool{}}
		put := func(host, device string) {
			if j.listed[host] == nil {
				j.listed[host] = map[string]bool{}
			}
			j.listed[host][device] = true
		}
		for _, l := range v.Inv.NCCL.Devices {
			for _, d := range l.Devices {
				for _, name := range strings.Split(d.Device, "+") { // ports that NCCL merged
					put(l.Host, name)
					put("", name)
				}
			}
		}
		return j
	})
}

func (j jobDevices) has(host string, n *evidence.NIC) bool {
	if devices := j.listed[host]; devices != nil {
		return devices[n.Device]
	}
	if e, ok := j.v.variable("NCCL_IB_HCA", host); ok {
		return matchesHCA(e.Value, n.Device, n.Port)
	}
	return true
}

// matchesHCA tells whether NCCL_IB_HCA lets a device through: a list of name prefixes, or of exact names after
// "=", or of what to leave out after "^" (NCCL src/misc/utils.cc, parseStringList and matchIfList).
func matchesHCA(value, device string, port int) bool {
	value, exclude := strings.CutPrefix(value, "^")
	value, exact := strings.CutPrefix(value, "=")
	for _, item := range strings.Split(value, ",") {
		name, p, hasPort := strings.Cut(item, ":")
		if name == "" || exact && name != device || !exact && !strings.HasPrefix(device, name) {
			continue
		}
		if hasPort && p != strconv.Itoa(port) {
			continue
		}
		return !exclude
	}
	return exclude
}

// gidTables are the ports of the job whose GID table is known and speaks RoCE.
type gidTables []hostPort

func (v *View) gidTables() gidTables {
	var tables gidTables
	for _, p := range v.hostPorts() {
		if slices.ContainsFunc(p.GIDs, func(g evidence.GID) bool { return g.Version != "" }) {
			tables = append(tables, p)
		}
	}
	return tables
}

// byHost groups tables so that those of one host are found at once. A table of an unnamed host may be any host's.
func (t gidTables) byHost() func(host string) []hostPort {
	groups := map[string][]hostPort{}
	for _, p := range t {
		groups[p.host.Name] = append(groups[p.host.Name], p)
	}
	return func(host string) []hostPort {
		if host == "" {
			return t
		}
		return slices.Concat(groups[host], groups[""])
	}
}

// hostPort is a port of an RDMA device with its host.
type hostPort struct {
	*evidence.NIC
	host *evidence.Host
}

func (p hostPort) object() string { return object(p.host.Name, p.Device) }

// hostPorts lists the RDMA ports that take part in the job.
func (v *View) hostPorts() []hostPort {
	return once(v, func(f *facts) **[]hostPort { return &f.hostPorts }, func() []hostPort {
		var all []hostPort
		job := v.jobDevices()
		for _, h := range v.Inv.Hosts {
			for _, n := range h.NICs {
				if job.has(h.Name, n) {
					all = append(all, hostPort{n, h})
				}
			}
		}
		return all
	})
}

func (p hostPort) gid(index int) (evidence.GID, bool) {
	i := slices.IndexFunc(p.GIDs, func(g evidence.GID) bool { return g.Index == index })
	if i < 0 {
		return evidence.GID{}, false
	}
	return p.GIDs[i], true
}

// best is the entry of a table that RoCE between hosts should use: version 2 with an IPv4 address, else version
// 2 with a routed IPv6 address, as NCCL 2.21 and later choose by default.
func (p hostPort) best() (evidence.GID, bool) {
	found, ok := evidence.GID{}, false
	for _, g := range p.GIDs {
		if routable(g) && (!ok || g.IPv4() && !found.IPv4()) {
			found, ok = g, true
		}
	}
	return found, ok
}

func describe(g evidence.GID) string {
	kind := "routed"
	if g.LinkLocal() {
		kind = "link-local"
	}
	return fmt.Sprintf("RoCE %s, %s %s", orElse(g.Version, "of unknown version"), kind, g.Address.Unmap())
}
