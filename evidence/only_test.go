package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnly(t *testing.T) {
	inv := &Inventory{
		Hosts:     []*Host{{Name: "node1"}, {Name: "node2"}},
		Switches:  []*Switch{{Name: "leaf1"}},
		Settings:  []Setting{{Name: "a", Object: "node1"}, {Name: "b", Object: "node2/mlx5_0"}, {Name: "c"}, {Name: "d", Object: "leaf1"}},
		Calls:     []Call{{Name: "all_reduce"}},
		Perftests: []Perftest{{Host: "node1"}, {Host: "node2"}},
		NCCL: NCCL{
			HasLog: true,
			Env:    []EnvVar{{Name: "X", Host: "node2"}, {Name: "Y"}},
			Events: []Event{{Host: "node1.example.org", Text: "one"}, {Host: "node2", Text: "two"}},
		},
	}
	got := inv.Only("node1")
	var words []string
	for _, s := range got.Settings {
		words = append(words, s.Name)
	}
	for _, e := range got.NCCL.Env {
		words = append(words, e.Name)
	}
	for _, e := range got.NCCL.Events {
		words = append(words, e.Text)
	}
	if diff := cmp.Diff([]string{"a", "c", "d", "Y", "one"}, words); diff != "" {
		t.Error(diff)
	}
	if len(got.Hosts) != 1 || got.Hosts[0].Name != "node1" || len(got.Perftests) != 1 || len(got.Calls) != 1 || len(got.Switches) != 1 || !got.NCCL.HasLog {
		t.Errorf("%+v", got)
	}
	if len(inv.Hosts) != 2 || len(inv.NCCL.Events) != 2 || len(inv.Settings) != 4 {
		t.Errorf("the inventory itself was changed: %+v", inv)
	}
}
