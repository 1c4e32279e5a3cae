package evidence

import (
	"reflect"
	"strings"
)

// Only is what the inventory knows of one host: what is of another host is left out, what is of no host (variables of a
// command line, switches, measurements of the job) stays. The values are shared with the inventory and not to be changed.
func (inv *Inventory) Only(host string) *Inventory {
	out := *inv
	keepHost(reflect.ValueOf(&out).Elem(), host)
	keepHost(reflect.ValueOf(&out.NCCL).Elem(), host)
	out.Hosts = nil
	for _, h := range inv.Hosts {
		if h.Name == host {
			out.Hosts = append(out.Hosts, h)
		}
	}
	out.Settings = nil
	for _, s := range inv.Settings {
		if object, _, _ := strings.Cut(s.Object, "/"); object == "" || object == host || inv.isSwitch(object) {
			out.Settings = append(out.Settings, s)
		}
	}
	return &out
}

func (inv *Inventory) isSwitch(name string) bool {
	for _, s := range inv.Switches {
		if s.Name == name {
			return true
		}
	}
	return false
}

// keepHost shortens every list of records that name their host, in a field called Host, to those of one host or of none.
// It goes by the field and not by a list of records, so that one that is added later is not forgotten.
func keepHost(v reflect.Value, host string) {
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		f, ok := list.Type().Elem().FieldByName("Host")
		if !ok || f.Type.Kind() != reflect.String {
			continue
		}
		kept := reflect.MakeSlice(list.Type(), 0, list.Len())
		for j := range list.Len() {
			if of, _, _ := strings.Cut(list.Index(j).FieldByIndex(f.Index).String(), "."); of == "" || of == host {
				kept = reflect.Append(kept, list.Index(j))
			}
		}
		list.Set(kept)
	}
}
