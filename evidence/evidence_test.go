package evidence

import (
	"fmt"
	"testing"
)

// Missing is not zero: a value that is not known answers no question, and says why it is not known.
func TestValue(t *testing.T) {
	at := Source{File: "f", Line: 3}
	var none Value[int]
	for _, tc := range []struct {
		v     Value[int]
		known bool
		text  string
	}{
		{Known(0, at), true, "0"},
		{Known(7, at), true, "7"},
		{Missing[int]("N/A (no PMA)", at), false, "unknown (N/A (no PMA))"},
		{none, false, "unknown"},
	} {
		if _, ok := tc.v.Get(); ok != tc.known || tc.v.Known() != tc.known || tc.v.String() != tc.text {
			t.Errorf("%v: known %v, want %s", tc.v, ok, tc.text)
		}
		if got := tc.v.Is(func(int) bool { return true }); got != tc.known {
			t.Errorf("%v passes a test: %v", tc.v, got)
		}
		if !tc.known && tc.v.Or(42) != 42 {
			t.Errorf("%v or 42 is %d", tc.v, tc.v.Or(42))
		}
	}
}

func TestSource(t *testing.T) {
	for s, want := range map[Source]string{{File: "a", Line: 2}: "a:2", {File: "a"}: "a", {Run: "simulated, seed 7"}: "simulated, seed 7", {}: ""} {
		if s.String() != want || s.Set() != (want != "") {
			t.Errorf("%+v prints %q, want %q", s, s.String(), want)
		}
	}
}

// The same thing asked for twice is the same thing, under a name cut at its first dot.
func TestInventory(t *testing.T) {
	var inv Inventory
	h := inv.Host("node1.example.org")
	if inv.Host("node1") != h || len(inv.Hosts) != 1 || h.Name != "node1" {
		t.Errorf("hosts %+v", inv.Hosts)
	}
	n := h.NIC("mlx5_0", 2)
	if h.NIC("mlx5_0", 2) != n || h.NIC("mlx5_0", 1) == n || len(h.NICs) != 2 {
		t.Errorf("ports %+v", h.NICs)
	}
	if got := fmt.Sprint(h.Object(h.NIC("mlx5_0", 1)), " ", h.Object(n)); got != "node1/mlx5_0 node1/mlx5_0:2" {
		t.Error(got)
	}
	h.Dev("eth0").Device = "mlx5_0"
	if h.Dev("eth0").Device != "mlx5_0" || len(h.Netdevs) != 1 {
		t.Errorf("interfaces %+v", h.Netdevs)
	}
	s := inv.Switch("leaf1")
	s.Port("Ethernet8").Uplink = true
	if p := inv.Switch("leaf1").Port("Ethernet8"); !p.Uplink || s.Object(*p) != "leaf1/Ethernet8" || len(inv.Switches) != 1 {
		t.Errorf("switches %+v", inv.Switches)
	}
}

// Nonsense in a file cannot fill the memory with ports.
func TestPortsAreBounded(t *testing.T) {
	var inv Inventory
	h := inv.Host("a")
	for i := range MaxPorts + 10 {
		h.NIC(fmt.Sprint("d", i), 1)
	}
	if len(h.NICs) != MaxPorts {
		t.Errorf("%d ports", len(h.NICs))
	}
}

// A setting that holds everywhere goes before one of a single object.
func TestSetting(t *testing.T) {
	inv := Inventory{Settings: []Setting{{Name: "a", Object: "leaf1", Value: "1"}, {Name: "a", Value: "2"}, {Name: "b", Object: "leaf1", Value: "3"}}}
	for name, want := range map[string]string{"a": "2", "b": "3", "c": ""} {
		s, ok := inv.Setting(name)
		if s.Value != want || ok != (want != "") {
			t.Errorf("%s: %+v, %v", name, s, ok)
		}
	}
}
