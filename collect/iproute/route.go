package iproute

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxRoutes limits the routes kept of one host; nodes of container platforms have one a pod network.
const MaxRoutes = 1 << 14

// Route reads ip route:
//
//	default via 192.0.2.1 dev eth0 proto dhcp metric 100
//	192.0.2.0/24 dev ens3np0 proto kernel scope link src 192.0.2.72
type Route struct{ f *fragment.Fragment }

// NewRoute makes a reader for one output.
func NewRoute(f *fragment.Fragment) *Route { return &Route{f} }

// StartsRoute tells whether a line is a route.
func StartsRoute(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	if c := line[0]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != ':' { // a prefix, or "default"
		return false
	}
	if !bytes.Contains(line, []byte(" dev ")) && !bytes.HasPrefix(line, []byte("default via ")) {
		return false
	}
	_, ok := destination(string(line))
	return ok
}

// destination reads the prefix a route begins with.
func destination(line string) (netip.Prefix, bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if word == "default" {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
	}
	if p, err := netip.ParsePrefix(word); err == nil {
		return p, true
	}
	if a, err := netip.ParseAddr(word); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// Line reads one line; false means that it is no route.
func (r *Route) Line(line []byte, n int) bool {
	s := string(line)
	if strings.TrimSpace(s) == "" {
		return true
	}
	p, ok := destination(s)
	if !ok {
		return false
	}
	route := evidence.Route{Prefix: p, From: r.f.At(n)}
	route.Dev, _ = wordAfter(s, " dev ")
	route.Table, _ = wordAfter(s, " table ")
	if via, ok := wordAfter(s, " via "); ok {
		route.Via, _ = netip.ParseAddr(via)
	}
	if src, ok := wordAfter(s, " src "); ok {
		route.Source, _ = netip.ParseAddr(src)
	}
	if route.Dev == "" && !route.Via.IsValid() {
		return false
	}
	if metric, ok := wordAfter(s, " metric "); ok {
		if v, err := strconv.ParseUint(metric, 10, 31); err == nil {
			route.Priority = int(v)
		}
	}
	addRoute(r.f.TheHost(), route)
	return true
}

func addRoute(h *evidence.Host, route evidence.Route) {
	if len(h.Routes) < MaxRoutes {
		h.Routes = append(h.Routes, route)
	}
}

// Rule reads ip rule. The three rules every Linux has are no policy routing and are not kept:
//
//	0:	from all lookup local
//	100:	from 192.0.2.72 lookup 100
//	32766:	from all lookup main
type Rule struct{ f *fragment.Fragment }

// NewRule makes a reader for one output.
func NewRule(f *fragment.Fragment) *Rule { return &Rule{f} }

// StartsRule tells whether a line is a rule.
func StartsRule(line []byte) bool {
	_, ok := rule(line)
	return ok
}

func rule(line []byte) (selector string, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i > 5 { // priorities of rules go to 32767 by default
		return "", false
	}
	for _, c := range line[:i] {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	rest := strings.TrimSpace(string(line[i+1:]))
	if !strings.HasPrefix(rest, "from ") && !strings.HasPrefix(rest, "not ") {
		return "", false
	}
	for _, action := range actions {
		if strings.Contains(rest, action) {
			return rest, true
		}
	}
	return "", false
}

// actions are what a rule may do (ip-rule(8)).
var actions = [...]string{" lookup ", " goto ", " blackhole", " prohibit", " unreachable", " nop"}

// Line reads one line; false means that it is no rule.
func (r *Rule) Line(line []byte, n int) bool {
	selector, ok := rule(line)
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	number, _, _ := bytes.Cut(line, []byte(":"))
	priority, _ := strconv.Atoi(string(number)) // digits only: see rule
	e := evidence.Rule{Priority: priority, Selector: selector, From: r.f.At(n)}
	for _, action := range actions {
		if i := strings.Index(selector, action); i >= 0 {
			e.Selector, e.Action = selector[:i], selector[i+1:]
			break
		}
	}
	if table, ok := strings.CutPrefix(e.Action, "lookup "); ok {
		e.Table, _, _ = strings.Cut(table, " ")
	}
	addRule(r.f.TheHost(), e)
	return true
}

// addRule keeps a rule that is not one every Linux has.
func addRule(h *evidence.Host, rule evidence.Rule) {
	if !h.RulesAt.Set() {
		h.RulesAt = rule.From
	}
	if rule.Selector == "from all" {
		switch rule.Action {
		case "lookup local", "lookup main", "lookup default":
			return
		}
	}
	if len(h.Rules) < MaxRoutes {
		h.Rules = append(h.Rules, rule.From)
		h.Policy = append(h.Policy, rule)
	}
}
