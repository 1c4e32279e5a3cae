package diagnose

import (
	"slices"
	"strings"
)

// Outcome is whether a host has a hazard that was found on another.
type Outcome uint8

// Outcomes. CannotTell is no answer: where something is missing, nothing is clear.
const (
	Clear Outcome = iota
	Same
	CannotTell
)

var outcomeNames = [...]string{"clear", "same", "cannot tell"}

func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText gives the words to JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Hazard is what one cause came to on one host.
type Hazard struct {
	Host    string  `json:"host"` // "" where the input names none
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"` // the finding's title, what rules it out, or what is missing
}

// Hazards runs one cause over each host of a view. Each host is looked at alone first; where that decides nothing, as for
// causes that compare hosts, the view as a whole decides. Hosts come in the order of the inventory; a view that names no
// host is one without a name.
func Hazards(v *View, cause Cause) []Hazard {
	whole := run(v, []Cause{cause})
	hosts := namedHosts(v)
	if len(hosts) < 2 {
		name := ""
		if len(hosts) == 1 {
			name = hosts[0]
		}
		return []Hazard{hazard(name, whole)}
	}
	var list []Hazard
	for _, host := range hosts {
		alone := *v
		alone.Inv, alone.facts = v.Inv.Only(host), nil
		if v.Win != nil {
			alone.Win = v.Win.Only(host)
		}
		h := hazard(host, run(&alone, []Cause{cause}))
		if h.Outcome != Same {
			switch f, found := findingAt(whole.Findings, host); {
			case found:
				h.Outcome, h.Why = Same, f.Title
			case h.Outcome == CannotTell && len(whole.Findings) == 0 && len(whole.Checked.RuledOut) > 0:
				h.Outcome, h.Why = Clear, whole.Checked.RuledOut[0].Why
			}
		}
		list = append(list, h)
	}
	return list
}

// hazard is the outcome of a result of one cause.
func hazard(host string, r Result) Hazard {
	switch {
	case len(r.Findings) > 0:
		return Hazard{host, Same, r.Findings[0].Title}
	case len(r.Checked.RuledOut) > 0:
		return Hazard{host, Clear, r.Checked.RuledOut[0].Why}
	case len(r.Checked.Could) > 0:
		return Hazard{host, CannotTell, r.Checked.Could[0].Why}
	}
	return Hazard{host, CannotTell, "the input holds nothing that this cause is about"}
}

// findingAt finds the finding that names a host among those at fault.
func findingAt(findings []Finding, host string) (Finding, bool) {
	for _, f := range findings {
		if slices.ContainsFunc(f.Where, func(object string) bool { return object == host || strings.HasPrefix(object, host+"/") }) {
			return f, true
		}
	}
	return Finding{}, false
}

// namedHosts lists the hosts that the view knows by name, those of the job too.
func namedHosts(v *View) []string {
	var hosts []string
	add := func(name string) {
		if name, _, _ = strings.Cut(name, "."); name != "" && !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	for _, h := range v.Inv.Hosts {
		add(h.Name)
	}
	for _, name := range v.jobHosts() {
		add(name)
	}
	return hosts
}

// CauseOf finds a cause by its code.
func CauseOf(code string) (Cause, bool) {
	for _, c := range Causes() {
		if c.Code == code {
			return c, true
		}
	}
	return Cause{}, false
}
