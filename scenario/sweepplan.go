package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/internal/spec"
)

// SweepPlanName is the name that the plan of a sweep goes by in the folder of its scenario.
const SweepPlanName = "sweep.yaml"

// SweepPlan is a sweep as people write it: axes whose values have names and may set several fields each, which no list of values of one
// field can say, and the tables that the results are laid out in.
type SweepPlan struct {
	_      struct{}    `doc:"A sweep: the axes over which the scenario beside it is run, and the tables of its results."`
	Over   []PlanAxis  `yaml:"over" required:"true" min:"1" max:"16" doc:"the axes; every combination of their values is run"`
	Tables []PlanTable `yaml:"tables" max:"64" doc:"how results are laid out (default: the best by one figure)"`

	doc *spec.Doc
}

// PlanAxis is one axis: a field and its values, or named values.
type PlanAxis struct {
	Field  string      `yaml:"field" example:"seed=1..5" doc:"a field and its values, as --over takes them"`
	Name   string      `yaml:"name" example:"scheme" doc:"what the axis is called, where its values have names"`
	Values []PlanValue `yaml:"values" max:"1000" doc:"its named values"`
}

// PlanValue is one named value of an axis.
type PlanValue struct {
	Name string   `yaml:"name" required:"true" example:"e-ecmp" doc:"what the value is called"`
	Set  []string `yaml:"set" example:"[path_choice=ecmp-qpn, nic.qps=4]" doc:"fields that it sets, path=value each (default: none)"`
}

// PlanTable is one layout of the results. With columns it is a table of one figure, axis against axis; without, its columns are the
// figures. Every combination of values of the other axes has a table of its own; points that differ in the seed alone are taken together.
type PlanTable struct {
	Title   string      `yaml:"title" doc:"what stands above it (default: the figure)"`
	Rows    string      `yaml:"rows" required:"true" example:"scheme" doc:"the axis that has a row for each value"`
	Columns string      `yaml:"columns" example:"fabric" doc:"the axis that has a column for each value (default: the figures are the columns)"`
	Figures []string    `yaml:"figures" required:"true" min:"1" max:"32" example:"[message p99]" doc:"the figures, as shunt sweep --by names them"`
	Over    SeedSummary `yaml:"over_seeds" doc:"what is shown of the runs that differ in the seed alone (default: mean)"`
}

// SeedSummary is how the runs of one combination are summed up.
type SeedSummary string

// Summaries of seeds.
const (
	SeedMean SeedSummary = "mean" // and how far they lie apart
	SeedP99  SeedSummary = "p99"  // by nearest rank: the worst of up to 100
)

// Choices lists the summaries.
func (SeedSummary) Choices() []string { return []string{string(SeedMean), string(SeedP99)} }

// HasSweepPlan tells whether path is a folder with the plan of a sweep.
func HasSweepPlan(path string) bool {
	info, err := os.Stat(filepath.Join(path, SweepPlanName))
	return err == nil && info.Mode().IsRegular()
}

// ReadSweepPlan reads sweep.yaml in a folder. The error is a spec.Problems where the file is wrong.
func ReadSweepPlan(dir string) (*SweepPlan, error) {
	path := filepath.Join(dir, SweepPlanName)
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return ParseSweepPlan(path, src)
}

// ParseSweepPlan reads a plan; file is the name that problems are reported under.
func ParseSweepPlan(file string, src []byte) (*SweepPlan, error) {
	doc, problems := spec.Parse(file, src)
	if len(problems) > 0 {
		return nil, problems
	}
	p := &SweepPlan{doc: doc}
	if problems = doc.Decode(p); len(problems) == 0 {
		p.check(doc.Reporter(&problems, ""))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// check reports what the fields have wrong together.
func (p *SweepPlan) check(report func(path, text string)) {
	var names []string
	for i := range p.Over {
		at := fmt.Sprintf("over[%d]", i)
		a, err := p.Over[i].axis()
		if err != nil {
			report(at, err.Error())
			continue
		}
		if slices.Contains(names, a.Path) {
			report(at, fmt.Sprintf("there is an axis %s already; write its values in one", a.Path))
		}
		names = append(names, a.Path)
	}
	for i, t := range p.Tables {
		for _, x := range []struct{ field, name string }{{"rows", t.Rows}, {"columns", t.Columns}} {
			if x.name != "" && !slices.Contains(names, x.name) {
				report(fmt.Sprintf("tables[%d].%s", i, x.field), fmt.Sprintf("no axis is called %q; there are %s", x.name, strings.Join(names, ", ")))
			}
		}
		if t.Columns == t.Rows {
			report(fmt.Sprintf("tables[%d].columns", i), "the same axis cannot be rows and columns")
		}
	}
}

// axis turns the axis of a plan into one of a sweep.
func (x *PlanAxis) axis() (Axis, error) {
	if (x.Field != "") == (len(x.Values) > 0) || x.Field != "" && x.Name != "" {
		return Axis{}, fmt.Errorf("an axis has either field, or name and values")
	}
	if x.Field != "" {
		return ParseAxis(x.Field)
	}
	a := Axis{Path: x.Name}
	if x.Name == "" {
		return a, fmt.Errorf("an axis of named values needs a name; add name: scheme")
	}
	for _, v := range x.Values {
		if slices.Contains(a.Values, v.Name) {
			return a, fmt.Errorf("%s has two values %q", x.Name, v.Name)
		}
		set := []Setting{} // a value may change nothing, and is a named one all the same
		for _, text := range v.Set {
			s, err := ParseSetting(text)
			if err != nil {
				return a, err
			}
			set = append(set, s)
		}
		a.Values, a.sets = append(a.Values, v.Name), append(a.sets, set)
	}
	return a, nil
}

// Axes are those of the plan with those of a command line in the place of the ones they name: other values of a field, or some of the
// values of a named axis. Others are added.
func (p *SweepPlan) Axes(over []Axis) ([]Axis, error) {
	var out []Axis
	for i := range p.Over {
		a, err := p.Over[i].axis()
		if err != nil {
			return nil, err // check has told
		}
		out = append(out, a)
	}
	for _, x := range over {
		i := slices.IndexFunc(out, func(a Axis) bool { return a.Path == x.Path })
		switch {
		case i < 0:
			out = append(out, x)
		case out[i].sets == nil:
			out[i] = x
		default:
			some := Axis{Path: x.Path}
			for v := range x.Count() {
				k := slices.Index(out[i].Values, x.At(v))
				if k < 0 {
					return nil, fmt.Errorf("%s has no value %q; it has %s", x.Path, x.At(v), strings.Join(out[i].Values, ", "))
				}
				some.Values, some.sets = append(some.Values, out[i].Values[k]), append(some.sets, out[i].sets[k])
			}
			out[i] = some
		}
	}
	return out, nil
}
