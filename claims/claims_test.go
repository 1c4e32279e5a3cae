package claims

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every claim is complete: what is measured exists, what is not says why, and no id is given twice.
func TestClaimsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.ID] {
			t.Errorf("%s is given twice", c.ID)
		}
		seen[c.ID] = true
		if c.Says == "" || c.Figure == "" || len(c.Reading) < 20 || !strings.HasPrefix(c.ID, "S"+strings.TrimLeft(string(c.Article[:2]), "0")+string(c.Article[2])+".") {
			t.Errorf("%s lacks something: %+v", c.ID, c)
		}
		if c.Kind == NoTest {
			if c.Measure.Rule.given || len(c.Beside) > 0 {
				t.Errorf("%s cannot be tested and is", c.ID)
			}
			continue
		}
		if !c.Measure.Rule.given {
			t.Errorf("%s is held against nothing", c.ID)
		}
		for _, m := range append([]Measure{c.Measure}, c.Beside...) {
			e, ok := experimentNamed(m.Experiment)
			if !ok || !slices.Contains(e.Values, m.Value) || m.Name == "" {
				t.Errorf("%s: no experiment %q with a quantity %q", c.ID, m.Experiment, m.Value)
			}
		}
	}
	for _, e := range Experiments() {
		for _, name := range e.Values {
			shows := func(m Measure) bool { return m.Experiment == e.Name && m.Value == name }
			if !slices.ContainsFunc(All(), func(c Claim) bool { return shows(c.Measure) || slices.ContainsFunc(c.Beside, shows) }) {
				t.Errorf("experiment %s: no claim shows %q", e.Name, name)
			}
		}
		if e.Version < 1 || e.Cost <= 0 || e.Exact == (e.Seeds > 0) || e.Method == "" {
			t.Errorf("experiment %s lacks something: %+v", e.Name, e)
		}
		for _, f := range e.Files {
			if _, err := Scenarios.ReadFile("scenarios/" + f); err != nil {
				t.Error(err)
			}
		}
	}
}

// Every experiment runs, small, and gives every quantity it names but those it may not know.
func TestExperimentsRun(t *testing.T) {
	mayLack := map[string][]string{
		"spraying":  {"ordered", "ordered to one", "again ordered", "naks"}, // a QP may give up before the first call ends
		"receivers": {"time go-back-n"},
	}
	for _, e := range Experiments() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			v, err := e.Once(context.Background(), 1, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range e.Values {
				if _, ok := v[name]; !ok && !slices.Contains(mayLack[e.Name], name) {
					t.Errorf("no %s", name)
				}
			}
			again, err := e.Once(context.Background(), 1, true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(v, again); d != "" {
				t.Errorf("the same seed again (-first +second):\n%s", d)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	known := func(mean, low, high float64) Estimate {
		return Estimate{Known: true, Mean: mean, Low: low, High: high, Interval: true}
	}
	for _, c := range []struct {
		name string
		rule Rule
		e    Estimate
		want Verdict
	}{
		{"inside the interval", About(3, 1), known(2.8, 2.5, 3.1), Holds},
		{"mean within the tolerance", About(3, 1), known(2.75, 2.7, 2.8), Holds},
		{"just outside the tolerance", About(3, 1), known(2.49, 2.45, 2.495), Direction},
		{"the effect counts and not the figure", About(70, 50), known(64, 63.5, 64.5), Direction},
		{"a quarter of the effect", About(70, 50), known(66, 65.5, 66.5), Holds},
		{"a range missed by less", Between(12, 18, 0), known(10, 9.8, 10.2), Holds},
		{"a figure missed by a twentieth", Near(5), known(4.9, 4.9, 4.9), Holds},
		{"a count missed by a twentieth", Exactly(100), known(95, 95, 95), Fails},
		{"the other way", About(3, 1), known(0.8, 0.7, 0.9), Fails},
		{"no effect in the interval", About(3, 1), known(1.5, 0.9, 2.1), Fails},
		{"both the figure and no effect in the interval", About(3, 1), known(2, 0.5, 3.5), Undecided},
		{"a figure without a direction", Near(3), known(5, 4, 6), Fails},
		{"less than no effect, as claimed", About(-40, 0), known(-20, -25, -15), Direction},
		{"that there is no effect", About(0, 0), known(0.1, -0.2, 0.4), Holds},
		{"a range reached into", Between(12, 18, 0), known(11, 9, 12.5), Holds},
		{"a range missed upwards", Between(12, 18, 0), known(30, 25, 35), Direction},
		{"over a bound", AtMost(10), known(9, 7, 11), Fails},
		{"within a bound", AtMost(10), known(9, 8, 10), Holds},
		{"a bound from below", AtLeast(10), known(12, 10.5, 13), Holds},
		{"at least so much, with a direction", Between(40, math.Inf(1), 0), known(35, 28, 41), Direction},
		{"a direction alone", Above(0), known(5, 1, 9), Direction},
		{"no direction", Above(0), known(5, -1, 11), Fails},
		{"a direction downwards", Below(90), known(99, 99, 99), Fails},
		{"one seed", About(3, 1), estimate([]float64{3}, false), Undecided},
		{"exact", About(3, 1), estimate([]float64{3}, true), Holds},
		{"nothing", About(3, 1), Estimate{}, Undecided},
		{"no rule", Rule{}, known(1, 1, 1), Untestable},
	} {
		if got := Judge(c.rule, c.e); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Two by hand: 1, 2, 3 have mean 2 and deviation 1, so 4.303/sqrt(3) on either side; two values have 12.706/sqrt(2) deviations.
func TestInterval(t *testing.T) {
	near := cmpopts.EquateApprox(0, 1e-3)
	e := estimate([]float64{1, 2, 3}, false)
	if !cmp.Equal([]float64{e.Mean, e.Low, e.High}, []float64{2, 2 - 2.4843, 2 + 2.4843}, near) {
		t.Errorf("got %+v", e)
	}
	if e := estimate([]float64{5, 5}, false); e.Low != 5 || e.High != 5 || !e.Interval {
		t.Errorf("two alike: %+v", e)
	}
	// Published quantiles beyond the table: 2.021, 2.000, 1.980 for 40, 60 and 120 degrees (NIST, 1.3.6.7.2).
	for df, want := range map[int]float64{40: 2.021, 60: 2.000, 120: 1.980} {
		if got := studentT(df); math.Abs(got-want) > 1e-3 {
			t.Errorf("t(%d) = %.4f, want %.3f", df, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	ids := func(list []Claim) (out []string) {
		for _, c := range list {
			out = append(out, c.ID)
		}
		return out
	}
	got, unknown := Find([]string{"S3.5", "S0.4a", "S0.99", "x"})
	if d := cmp.Diff([]string{"S0.4a", "S3.5a", "S3.5b"}, ids(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"S0.99", "x"}, unknown); d != "" {
		t.Error(d)
	}
	if got, _ := Find([]string{"001"}); len(got) != len(article001()) {
		t.Errorf("article 001 has %d claims, found %d", len(article001()), len(got))
	}
	if got, _ := Find(nil); len(got) != len(All()) {
		t.Errorf("%d of %d", len(got), len(All()))
	}
}

// A run that is interrupted keeps what ended; the same run goes on from there and comes to the same, byte for byte.
func TestResume(t *testing.T) {
	list, _ := Find([]string{"S0.1"})
	folder := &Folder{Path: filepath.Join(t.TempDir(), "kept"), Build: "this"}
	options := func(f *Folder) Options { return Options{Seeds: 3, Jobs: 1, Folder: f, Reduced: true} }
	whole, err := Run(context.Background(), list, options(nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := options(folder)
	o.Progress = func(done float64) {
		if done > 0.3 { // after the first of three seeds
			cancel()
		}
	}
	cut, err := Run(ctx, list, o)
	if !errors.Is(err, context.Canceled) || cut.Complete {
		t.Fatalf("interrupted: error %v, complete %v", err, cut.Complete)
	}
	ended := 0
	for _, e := range cut.Experiments {
		ended += len(e.Seeds)
	}
	if ended == 0 || ended == 3 {
		t.Fatalf("%d seeds ended before the interrupt", ended)
	}
	rest, err := Run(context.Background(), list, options(folder))
	if err != nil {
		t.Fatal(err)
	}
	if rest.Kept < ended {
		t.Errorf("%d trials were used again, %d had ended", rest.Kept, ended)
	}
	if a, b := jsonOf(t, whole), jsonOf(t, rest); a != b {
		t.Errorf("in one go and resumed differ:\n%s", cmp.Diff(a, b))
	}

	// Another build, another version, another size of the experiment, a torn file: all are carried out again (Q3).
	again := func(what string, o Options, fewer int) {
		t.Helper()
		r, err := Run(context.Background(), list, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Trials - fewer; r.Kept != want {
			t.Errorf("%s: %d of %d trials were used again, want %d", what, r.Kept, r.Trials, want)
		}
	}
	again("as it is", options(folder), 0)
	again("another build", options(&Folder{Path: folder.Path, Build: "other"}), rest.Trials)
	again("and back", options(folder), rest.Trials)
	torn := filepath.Join(folder.Path, "spraying-2.json")
	b, err := os.ReadFile(torn)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	again("a torn file", options(folder), 1)
	fresh := options(folder)
	fresh.Fresh = true
	again("fresh", fresh, rest.Trials)
	left, err := filepath.Glob(filepath.Join(folder.Path, ".trial-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func jsonOf(t *testing.T, r *Report) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// However many go at a time, the report is the same.
func TestJobsChangeNothing(t *testing.T) {
	list, _ := Find([]string{"S0.8", "S3.13"})
	var reports []string
	for _, jobs := range []int{1, 4} {
		r, err := Run(context.Background(), list, Options{Seeds: 2, Jobs: jobs, Reduced: true})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, jsonOf(t, r))
	}
	if reports[0] != reports[1] {
		t.Errorf("one and four at a time:\n%s", cmp.Diff(reports[0], reports[1]))
	}
}

// Whatever lies in a file of the folder, it is taken only if it has the key of the trial; a key cannot be had by chance.
func FuzzFolder(f *testing.F) {
	e := Experiment{Name: "x", Version: 1}
	key := (Folder{Build: "b"}).key(e, 1, false)
	f.Add([]byte(`{"schema":"shunt/claims-trial/v1","key":"` + key + `","values":{"a":1}}`))
	f.Add([]byte(`{"schema":"shunt/claims-trial/v1","key":"","values":null}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := Folder{Path: t.TempDir(), Build: "b"}
		if err := os.WriteFile(folder.file(e, 1), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := folder.get(e, 1, false); ok && !strings.Contains(strings.ToLower(string(data)), key[:8]) && !strings.Contains(string(data), `\u`) {
			t.Errorf("taken: %q", data)
		}
		if _, ok := folder.get(e, 2, false); ok {
			t.Errorf("taken for another seed: %q", data)
		}
	})
}

// What fails in one experiment is told and takes nothing else along.
func TestFailureIsTold(t *testing.T) {
	broken := Experiment{Name: "broken", Version: 1, Seeds: 1, Cost: 1, Values: []string{"x"}, run: func(*Trial) (Values, error) { panic("oh") }}
	if _, err := broken.Once(context.Background(), 7, false); err == nil || err.Error() != "claims: broken, seed 7: oh" {
		t.Errorf("a panic came out as %v", err)
	}
	stray := Experiment{Name: "stray", Values: []string{"x"}, run: func(*Trial) (Values, error) { return Values{"y": 1}, nil }}
	if _, err := stray.Once(context.Background(), 1, false); err == nil {
		t.Error("a quantity that the experiment does not name was taken")
	}
	unknown := Experiment{Name: "unknown", Values: []string{"x", "y"}, run: func(*Trial) (Values, error) { return Values{"x": math.NaN(), "y": 2}, nil }}
	v, err := unknown.Once(context.Background(), 1, false)
	if d := cmp.Diff(Values{"y": 2}, v); err != nil || d != "" {
		t.Errorf("a quotient by zero is not known: %v %s", err, d)
	}
}
