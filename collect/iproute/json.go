package iproute

import (
	"encoding/json"
	"net/netip"
	"strconv"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// What ip and rdma print with -j says the same in objects, whose members have the names of the netlink attributes
// (iproute2, print_ functions with PRINT_ANY). An object that was filtered out is left empty.

// link is one interface of ip -j link and ip -j addr.
type link struct {
	Name      string `json:"ifname"`
	MTU       *int   `json:"mtu"`
	State     string `json:"operstate"`
	Master    string `json:"master"`
	MAC       string `json:"address"`
	Type      string `json:"link_type"`
	Addresses []struct {
		Local  string `json:"local"`
		Prefix int    `json:"prefixlen"`
	} `json:"addr_info"`
}

// ReadAddr reads ip -j addr and ip -j link.
func ReadAddr(f *fragment.Fragment, text []byte, line int) error {
	var links []link
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	at := f.At(line)
	for _, l := range links {
		if l.Name == "" {
			continue
		}
		dev := f.TheHost().Dev(l.Name)
		dev.At, dev.Master = at, l.Master
		if l.MTU != nil {
			dev.MTU = evidence.Known(*l.MTU, at)
		}
		if l.State != "" && l.State != "UNKNOWN" {
			dev.State = evidence.Known(l.State, at)
		}
		if l.MAC != "" && l.Type == "ether" {
			dev.MAC = evidence.Known(l.MAC, at)
		}
		a := Addr{f: f, current: dev}
		for _, info := range l.Addresses {
			if ip, err := netip.ParseAddr(info.Local); err == nil && info.Prefix >= 0 && info.Prefix <= ip.BitLen() {
				a.add(netip.PrefixFrom(ip, info.Prefix))
			}
		}
	}
	return nil
}

// ReadRoute reads ip -j route.
func ReadRoute(f *fragment.Fragment, text []byte, line int) error {
	var routes []struct {
		Dst      string `json:"dst"`
		Gateway  string `json:"gateway"`
		Dev      string `json:"dev"`
		Source   string `json:"prefsrc"`
		Table    string `json:"table"`
		Priority int    `json:"metric"`
	}
	if err := json.Unmarshal(text, &routes); err != nil {
		return err
	}
	for _, r := range routes {
		p, ok := destination(r.Dst)
		if !ok || r.Dev == "" && r.Gateway == "" {
			continue
		}
		route := evidence.Route{Prefix: p, Dev: r.Dev, Table: r.Table, Priority: r.Priority, From: f.At(line)}
		route.Via, _ = netip.ParseAddr(r.Gateway)
		route.Source, _ = netip.ParseAddr(r.Source)
		addRoute(f.TheHost(), route)
	}
	return nil
}

// ReadRule reads ip -j rule.
func ReadRule(f *fragment.Fragment, text []byte, line int) error {
	var rules []struct {
		Priority int    `json:"priority"`
		Src      string `json:"src"`
		SrcLen   *int   `json:"srclen"`
		Table    string `json:"table"`
		Action   string `json:"action"`
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		return err
	}
	for _, r := range rules {
		if r.SrcLen != nil {
			r.Src += "/" + strconv.Itoa(*r.SrcLen)
		}
		rule := evidence.Rule{Priority: r.Priority, Selector: "from " + r.Src, Action: r.Action, Table: r.Table, From: f.At(line)}
		if r.Table != "" {
			rule.Action = "lookup " + r.Table
		}
		addRule(f.TheHost(), rule)
	}
	return nil
}

// ReadNeighbors reads ip -j neigh.
func ReadNeighbors(f *fragment.Fragment, text []byte, line int) error {
	var entries []struct {
		Dst   string   `json:"dst"`
		Dev   string   `json:"dev"`
		MAC   string   `json:"lladdr"`
		State []string `json:"state"`
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	for _, e := range entries {
		ip, err := netip.ParseAddr(e.Dst)
		if err != nil || len(e.State) == 0 {
			continue
		}
		addNeighbor(f.TheHost(), evidence.Neighbor{Address: ip, Dev: e.Dev, MAC: e.MAC, State: e.State[0], From: f.At(line)})
	}
	return nil
}

// ReadRDMA reads rdma -j link.
func ReadRDMA(f *fragment.Fragment, text []byte, line int) error {
	var links []struct {
		Name     string `json:"ifname"`
		Port     int    `json:"port"`
		State    string `json:"state"`
		Physical string `json:"physical_state"`
		Netdev   string `json:"netdev"`
		LID      *int   `json:"lid"`
	}
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	at := f.At(line)
	for _, l := range links {
		if l.Name == "" || l.Port < 1 || l.Port > 255 {
			continue
		}
		nic := f.TheHost().NIC(l.Name, l.Port)
		if l.State != "" {
			nic.State = evidence.Known(l.State, at)
		}
		if l.Physical != "" {
			nic.Physical = evidence.Known(physicalState(l.Physical), at)
		}
		if l.Netdev != "" {
			nic.Netdev = evidence.Known(l.Netdev, at)
			nic.LinkLayer = evidence.Known("Ethernet", at)
			f.TheHost().Dev(l.Netdev).Device = l.Name
		}
		if l.LID != nil {
			nic.LID = evidence.Known(*l.LID, at)
			nic.LinkLayer = evidence.Known("InfiniBand", at)
		}
	}
	return nil
}
