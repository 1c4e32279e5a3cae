package diagnose

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/evidence"
)

// limitedMemory is a cause of single hosts: one whose locked memory is not unlimited has it.
var limitedMemory = Cause{Code: "H901", Title: "limited", Check: func(v *View) Verdict {
	known := false
	for _, h := range v.Inv.Hosts {
		if limit, ok := h.Memlock.Get(); ok {
			known = true
			if limit != "unlimited" {
				return found(Finding{Title: h.Name + " has " + limit, Where: []string{h.Name}})
			}
		}
	}
	if !known {
		return cannotCheck("ulimit -l")
	}
	return ruledOut("it is unlimited")
}}

// different is a cause that compares hosts: it says nothing about one alone.
var different = Cause{Code: "R901", Title: "different", Check: func(v *View) Verdict {
	if len(v.Inv.Hosts) < 2 {
		return cannotCheck("two hosts")
	}
	if a, b := v.Inv.Hosts[0], v.Inv.Hosts[1]; a.Memlock.Or("") != b.Memlock.Or("") {
		return found(Finding{Title: "they differ", Where: []string{b.Name + "/mlx5_0"}})
	}
	return ruledOut("they are alike")
}}

func memory(limits map[string]string, names ...string) *View {
	v := emptyView()
	for _, name := range names {
		h := v.Inv.Host(name)
		if limit := limits[name]; limit != "" {
			h.Memlock = evidence.Known(limit, evidence.Source{File: name})
		}
	}
	return v
}

func TestHazards(t *testing.T) {
	v := memory(map[string]string{"node1": "64", "node2": "unlimited"}, "node1", "node2", "node3")
	want := []Hazard{{"node1", Same, "node1 has 64"}, {"node2", Clear, "it is unlimited"}, {"node3", CannotTell, "ulimit -l"}}
	if diff := cmp.Diff(want, Hazards(v, limitedMemory)); diff != "" {
		t.Error(diff)
	}
	v = memory(map[string]string{"node1": "64", "node2": "unlimited"}, "node1", "node2")
	want = []Hazard{{"node1", CannotTell, "two hosts"}, {"node2", Same, "they differ"}}
	if diff := cmp.Diff(want, Hazards(v, different)); diff != "" {
		t.Errorf("a cause that compares:\n%s", diff)
	}
	v = memory(nil, "node1", "node2")
	want = []Hazard{{"node1", Clear, "they are alike"}, {"node2", Clear, "they are alike"}}
	if diff := cmp.Diff(want, Hazards(v, different)); diff != "" {
		t.Errorf("a cause that compares, and is ruled out:\n%s", diff)
	}
	if diff := cmp.Diff([]Hazard{{"", CannotTell, "ulimit -l"}}, Hazards(emptyView(), limitedMemory)); diff != "" {
		t.Errorf("an input that names no host:\n%s", diff)
	}
	if _, ok := CauseOf("P003"); !ok {
		t.Error("P003 is not found")
	}
	if _, ok := CauseOf("Z999"); ok {
		t.Error("Z999 is found")
	}
}
