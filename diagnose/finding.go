package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/units"
)

// Severity is how much a finding matters to the job.
type Severity uint8

// Severities: a note is worth knowing and changes nothing by itself; a warning costs speed or will; critical
// stops the job or takes a large share of its speed.
const (
	Note Severity = iota
	Warning
	Critical
)

var severityNames = [...]string{"note", "warning", "critical"}

func (s Severity) String() string { return severityNames[s] }

// MarshalText gives the word to JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *Severity) UnmarshalText(t []byte) error {
	for i, name := range severityNames {
		if string(t) == name {
			*s = Severity(i)
			return nil
		}
	}
	return fmt.Errorf("severity %q is not one of note, warning, critical", t)
}

// Finding is one cause that the evidence speaks for.
type Finding struct {
	Code       string     `json:"code"`
	Title      string     `json:"title"` // one sentence, lower case, with the names and numbers of this case
	Severity   Severity   `json:"severity"`
	Confidence float64    `json:"confidence"` // 0..1
	Where      []string   `json:"where"`      // objects at fault, culprit first
	Cost       *Cost      `json:"cost,omitempty"`
	Because    string     `json:"because"`            // the mechanism, in one sentence
	Evidence   []Evidence `json:"evidence"`           // in order of onset: the cause first, then its effects
	Not        []string   `json:"not,omitempty"`      // look-alikes and what speaks against them
	WrongIf    string     `json:"wrong_if,omitempty"` // what would refute the finding
	Fix        Fix        `json:"fix"`
	Settle     string     `json:"settle,omitempty"` // the one command or datum that would settle what doubt is left
	// Consequences are findings that this one explains; they are not listed on their own.
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Consequence is a finding folded into the one that explains it.
type Consequence struct {
	Code  string `json:"code"`
	Title string `json:"title"`
}

// Cost is what a finding costs the job, and how that was worked out.
type Cost struct {
	Of       string         `json:"of"` // "step", "alltoall"
	Extra    units.Duration `json:"extra"`
	Seen     units.Duration `json:"seen,omitempty"`
	Expected units.Duration `json:"expected,omitempty"`
	How      string         `json:"how"` // the formula and its inputs
}

// Evidence is one observation: what was looked at, what was seen, and what a healthy network would show.
type Evidence struct {
	Layer    string         `json:"layer"` // "physical", "host", "switch", "NIC", "RDMA", "collective", "step", "job"
	What     string         `json:"what"`
	Seen     string         `json:"seen"`
	Expected string         `json:"expected,omitempty"`
	At       *units.Instant `json:"at,omitempty"`   // onset, where known
	Role     string         `json:"role,omitempty"` // "cause", "effect", ""
	From     string         `json:"from,omitempty"` // file:line, or series and object
}

// Fix is what to change.
type Fix struct {
	Text     string   `json:"text"`
	Commands []string `json:"commands,omitempty"` // to copy, never run by Shunt
	Try      []Change `json:"try,omitempty"`      // the same in the shared names of settings, for a what-if
	Trial    *Trial   `json:"trial,omitempty"`
	// Others are changes that are advised for the same trouble, tried beside the fix so that it shows what each is worth.
	Others []Alternative `json:"others,omitempty"`
}

// Alternative is another change for the same finding.
type Alternative struct {
	Text  string   `json:"text"`
	Try   []Change `json:"try,omitempty"`
	Trial *Trial   `json:"trial,omitempty"`
}

// Change sets a setting (evidence.Setting's names).
type Change struct {
	Setting string `json:"setting"`
	Object  string `json:"object,omitempty"`
	Value   string `json:"value"`
}

// Trial is the fix tried: the same scenario run with it, over the same seeds.
type Trial struct {
	Metric string         `json:"metric"` // "step", "all_reduce"
	Before units.Duration `json:"before"`
	After  units.Duration `json:"after"`
	Spread units.Duration `json:"spread"` // half the range of the gain over the seeds, of After where the job stalls without
	Seeds  int            `json:"seeds"`
	// Stalled says that the job never ends without the fix, so there is no time before.
	Stalled bool `json:"stalled,omitempty"`
}

// Gain is the share of the time that the fix saves; a job that ends at all is worth all of it.
func (t *Trial) Gain() float64 {
	if t.Stalled {
		return 1
	}
	return float64(t.Before-t.After) / float64(t.Before)
}
