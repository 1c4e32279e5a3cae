package evidence

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// Names lists what hosts and switches are called anywhere in the inventory, for those who must not let these names out.
// Addresses are not among them. Both lists are sorted; a switch is in the second alone.
func (inv *Inventory) Names() (hosts, switches []string) {
	found := names{hosts: map[string]bool{}, switches: map[string]bool{}}
	found.walk(reflect.ValueOf(inv))
	for name := range found.hosts {
		if !found.switches[name] {
			hosts = append(hosts, name)
		}
	}
	for name := range found.switches {
		switches = append(switches, name)
	}
	slices.Sort(hosts)
	slices.Sort(switches)
	return hosts, switches
}

// names gathers by the names of fields rather than field by field: a record that is added later and has a Host must
// not be forgotten here, where nobody would notice.
type names struct{ hosts, switches map[string]bool }

// nameFields are the fields that name a host, or an object that begins with one.
var nameFields = []string{"Host", "Peer", "Src", "Dst", "Object", "Switch"}

func (n names) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n.walk(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n.walk(v.Index(i))
		}
	case reflect.Struct:
		t := v.Type()
		if s, ok := v.Interface().(Switch); ok {
			n.switches[s.Name] = s.Name != ""
		}
		if h, ok := v.Interface().(Host); ok {
			n.host(h.Name)
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			if f.Type.Kind() == reflect.String && slices.Contains(nameFields, f.Name) {
				n.host(v.Field(i).String())
				continue
			}
			n.walk(v.Field(i))
		}
	}
}

// host takes the name of a host out of a host, "host/device" or "host.domain", and keeps the longer form too.
func (n names) host(object string) {
	name, _, _ := strings.Cut(object, "/")
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "localhost" || strings.ContainsAny(name, "<>[]() \t") {
		return
	}
	if strings.Trim(name, "0123456789.:") == "" { // an address with a port, a number: no name
		return
	}
	n.hosts[name] = true
	if short, _, ok := strings.Cut(name, "."); ok && short != "" {
		n.hosts[short] = true
	}
}
