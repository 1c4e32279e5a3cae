package iproute

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Text and JSON say the same.
func TestJSON(t *testing.T) {
	type readJSON func(f *fragment.Fragment, text []byte, line int) error
	show := func(h *evidence.Host) (out []string) {
		for _, d := range h.Netdevs {
			out = append(out, fmt.Sprint(d.Name, " ", d.MTU, " ", d.State, " ", d.MAC, " ", d.Master, " ", d.Addresses, " ", d.Device))
		}
		for _, r := range h.Routes {
			out = append(out, fmt.Sprint(r.Prefix, " ", r.Via, " ", r.Dev, " ", r.Source, " ", r.Priority))
		}
		for _, r := range h.Policy {
			out = append(out, fmt.Sprint(r.Priority, " ", r.Selector, " ", r.Action, " ", r.Table))
		}
		for _, e := range h.Neighbors {
			out = append(out, fmt.Sprint(e.Address, " ", e.Dev, " ", e.MAC, " ", e.State))
		}
		for _, n := range h.NICs {
			out = append(out, fmt.Sprint(n.Device, " ", n.Port, " ", n.State, " ", n.Physical, " ", n.Netdev, " ", n.LinkLayer, " ", n.LID))
		}
		return out
	}
	for name, tc := range map[string]struct {
		json string
		read readJSON
		text string
		open func(f *fragment.Fragment) reader
		want []string
	}{
		"addr": {
			`[{},{"ifindex":2,"ifname":"ens3np0","flags":["UP"],"mtu":9000,"master":"bond0","operstate":"UP","link_type":"ether","address":"02:00:00:00:00:01","addr_info":[{"family":"inet","local":"192.0.2.5","prefixlen":24},{"family":"inet6","local":"fe80::1","prefixlen":64}]}]`, ReadAddr,
			"2: ens3np0: <UP> mtu 9000 qdisc mq master bond0 state UP\n    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n    inet 192.0.2.5/24 scope global ens3np0\n    inet6 fe80::1/64 scope link", func(f *fragment.Fragment) reader { return NewAddr(f) },
			[]string{"ens3np0 9000 UP 02:00:00:00:00:01 bond0 [192.0.2.5/24 fe80::1/64] "},
		},
		"route": {
			`[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","protocol":"dhcp","metric":100,"flags":[]},{"dst":"192.0.2.0/24","dev":"eth0","prefsrc":"192.0.2.5","flags":[]}]`, ReadRoute,
			"default via 192.0.2.1 dev eth0 proto dhcp metric 100\n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.5", func(f *fragment.Fragment) reader { return NewRoute(f) },
			[]string{"0.0.0.0/0 192.0.2.1 eth0 invalid IP 100", "192.0.2.0/24 invalid IP eth0 192.0.2.5 0"},
		},
		"rule": {
			`[{"priority":0,"src":"all","table":"local"},{"priority":100,"src":"192.0.2.72","table":"100"},{"priority":32766,"src":"all","table":"main"}]`, ReadRule,
			"0:\tfrom all lookup local\n100:\tfrom 192.0.2.72 lookup 100\n32766:\tfrom all lookup main", func(f *fragment.Fragment) reader { return NewRule(f) },
			[]string{"100 from 192.0.2.72 lookup 100 100"},
		},
		"neigh": {
			`[{"dst":"192.0.2.1","dev":"eth0","lladdr":"02:00:00:00:00:09","state":["REACHABLE"]},{"dst":"192.0.2.9","dev":"eth0","state":["FAILED"]}]`, ReadNeighbors,
			"192.0.2.1 dev eth0 lladdr 02:00:00:00:00:09 REACHABLE\n192.0.2.9 dev eth0 FAILED", func(f *fragment.Fragment) reader { return NewNeighbors(f) },
			[]string{"192.0.2.1 eth0 02:00:00:00:00:09 REACHABLE", "192.0.2.9 eth0  FAILED"},
		},
		"rdma": {
			`[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ens3np0","netdev_index":5},{"ifindex":1,"ifname":"mlx5_1","port":1,"lid":12,"state":"DOWN","physical_state":"DISABLED"}]`, ReadRDMA,
			"link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens3np0 netdev_index 5\nlink mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 12 sm_lid 1 lmc 0 state DOWN physical_state DISABLED", func(f *fragment.Fragment) reader { return NewRDMA(f) },
			[]string{"ens3np0 unknown unknown unknown  [] mlx5_0", "mlx5_0 1 ACTIVE LinkUp ens3np0 Ethernet unknown", "mlx5_1 1 DOWN Disabled unknown InfiniBand 12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inv := &evidence.Inventory{}
			if err := tc.read(fragment.New(inv, "f"), []byte(tc.json), 7); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, show(inv.Host(""))); diff != "" {
				t.Errorf("JSON: %s", diff)
			}
			if diff := cmp.Diff(tc.want, show(read(t, tc.open, tc.text))); diff != "" {
				t.Errorf("text: %s", diff)
			}
			if tc.read(fragment.New(inv, "f"), []byte("{"), 1) == nil {
				t.Error("nonsense was taken")
			}
		})
	}
}

func TestRDMADevice(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewRDMA(f) }, "0: mlx5_0: node_type ca fw 28.41.1000 node_guid 946d:ae03:00ab:cdef sys_image_guid 946d:ae03:00ab:cdee")
	if n := h.NIC("mlx5_0", 1); n.Firmware.Or("") != "28.41.1000" || n.NodeGUID.Or("") != "946d:ae03:00ab:cdef" || n.SystemGUID.Or("") != "946d:ae03:00ab:cdee" {
		t.Errorf("%+v", n)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`[{"ifname":"a","mtu":-1,"addr_info":[{"local":"::","prefixlen":999}]},{"dst":"default","gateway":"x"},{"priority":1,"src":"a","srclen":5},{"dst":"::","state":[]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		for _, read := range []func(*fragment.Fragment, []byte, int) error{ReadAddr, ReadRoute, ReadRule, ReadNeighbors, ReadRDMA} {
			_ = read(fr, text, 1) // an error is one of the answers
		}
	})
}
