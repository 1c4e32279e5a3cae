package main

import (
	"slices"
	"testing"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
)

// Every bundle of files among the examples comes to its one cause, and to nothing else above a note.
func TestExampleBundles(t *testing.T) {
	for bundle, want := range map[string]struct {
		codes []string
		where string
	}{
		"wrong-gid":     {[]string{"I001"}, "gpu-a1/mlx5_0"},
		"flapping-port": {[]string{"P003"}, "gpu-b7/mlx5_2"},
		"bad-cable":     {[]string{"P002"}, "gpu-c4/mlx5_1"},
		"healthy":       {},
	} {
		t.Run(bundle, func(t *testing.T) {
			inv, win, err := collect.Load([]string{"../../examples/files/" + bundle}, collect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range inv.Unreadable {
				t.Errorf("%v: %s", u.From, u.Why)
			}
			r := diagnose.Run(&diagnose.View{Inv: inv, Win: win})
			var codes []string
			for _, f := range r.Findings {
				if f.Severity > diagnose.Note {
					codes = append(codes, f.Code)
				}
			}
			if !slices.Equal(codes, want.codes) {
				t.Fatalf("found %v, want %v", codes, want.codes)
			}
			if want.where != "" && r.Findings[0].Where[0] != want.where {
				t.Errorf("names %v, want %s first", r.Findings[0].Where, want.where)
			}
		})
	}
}
