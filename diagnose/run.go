package diagnose

import (
	"cmp"
	"slices"
	"strings"
)

// Check is one cause that was looked at and its outcome.
type Check struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Why   string `json:"why,omitempty"`
}

// Checked counts what was looked at.
type Checked struct {
	Explained []Check `json:"explained"` // found, on their own or as a consequence
	RuledOut  []Check `json:"ruled_out"`
	Could     []Check `json:"could_not_check"`
}

// Total is the number of causes that were looked at.
func (c Checked) Total() int { return len(c.Explained) + len(c.RuledOut) + len(c.Could) }

// Result is the outcome of a diagnosis: findings, first cause first.
type Result struct {
	Findings []Finding `json:"findings"`
	Checked  Checked   `json:"checked"`
}

// MaxFindings limits the findings of one cause: past it a fleet-wide fault would bury everything else.
const MaxFindings = 20

// layers is the bottom-up order in which causes of equal confidence are listed. U are rules of the user's own.
const layers = "PHLIRCJSXU"

// Run checks every cause of the list against the view. Findings that another finding explains are folded into
// it; the rest are ordered by severity, then confidence, then from the physical layer up.
func Run(v *View) Result { return run(v, Causes()) }

// RunWith is Run with causes of the caller's own besides.
func RunWith(v *View, more []Cause) Result { return run(v, slices.Concat(Causes(), more)) }

func run(v *View, causes []Cause) Result {
	v = v.withFacts()
	var result Result
	var all []Finding
	explains := map[string][]string{}
	for _, c := range causes {
		verdict := c.Check(v)
		entry := Check{c.Code, c.Title, verdict.Why}
		switch {
		case len(verdict.Findings) > 0:
			result.Checked.Explained = append(result.Checked.Explained, entry)
			explains[c.Code] = c.Explains
			for i, f := range verdict.Findings {
				if i == MaxFindings {
					break
				}
				f.Code = c.Code
				all = append(all, f)
			}
		case verdict.State == RuledOut:
			result.Checked.RuledOut = append(result.Checked.RuledOut, entry)
		case verdict.State == CannotCheck && !v.Inv.Simulated: // what a simulation does not model is not a gap in its data
			result.Checked.Could = append(result.Checked.Could, entry)
		}
	}
	result.Findings = fold(all, explains)
	return result
}

// fold moves every finding that another one explains into that one, through chains of causes, and orders the rest. A
// note changes nothing and so explains nothing but notes; what explains something critical is critical itself.
func fold(all []Finding, explains map[string][]string) []Finding {
	slices.SortStableFunc(all, before)
	// reaches tells whether cause a explains cause b, directly or through others that were found too.
	var reaches func(a, b string, seen map[string]bool) bool
	reaches = func(a, b string, seen map[string]bool) bool {
		if seen[a] {
			return false
		}
		seen[a] = true
		for _, next := range explains[a] {
			if next == b || explains[next] != nil && reaches(next, b, seen) {
				return true
			}
		}
		return false
	}
	roots := []Finding{}
	for i := range all {
		explained := slices.ContainsFunc(all, func(by Finding) bool {
			return by.Code != all[i].Code && may(by, all[i]) && reaches(by.Code, all[i].Code, map[string]bool{}) &&
				!reaches(all[i].Code, by.Code, map[string]bool{}) && !dearer(all[i], by)
		})
		if !explained {
			roots = append(roots, all[i])
		}
	}
	isRoot := func(f Finding) bool {
		return slices.ContainsFunc(roots, func(r Finding) bool { return r.Code == f.Code && r.Title == f.Title })
	}
	for _, f := range all {
		for i := range roots {
			if f.Code != roots[i].Code && may(roots[i], f) && !isRoot(f) && reaches(roots[i].Code, f.Code, map[string]bool{}) {
				roots[i].Consequences = append(roots[i].Consequences, Consequence{f.Code, f.Title})
				roots[i].Severity = max(roots[i].Severity, f.Severity)
				break
			}
		}
	}
	slices.SortStableFunc(roots, before)
	return roots
}

// may tells whether a is weighty enough to explain b.
func may(a, b Finding) bool { return a.Severity > Note || b.Severity == Note }

// before is the order of findings: by severity, confidence, layer from the bottom up, and code.
func before(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		cmp.Compare(b.Confidence, a.Confidence),
		cmp.Compare(layerOf(a), layerOf(b)),
		cmp.Compare(a.Code, b.Code))
}

// layerOf is the place of a finding's layer from the bottom up; a finding that has no code yet stands before all.
func layerOf(f Finding) int {
	if f.Code == "" {
		return -1
	}
	return strings.IndexByte(layers, f.Code[0])
}

// dearer tells whether a is known to cost more than b: a consequence never does, so a stands on its own.
func dearer(a, b Finding) bool {
	return a.Cost != nil && b.Cost != nil && a.Cost.Of == b.Cost.Of && a.Cost.Extra > b.Cost.Extra
}
