package celrules

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/rules"
)

// Judge evaluates every rule on a cluster.
func (s *Set) Judge(c *rules.Cluster) []rules.Verdict {
	c.Complete()
	s.streams.use(c)
	list := []rules.Verdict{}
	for i := range s.rules {
		list = append(list, s.judge(&s.rules[i], c))
	}
	return list
}

// judge evaluates one rule for each of its subjects. It is found where it holds for one; it could not be checked where it
// holds for none and one does not tell, or where there is none to judge.
func (s *Set) judge(r *compiled, c *rules.Cluster) rules.Verdict {
	v := rules.Verdict{Code: r.Code, Title: r.Title, Needs: r.Needs, Explains: r.Explains}
	cluster := reflect.ValueOf(c)
	list := subjectsOf(r.Subject(), c)
	unknown, reason := 0, ""
	for _, x := range list {
		vars := map[string]any{"cluster": object{cluster}}
		if r.Subject() != rules.OfCluster {
			vars[string(r.Subject())] = object{x}
		}
		out, _, err := r.when.Eval(vars)
		switch {
		case err != nil:
			if unknown++; unknown == 1 {
				reason = tidy(err.Error())
			}
		case out == types.True && len(v.Findings) <= diagnose.MaxFindings: // one more than is kept tells that there were more
			v.Findings = append(v.Findings, r.finding(x, vars))
		}
	}
	switch {
	case len(v.Findings) > 0:
		v.Outcome = rules.Found
	case len(list) == 0:
		v.Outcome, v.Why = rules.Unknown, fmt.Sprintf("no %s is known", r.Subject())
	case unknown > 0:
		v.Outcome, v.Why = rules.Unknown, reason
		if unknown > 1 {
			v.Why += fmt.Sprintf(", and %d more", unknown-1)
		}
	case r.Subject() == rules.OfCluster:
		v.Outcome, v.Why = rules.Clear, "it does not hold"
	default:
		v.Outcome, v.Why = rules.Clear, fmt.Sprintf("it holds for none of %d (%s)", len(list), r.Subject())
	}
	return v
}

// subjectsOf lists what a rule is judged for, as pointers to the structs.
func subjectsOf(subject rules.Subject, c *rules.Cluster) []reflect.Value {
	var list []reflect.Value
	each := func(slice any) {
		v := reflect.ValueOf(slice)
		for i := range v.Len() {
			list = append(list, v.Index(i).Addr())
		}
	}
	switch subject {
	case rules.OfCluster:
		list = []reflect.Value{reflect.ValueOf(c)}
	case rules.OfHost:
		each(c.Hosts)
	case rules.OfSwitch:
		each(c.Switches)
	case rules.OfVariable:
		each(c.Variables)
	case rules.OfSetting:
		each(c.Settings)
	case rules.OfEvent:
		each(c.Events)
	case rules.OfCall:
		each(c.Calls)
	case rules.OfFlow:
		each(c.Flows)
	case rules.OfFlight:
		each(c.Flights)
	case rules.OfPort:
		for i := range c.Switches {
			each(c.Switches[i].Ports)
		}
	default:
		for i := range c.Hosts {
			switch subject {
			case rules.OfNIC:
				each(c.Hosts[i].NICs)
			case rules.OfNetdev:
				each(c.Hosts[i].Netdevs)
			case rules.OfPCI:
				each(c.Hosts[i].PCI)
			case rules.OfGPU:
				each(c.Hosts[i].GPUs)
			case rules.OfIRQ:
				each(c.Hosts[i].IRQs)
			}
		}
	}
	return list
}

// finding fills in the texts of a rule for one subject.
func (r *compiled) finding(x reflect.Value, vars map[string]any) diagnose.Finding {
	say := func(text string) string { return r.say(text, vars) }
	f := diagnose.Finding{
		Title: r.Title, Severity: r.Severity.Severity(), Confidence: r.Sure(), Where: []string{}, Because: say(r.Because),
		Evidence: []diagnose.Evidence{}, WrongIf: say(r.WrongIf), Settle: say(r.Settle), Fix: diagnose.Fix{Text: say(r.Fix.Text)},
	}
	if r.Finding != "" {
		f.Title = say(r.Finding)
	}
	for _, w := range r.Where {
		f.Where = append(f.Where, say(w))
	}
	if len(f.Where) == 0 && r.Subject() != rules.OfCluster {
		f.Where = append(f.Where, whereOf(x.Elem()))
	}
	for _, e := range r.Evidence {
		f.Evidence = append(f.Evidence, diagnose.Evidence{Layer: e.Layer, What: say(e.What), Seen: say(e.Seen), Expected: say(e.Expected), Role: e.Role, From: say(e.From)})
	}
	if len(f.Evidence) == 0 { // the expression is what was seen
		e := diagnose.Evidence{Layer: string(r.Subject()), What: "rule " + r.Code, Seen: strings.Join(strings.Fields(r.When), " "), Role: "cause"}
		if from := x.Elem().FieldByName("From"); from.IsValid() {
			e.From = from.String()
		}
		f.Evidence = append(f.Evidence, e)
	}
	for _, n := range r.Not {
		f.Not = append(f.Not, say(n))
	}
	for _, c := range r.Fix.Commands {
		f.Fix.Commands = append(f.Fix.Commands, say(c))
	}
	return f
}

// whereOf is the object at fault where a rule names none: the thing itself, or the host it was seen on.
func whereOf(v reflect.Value) string {
	if v.FieldByName("Object").IsValid() || v.Type() == reflect.TypeFor[rules.Host]() || v.Type() == reflect.TypeFor[rules.Switch]() {
		return label(v)
	}
	name := label(v)
	if host := v.FieldByName("Host"); host.IsValid() && host.String() != "" {
		if v.FieldByName("Name").IsValid() || v.FieldByName("Address").IsValid() {
			return host.String() + "/" + name
		}
		return host.String()
	}
	return name
}

// say fills in a text. What is unknown in it is said to be.
func (r *compiled) say(text string, vars map[string]any) string {
	var b strings.Builder
	for _, p := range r.texts[text] {
		if p.program == nil {
			b.WriteString(p.literal)
			continue
		}
		out, _, err := p.program.Eval(vars)
		if err != nil {
			b.WriteString("unknown")
			continue
		}
		b.WriteString(show(out))
	}
	return b.String()
}

// show prints a value as a sentence carries it.
func show(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return string(v)
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Double:
		return strconv.FormatFloat(float64(v), 'g', 4, 64)
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case object:
		return label(v.pointer.Elem())
	case traits.Lister:
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, show(it.Next()))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v.Value())
}
