package diagnose

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

func emptyView() *View {
	return &View{Inv: &evidence.Inventory{}, Win: telemetry.NewWindow(units.Instant{}, units.Instant{})}
}

// cause makes a cause that is always found.
func cause(code string, s Severity, confidence float64, explains ...string) Cause {
	return Cause{Code: code, Title: code, Explains: explains, Check: func(*View) Verdict {
		return found(Finding{Title: code, Severity: s, Confidence: confidence})
	}}
}

func codes(fs []Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Code)
	}
	return out
}

func TestOrder(t *testing.T) {
	r := run(emptyView(), []Cause{
		cause("C001", Warning, 0.9), cause("H001", Critical, 0.5), cause("R001", Critical, 0.9), cause("P003", Critical, 0.9), cause("J001", Note, 0.95),
	})
	if diff := cmp.Diff([]string{"P003", "R001", "H001", "C001", "J001"}, codes(r.Findings)); diff != "" {
		t.Errorf("severity first, then confidence, then bottom up (-want +got):\n%s", diff)
	}
}

func TestConsequencesFoldThroughChains(t *testing.T) {
	r := run(emptyView(), []Cause{
		cause("P003", Critical, 0.8, "R004"), cause("R004", Critical, 0.5, "J003"), cause("J003", Critical, 0.95), cause("H001", Warning, 0.9),
	})
	if diff := cmp.Diff([]string{"P003", "H001"}, codes(r.Findings)); diff != "" {
		t.Fatalf("findings (-want +got):\n%s", diff)
	}
	want := []Consequence{{"J003", "J003"}, {"R004", "R004"}}
	if diff := cmp.Diff(want, r.Findings[0].Consequences); diff != "" {
		t.Errorf("consequences (-want +got):\n%s", diff)
	}
}

// A chain holds only through causes that were found: P003 does not explain J003 by way of an R004 that is not there.
func TestChainsNeedTheirLinks(t *testing.T) {
	r := run(emptyView(), []Cause{cause("P003", Critical, 0.8, "R004"), cause("J003", Critical, 0.5)})
	if diff := cmp.Diff([]string{"P003", "J003"}, codes(r.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// Two causes that explain each other are both kept: neither can be told to be first.
func TestMutualExplanationsAreKept(t *testing.T) {
	r := run(emptyView(), []Cause{cause("I007", Critical, 0.8, "J003"), cause("J003", Critical, 0.9, "I007")})
	if len(r.Findings) != 2 {
		t.Errorf("findings %v, want both", codes(r.Findings))
	}
}

func TestCheckedIsCounted(t *testing.T) {
	state := func(code string, v Verdict) Cause { return Cause{Code: code, Check: func(*View) Verdict { return v }} }
	r := run(emptyView(), []Cause{cause("P003", Critical, 0.8), state("H001", ruledOut("x")), state("I001", cannotCheck("y")), state("R003", notApplicable("z"))})
	if got := r.Checked.Total(); got != 3 {
		t.Errorf("checked %d, want 3: what does not apply is not counted", got)
	}
}

// The causes of hosts explain each other without circles, so that the first cause is always one of them.
func TestHostCausesExplainWithoutCircles(t *testing.T) {
	explains := map[string][]string{}
	for _, c := range Causes() {
		if explains[c.Code] != nil {
			t.Errorf("%s is there twice", c.Code)
		}
		explains[c.Code] = append([]string{}, c.Explains...)
	}
	var path []string
	var walk func(code string)
	walk = func(code string) {
		if i := slices.Index(path, code); i >= 0 {
			t.Errorf("circle: %v", append(path[i:], code))
			return
		}
		path = append(path, code)
		for _, next := range explains[code] {
			if _, ok := explains[next]; !ok {
				t.Errorf("%s explains %s, which is no cause", code, next)
				continue
			}
			walk(next)
		}
		path = path[:len(path)-1]
	}
	for code := range explains {
		walk(code)
	}
}
