// Package iproute owns reading what ip and the old ifconfig print: links, addresses, routes and rules of policy
// routing.
package iproute

import (
	"bytes"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxAddresses limits the addresses kept of one interface. Hosts of container platforms have dozens.
const MaxAddresses = 1 << 10

// Addr reads ip addr and ip link, and ifconfig in both its layouts:
//
//	28: net4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4200 qdisc mq state UP group default qlen 1000
//	    inet6 fd00:1148:9000:5000::ff20/120 scope global
//	eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
//	        inet 192.0.2.6  netmask 255.255.255.0  broadcast 192.0.2.255
//	docker0   Link encap:Ethernet  HWaddr 02:42:a9:9e:3d:33
//	          inet addr:198.51.100.1  Bcast:0.0.0.0  Mask:255.255.0.0
//	          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1
type Addr struct {
	f       *fragment.Fragment
	current *evidence.Netdev
}

// NewAddr makes a reader for one output.
func NewAddr(f *fragment.Fragment) *Addr { return &Addr{f: f} }

// StartsAddr tells whether a line begins an interface.
func StartsAddr(line []byte) bool {
	name, _ := head(line)
	return name != ""
}

// head reads the first line of an interface, in any of the three layouts.
func head(line []byte) (name, rest string) {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return "", ""
	}
	switch {
	case bytes.Contains(line, []byte(": <")) && line[0] >= '0' && line[0] <= '9':
		_, after, _ := strings.Cut(string(line), ": ")
		name, rest, ok := strings.Cut(after, ": <")
		if !ok {
			return "", ""
		}
		name, _, _ = strings.Cut(name, "@") // "eth0@if12" of a veth or VLAN
		return name, rest
	case bytes.Contains(line, []byte(": flags=")):
		name, rest, _ := strings.Cut(string(line), ": flags=")
		return name, rest
	case bytes.Contains(line, []byte("Link encap:")):
		name, rest, _ := strings.Cut(string(line), " ")
		return name, rest
	}
	return "", ""
}

// Line reads one line; false means that it is not of an interface.
func (a *Addr) Line(line []byte, n int) bool {
	if name, rest := head(line); name != "" {
		a.current = a.f.TheHost().Dev(name)
		a.current.At = a.f.At(n)
		a.mtu(rest, n)
		if state, ok := wordAfter(rest, "state "); ok && state != "UNKNOWN" { // UNKNOWN: the driver tracks no state, as lo
			a.current.State = evidence.Known(state, a.f.At(n))
		}
		if master, ok := wordAfter(rest, " master "); ok {
			a.current.Master = master
		}
		return true
	}
	t := strings.TrimSpace(string(line))
	if t == "" {
		return true
	}
	if a.current == nil || line[0] != ' ' && line[0] != '\t' {
		return false
	}
	switch {
	case strings.HasPrefix(t, "link/ether "), strings.HasPrefix(t, "ether "): // the second is ifconfig's
		if mac := strings.Fields(t)[1]; len(mac) == len("02:00:00:00:00:01") {
			a.current.MAC = evidence.Known(mac, a.f.At(n))
		}
	case strings.HasPrefix(t, "inet addr:"):
		address, _ := wordAfter(t, "inet addr:")
		mask, _ := wordAfter(t, "Mask:")
		a.masked(address, mask)
	case strings.HasPrefix(t, "inet6 addr: "):
		p, _ := wordAfter(t, "inet6 addr: ")
		a.prefix(p)
	case strings.HasPrefix(t, "inet "), strings.HasPrefix(t, "inet6 "):
		fields := strings.Fields(t)
		if len(fields) < 2 {
			return true
		}
		switch {
		case strings.Contains(fields[1], "/"):
			a.prefix(fields[1])
		case len(fields) >= 4 && fields[2] == "netmask":
			a.masked(fields[1], fields[3])
		case len(fields) >= 4 && fields[2] == "prefixlen":
			a.prefix(fields[1] + "/" + fields[3])
		}
	default:
		a.mtu(t, n)
	}
	return true
}

func (a *Addr) mtu(rest string, n int) {
	for _, mark := range [...]string{"mtu ", "MTU:"} {
		if w, ok := wordAfter(rest, mark); ok {
			if v, err := strconv.ParseUint(w, 10, 31); err == nil {
				a.current.MTU = evidence.Known(int(v), a.f.At(n))
			}
		}
	}
}

func (a *Addr) prefix(s string) {
	if p, err := netip.ParsePrefix(s); err == nil {
		a.add(p)
	}
}

// masked adds an IPv4 address whose mask is spelled out.
func (a *Addr) masked(address, mask string) {
	ip, err1 := netip.ParseAddr(address)
	m, err2 := netip.ParseAddr(mask)
	if err1 != nil || err2 != nil || !ip.Is4() || !m.Is4() {
		return
	}
	b := m.As4()
	ones := bits.OnesCount32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
	a.add(netip.PrefixFrom(ip, ones))
}

func (a *Addr) add(p netip.Prefix) {
	for _, have := range a.current.Addresses {
		if have == p {
			return
		}
	}
	if len(a.current.Addresses) < MaxAddresses {
		a.current.Addresses = append(a.current.Addresses, p)
	}
}

// wordAfter is the word that follows a mark.
func wordAfter(s, mark string) (string, bool) {
	_, rest, ok := strings.Cut(s, mark)
	if !ok {
		return "", false
	}
	rest = strings.TrimLeft(rest, " ")
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		rest = rest[:i]
	}
	return rest, rest != ""
}
