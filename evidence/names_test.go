package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	inv := &Inventory{
		Hosts:    []*Host{{Name: "node1", NICs: []*NIC{{Device: "mlx5_0", Switch: "leaf1/Ethernet8"}}}, {Name: ""}},
		Switches: []*Switch{{Name: "leaf1", Ports: []SwitchPort{{Name: "Ethernet8", Peer: "node2/mlx5_0"}, {Name: "Ethernet16", Peer: "spine1/Ethernet0"}}}, {Name: "spine1"}},
		Settings: []Setting{{Name: "a", Object: "node3"}, {Name: "b"}},
		Flows:    []Flow{{Src: "node4", Dst: "192.0.2.7"}},
		Files:    []File{{Path: "x", Host: "node5"}},
		NCCL: NCCL{Events: []Event{
			{Host: "node6.example.org", Peer: "192.0.2.9<4791>"}, {Peer: "192.0.2.9:4791"}, {Peer: "a peer"}, {Peer: "2001:db8::1"}, {Host: "localhost"}, {Host: "17"},
		}},
	}
	hosts, switches := inv.Names()
	if diff := cmp.Diff([]string{"node1", "node2", "node3", "node4", "node5", "node6", "node6.example.org"}, hosts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"leaf1", "spine1"}, switches); diff != "" {
		t.Error(diff)
	}
	if h, s := (&Inventory{}).Names(); h != nil || s != nil {
		t.Errorf("an empty inventory has names: %v, %v", h, s)
	}
}
