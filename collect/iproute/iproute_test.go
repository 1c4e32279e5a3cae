package iproute

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line([]byte, int) bool }

func read(t testing.TB, open func(*fragment.Fragment) reader, text string) *evidence.Host {
	t.Helper()
	inv := &evidence.Inventory{}
	p := open(fragment.New(inv, "f"))
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if !p.Line([]byte(line), n) {
			t.Errorf("line %d is not taken: %q", n, line)
		}
	}
	return inv.Host("")
}

func TestAddr(t *testing.T) {
	for name, text := range map[string]string{
		"ip addr": `4: ens3np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    link/ether a0:88:c2:00:00:01 brd ff:ff:ff:ff:ff:ff
    altname enp51s0
    inet 192.0.2.72/24 brd 192.0.2.255 scope global ens3np0
       valid_lft forever preferred_lft forever
    inet6 fe80::1/64 scope link
5: eth0@if12: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default`,
		"ifconfig": `ens3np0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000
        inet 192.0.2.72  netmask 255.255.255.0  broadcast 192.0.2.255
        inet6 fe80::1  prefixlen 64  scopeid 0x20<link>
        RX packets 17  bytes 12 (12.0 B)

eth0: flags=4098<BROADCAST,MULTICAST>  mtu 1500`,
		"old ifconfig": `ens3np0   Link encap:Ethernet  HWaddr a0:88:c2:00:00:01
          inet addr:192.0.2.72  Bcast:192.0.2.255  Mask:255.255.255.0
          inet6 addr: fe80::1/64 Scope:Link
          UP BROADCAST RUNNING MULTICAST  MTU:9000  Metric:1
          RX packets:44859841 errors:0 dropped:255 overruns:255 frame:0

eth0      Link encap:Ethernet  HWaddr a0:88:c2:00:00:02
          BROADCAST MULTICAST  MTU:1500  Metric:1`,
	} {
		t.Run(name, func(t *testing.T) {
			h := read(t, func(f *fragment.Fragment) reader { return NewAddr(f) }, text)
			var got []string
			for _, d := range h.Netdevs {
				got = append(got, fmt.Sprint(d.Name, " ", d.MTU, " ", d.Addresses))
			}
			want := []string{"ens3np0 9000 [192.0.2.72/24 fe80::1/64]", "eth0 1500 []"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if name == "ip addr" && (h.Netdevs[0].State.Or("") != "UP" || h.Netdevs[1].State.Or("") != "DOWN") {
				t.Errorf("states %v, %v", h.Netdevs[0].State, h.Netdevs[1].State)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	h := read(t, func(f *fragment.Fragment) reader { return NewRoute(f) }, `default via 192.0.2.1 dev eth0 proto dhcp metric 100
192.0.2.0/24 dev ens3np0 proto kernel scope link src 192.0.2.72
198.51.100.7 via 192.0.2.1 dev ens3np0 table 100`)
	var got []string
	for _, r := range h.Routes {
		got = append(got, fmt.Sprint(r.Prefix, " ", r.Via, " ", r.Dev, " ", r.Source, " ", r.Table))
	}
	want := []string{"0.0.0.0/0 192.0.2.1 eth0 invalid IP ", "192.0.2.0/24 invalid IP ens3np0 192.0.2.72 ", "198.51.100.7/32 192.0.2.1 ens3np0 invalid IP 100"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The three rules of every Linux are no policy routing, and a host without others is told from one nothing is known of.
func TestRules(t *testing.T) {
	const standard = "0:\tfrom all lookup local\n32766:\tfrom all lookup main\n32767:\tfrom all lookup default"
	open := func(f *fragment.Fragment) reader { return NewRule(f) }
	if h := read(t, open, standard); len(h.Rules) != 0 || h.RulesAt.Line != 1 {
		t.Errorf("%+v at %v", h.Rules, h.RulesAt)
	}
	if h := read(t, open, standard+"\n100:\tfrom 192.0.2.72 lookup 100"); len(h.Rules) != 1 || h.Rules[0].Line != 4 || h.Policy[0].Selector != "from 192.0.2.72" || h.Policy[0].Table != "100" || h.Policy[0].Priority != 100 {
		t.Errorf("%+v", h.Rules)
	}
	if h := read(t, open, ""); h.RulesAt.Set() {
		t.Error("rules out of nothing")
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("1: a: <UP> mtu 9\n inet 192.0.2.1/24\n inet6 ::1/128\n inet 1.1.1.1  netmask 255.0.0.0"))
	f.Add([]byte("a Link encap:E\n inet addr:1.1.1.1 Mask:255.255.255.0\ndefault via 1.1.1.1 dev a\n0: from all lookup local"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		fr := fragment.New(inv, "f")
		ps := []reader{NewAddr(fr), NewRoute(fr), NewRule(fr), NewNeighbors(fr), NewRDMA(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			for _, p := range ps {
				p.Line(line, 1)
			}
			StartsAddr(line)
			StartsRoute(line)
			StartsRule(line)
			StartsNeighbors(line)
			StartsRDMA(line)
		}
		for _, d := range inv.Host("").Netdevs {
			if v, ok := d.MTU.Get(); ok && v < 0 {
				t.Fatal("a negative MTU")
			}
		}
	})
}
