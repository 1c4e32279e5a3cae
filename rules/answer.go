package rules

import (
	"fmt"

	"github.com/shunt-network/shunt/diagnose"
)

// Schema names the form of questions and answers between shunt and shunt-rules. Both are of one release as a rule; where
// they are not, the schema tells.
const Schema = "shunt/rules/v1"

// Question is what shunt-rules judges: files of rules and the evidence.
type Question struct {
	Schema  string   `json:"schema"`
	Files   []string `json:"files"`
	Cluster *Cluster `json:"cluster"`
}

// Answer is what it came to.
type Answer struct {
	Schema   string    `json:"schema"`
	Verdicts []Verdict `json:"verdicts"`
}

// Verdict is what one rule came to.
type Verdict struct {
	Code     string             `json:"code"`
	Title    string             `json:"title"`
	Needs    string             `json:"needs,omitempty"`
	Explains []string           `json:"explains,omitempty"`
	Outcome  Outcome            `json:"outcome"`
	Why      string             `json:"why,omitempty"`
	Findings []diagnose.Finding `json:"findings,omitempty"`
}

// verdict is the verdict in the words of package diagnose.
func (v Verdict) verdict() (diagnose.Verdict, error) {
	switch v.Outcome {
	case Found:
		return diagnose.Verdict{Findings: v.Findings}, nil
	case Clear:
		return diagnose.Verdict{State: diagnose.RuledOut, Why: v.Why}, nil
	case Unknown:
		return diagnose.Verdict{State: diagnose.CannotCheck, Why: v.Why}, nil
	}
	return diagnose.Verdict{}, fmt.Errorf("rules: %s came to %q", v.Code, v.Outcome)
}
