package scenario

import (
	"fmt"

	"github.com/shunt-network/shunt/diagnose"
)

// Score compares findings with what the scenario expects of a diagnosis, and returns what does not fit; nothing when all
// does. Notes beyond the expected are allowed: they change nothing.
func (s *Scenario) Score(r diagnose.Result) []string {
	var wrong []string
	var codes []string
	for _, f := range r.Findings {
		if f.Severity > diagnose.Note {
			codes = append(codes, f.Code)
		}
	}
	for i := range max(len(codes), len(s.Expect.Findings)) {
		switch {
		case i >= len(codes):
			wrong = append(wrong, fmt.Sprintf("expected %s, found nothing more", s.Expect.Findings[i]))
		case i >= len(s.Expect.Findings):
			wrong = append(wrong, fmt.Sprintf("found %s: %s, which was not expected", codes[i], r.Findings[i].Title))
		case codes[i] != s.Expect.Findings[i]:
			wrong = append(wrong, fmt.Sprintf("finding %d is %s: %s, expected %s", i+1, codes[i], r.Findings[i].Title, s.Expect.Findings[i]))
		}
	}
	if s.Expect.Where != "" && len(r.Findings) > 0 && r.Findings[0].Where[0] != s.Expect.Where {
		wrong = append(wrong, fmt.Sprintf("%s names %s, expected %s", r.Findings[0].Code, r.Findings[0].Where[0], s.Expect.Where))
	}
	if s.Expect.Gain > 0 && len(r.Findings) > 0 {
		if t := r.Findings[0].Fix.Trial; t == nil {
			wrong = append(wrong, "the fix was not tried")
		} else if gain := t.Gain(); gain < float64(s.Expect.Gain) {
			wrong = append(wrong, fmt.Sprintf("the fix gains %.1f %%, expected at least %s", 100*gain, s.Expect.Gain))
		}
	}
	return wrong
}
