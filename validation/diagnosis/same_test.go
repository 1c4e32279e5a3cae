package diagnosis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/units"
)

// TestSameEachTime: the same files give the same findings, word for word and in the same order.
func TestSameEachTime(t *testing.T) {
	for _, a := range archives(t) {
		var first diagnose.Result
		for i := range 4 {
			inv, win, err := collect.LoadFS(a.fsys)
			if err != nil {
				t.Fatal(err)
			}
			r := diagnose.Run(&diagnose.View{Inv: inv, Win: win, Tested: a.tested})
			if i == 0 {
				first = r
			} else if diff := cmp.Diff(first, r, cmp.Comparer(func(a, b units.Instant) bool { return a == b })); diff != "" {
				t.Errorf("%s: %s", a.name, diff)
				break
			}
		}
	}
}
