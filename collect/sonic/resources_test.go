package sonic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

const resources = `

Resource Name           Used Count    Available Count
--------------------  ------------  -----------------
ipv4_route                      16              98187
nexthop_group_member           512              32256
nexthop_group                   12                500


Stage    Bind Point    Resource Name      Used Count    Available Count
-------  ------------  ---------------  ------------  -----------------
INGRESS  PORT          acl_group                  16                232
EGRESS   PORT          acl_table                   0                  2


Table ID         Resource Name      Used Count    Available Count
---------------  ---------------  ------------  -----------------
0x70000000005c6  acl_entry                1023                  0
0x70000000005c6  acl_counter              1023               7169
0x7000000000b41  acl_entry                   4                508

admin@leaf1:~$ show version`

func TestResources(t *testing.T) {
	f := onSwitch()
	taken := feed(NewResources(f), resources)
	if want := strings.Count(resources, "\n"); taken != want {
		t.Errorf("took %d lines, want %d: all but the prompt", taken, want)
	}
	got := map[string][2]int64{}
	for _, h := range f.Inv.Switch("leaf1").Hardware {
		used, _ := h.Used.Get()
		free, _ := h.Available.Get()
		got[h.Name+" "+h.Table] = [2]int64{used, free}
		if h.Refused.Known() || !h.From.Set() {
			t.Errorf("%s: refused %v, from %v", h.Name, h.Refused, h.From)
		}
	}
	want := map[string][2]int64{
		"ipv4_route ": {16, 98187}, "nexthop_group_member ": {512, 32256}, "nexthop_group ": {12, 500},
		"acl_group INGRESS PORT": {16, 232}, "acl_table EGRESS PORT": {0, 2},
		"acl_entry 0x70000000005c6": {1023, 0}, "acl_counter 0x70000000005c6": {1023, 7169}, "acl_entry 0x7000000000b41": {4, 508},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What the switch prints before it has counted for the first time, and what a copy leaves of the columns.
func TestResourcesWithoutNumbers(t *testing.T) {
	f := onSwitch()
	feed(NewResources(f), "CRM counters are not ready. They would be populated after the polling interval.\n\nResource Name    Used Count    Available Count\n---------------  ------------  -----------------\n\n")
	feed(NewResources(f), "Resource Name Used Count Available Count\nacl_entry N/A 5\n")
	if n := len(f.Inv.Switch("leaf1").Hardware); n > 0 {
		t.Errorf("%d tables of nothing: %+v", n, f.Inv.Switch("leaf1").Hardware)
	}
	feed(NewResources(f), "Resource Name  Used Count  Available Count\nfdb_entry  7  32761\n")
	if h := f.Inv.Switch("leaf1").HardwareTable("fdb_entry", ""); h.Used.Or(0) != 7 {
		t.Errorf("squeezed columns: %+v", h)
	}
}

func FuzzResources(f *testing.F) {
	f.Add(resources)
	f.Add("Resource Name  Used Count  Available Count\nacl_entry  99999999999999999999  -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		feed(NewResources(fr), text)
		for _, s := range fr.Inv.Switches {
			for _, h := range s.Hardware {
				if limit, ok := h.Limit(); !ok || limit < 0 {
					t.Errorf("%q has room for %d", h.Name, limit)
				}
			}
		}
	})
}

// A switch sprays where a group of next hops chooses by packet; by flowlet it does not.
func TestSprayingOfConfigDB(t *testing.T) {
	read := func(text string) *evidence.Spraying {
		f := onSwitch()
		if err := ReadConfigDB(f, []byte(text), 1); err != nil {
			t.Fatal(err)
		}
		return f.Inv.Switch("leaf1").Spray
	}
	spray := read(`{"DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}}, "ARS_PROFILE": {"fabric": {"algorithm": "ewma", "sampling_interval": "16"}},
		"ARS_NEXTHOP_GROUP": {"uplinks": {"profile_name": "fabric", "assign_mode": "per_packet"}}}`)
	if spray == nil || spray.Refresh.Or(0) != 16*units.Microsecond || spray.Feedback.Known() {
		t.Errorf("by packet: %+v", spray)
	}
	if spray := read(`{"ARS_PROFILE": {"fabric": {"sampling_interval": "16"}}, "ARS_NEXTHOP_GROUP": {"uplinks": {"profile_name": "fabric", "assign_mode": "per_flowlet_quality"}}}`); spray != nil {
		t.Errorf("by flowlet: %+v", spray)
	}
	if spray := read(`{"ARS_NEXTHOP_GROUP": {"uplinks": {"assign_mode": "per_packet"}}}`); spray == nil || spray.Refresh.Known() {
		t.Errorf("without a profile: %+v", spray)
	}
}
