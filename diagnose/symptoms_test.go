package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSymptoms(t *testing.T) {
	known, seen := map[string]bool{}, map[string]bool{}
	for _, c := range Causes() {
		known[c.Code] = true
	}
	if n := len(Symptoms()); n != 7 {
		t.Errorf("%d symptoms", n)
	}
	for _, s := range Symptoms() {
		for _, code := range s.Codes {
			if !known[code] || seen[code] {
				t.Errorf("%q: %s is no cause, or stands under two symptoms", s.Text, code)
			}
			seen[code] = true
			if SymptomOf(code) != s.Text {
				t.Errorf("%s stands under %q", code, SymptomOf(code))
			}
		}
		if !slices.ContainsFunc(Asks(s.Codes[0]), func(a Ask) bool { return a.On <= OnSwitch }) {
			t.Errorf("%q: %s has no command to begin with", s.Text, s.Codes[0])
		}
	}
	if s := SymptomOf("Z999"); s != "" {
		t.Errorf("an unknown code stands under %q", s)
	}
}

// Where nothing else decides, the lowest layer comes first: physical, host, link, addressing, RDMA, collective, job, and
// what is above.
func TestBottomUp(t *testing.T) {
	var causes []Cause
	for _, code := range []string{"U001", "X001", "C001", "P002", "S001", "J001", "R001", "I001", "L001", "H001", "P001"} {
		causes = append(causes, cause(code, Warning, 0.5))
	}
	r := run(emptyView(), causes)
	if diff := cmp.Diff([]string{"P001", "P002", "H001", "L001", "I001", "R001", "C001", "J001", "S001", "X001", "U001"}, codes(r.Findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	last := -1
	for _, c := range Causes() { // the list of codes is read in the same order
		at := strings.IndexByte(layers, c.Code[0])
		if at < last {
			t.Errorf("%s stands above a cause of a higher layer", c.Code)
		}
		last = at
	}
}
