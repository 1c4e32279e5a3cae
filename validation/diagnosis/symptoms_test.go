package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
)

// TestSymptomsAreReached: each of the symptoms people come with leads to a cause that files of a cluster show, and not by
// counters of a simulated run alone.
func TestSymptomsAreReached(t *testing.T) {
	first := map[string]string{}
	for _, a := range archives(t) {
		for _, line := range a.want {
			if code, ok := strings.CutPrefix(line, "first "); ok {
				first[code] = a.name
			}
		}
	}
	for _, s := range diagnose.Symptoms() {
		reached := slices.DeleteFunc(slices.Clone(s.Codes), func(code string) bool { return first[code] == "" })
		if len(reached) < 2 {
			t.Errorf("%q is reached by %v of %v alone", s.Text, reached, s.Codes)
		}
	}
}
