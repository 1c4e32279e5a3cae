package diagnosis

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
)

// An archive in testdata holds the files of a cluster as users hand them in, and in "want" what the diagnosis of
// them must come to, one line each:
//
//	first CODE           the first finding
//	found CODE           a finding of its own
//	folded CODE          a consequence of another finding
//	quiet CODE           neither
//	severity WORD        of the first finding
//	most WORD            no finding is more severe
//	confidence N         of the first finding, at least
//	confidence-below CODE N
//	where OBJECT         the first object of the first finding
//	title TEXT           part of the title of the first finding
//	ruled-out CODE, cannot-check CODE, not-applicable CODE
//	nothing-above note   no finding above a note; "none": no finding at all
//
// A file matrix.yaml in it is the site's list of tested versions.

type archive struct {
	name   string
	want   []string
	fsys   fstest.MapFS
	tested *diagnose.Compatibility // of matrix.yaml
}

func archives(t *testing.T) []archive {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	var all []archive
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a := archive{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), fsys: fstest.MapFS{}}
		for _, f := range txtar.Parse(data).Files {
			if f.Name == "want" {
				lines := bufio.NewScanner(strings.NewReader(string(f.Data)))
				for lines.Scan() {
					a.want = append(a.want, strings.TrimSpace(lines.Text()))
				}
				continue
			}
			if script, ok := strings.CutSuffix(f.Name, ".frames"); ok {
				a.fsys[path.Clean(script)+".pcapng"] = &fstest.MapFile{Data: capture(t, f.Name, string(f.Data))}
				continue
			}
			if f.Name == "matrix.yaml" {
				if a.tested, err = diagnose.ParseCompatibility(f.Name, f.Data); err != nil {
					t.Fatal(err)
				}
				continue
			}
			a.fsys[path.Clean(f.Name)] = &fstest.MapFile{Data: f.Data}
		}
		if len(a.want) == 0 {
			t.Errorf("%s wants nothing", name)
		}
		all = append(all, a)
	}
	return all
}

func TestArchives(t *testing.T) {
	for _, a := range archives(t) {
		t.Run(a.name, func(t *testing.T) {
			inv, win, err := collect.LoadFS(a.fsys)
			if err != nil {
				t.Fatal(err)
			}
			result := diagnose.Run(&diagnose.View{Inv: inv, Win: win, Tested: a.tested})
			for _, line := range a.want {
				if why := fails(result, line); why != "" {
					t.Errorf("%s: %s", line, why)
				}
			}
			if t.Failed() {
				for _, f := range result.Findings {
					t.Logf("%s %s %.2f %v %s", f.Severity, f.Code, f.Confidence, f.Where, f.Title)
					for _, c := range f.Consequences {
						t.Logf("    %s %s", c.Code, c.Title)
					}
				}
				for _, c := range result.Checked.RuledOut {
					t.Logf("ruled out %s: %s", c.Code, c.Why)
				}
				for _, c := range result.Checked.Could {
					t.Logf("could not check %s: %s", c.Code, c.Why)
				}
			}
			for _, f := range result.Findings {
				complete(t, f)
			}
		})
	}
}

// fails tells why a line of want does not hold, "" where it does.
func fails(r diagnose.Result, line string) string {
	verb, arg, _ := strings.Cut(line, " ")
	own := slices.IndexFunc(r.Findings, func(f diagnose.Finding) bool { return f.Code == arg })
	folded := slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool {
		return slices.ContainsFunc(f.Consequences, func(c diagnose.Consequence) bool { return c.Code == arg })
	})
	in := func(checks []diagnose.Check) bool {
		return slices.ContainsFunc(checks, func(c diagnose.Check) bool { return c.Code == arg })
	}
	var first diagnose.Finding
	if len(r.Findings) > 0 {
		first = r.Findings[0]
	} else if slices.Contains([]string{"first", "severity", "confidence", "where", "title"}, verb) {
		return "there is no finding"
	}
	failed := false
	switch verb {
	case "first":
		failed = first.Code != arg
	case "found":
		failed = own < 0
	case "folded":
		failed = !folded
	case "quiet":
		failed = own >= 0 || folded
	case "severity":
		failed = first.Severity.String() != arg
	case "confidence":
		n, err := strconv.ParseFloat(arg, 64)
		failed = err != nil || first.Confidence < n
	case "confidence-below":
		code, number, _ := strings.Cut(arg, " ")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return err.Error()
		}
		failed = slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Code == code && f.Confidence >= n })
	case "where":
		failed = len(first.Where) == 0 || first.Where[0] != arg
	case "title":
		failed = !strings.Contains(first.Title, arg)
	case "ruled-out":
		failed = !in(r.Checked.RuledOut)
	case "cannot-check":
		failed = !in(r.Checked.Could)
	case "not-applicable":
		failed = in(r.Checked.RuledOut) || in(r.Checked.Could) || in(r.Checked.Explained)
	case "most", "nothing-above":
		if arg == "none" {
			failed = len(r.Findings) > 0
			break
		}
		var limit diagnose.Severity
		if err := limit.UnmarshalText([]byte(arg)); err != nil {
			return err.Error()
		}
		failed = slices.ContainsFunc(r.Findings, func(f diagnose.Finding) bool { return f.Severity > limit })
	default:
		return "no such line"
	}
	if failed {
		return "does not hold"
	}
	return ""
}

// complete checks that a finding says all that a reader needs.
func complete(t *testing.T, f diagnose.Finding) {
	t.Helper()
	switch {
	case f.Title == "", f.Because == "", f.Fix.Text == "":
		t.Errorf("%s: title, because and fix must be there: %+v", f.Code, f)
	case f.Confidence <= 0 || f.Confidence >= 1:
		t.Errorf("%s: confidence %v", f.Code, f.Confidence)
	case len(f.Where) == 0 || slices.Contains(f.Where, ""):
		t.Errorf("%s: where is empty: %q", f.Code, f.Where)
	case len(f.Evidence) == 0:
		t.Errorf("%s: no evidence", f.Code)
	}
	for _, e := range f.Evidence {
		if e.What == "" || e.Seen == "" || e.From == "" && !strings.HasPrefix(e.What, "version") {
			t.Errorf("%s: a row of evidence is not complete: %+v", f.Code, e)
		}
	}
}

// byCounters are the causes told from counters of ports and queues over a window; their tests are beside them, and
// scenarios with that fault injected.
var byCounters = []string{"L011", "L012", "L013", "L031", "L032", "L042", "R030"}

// TestEveryCauseHasArchives: each cause that files can tell has an archive in which it is found, one in which it must stay
// quiet, and one in which its inputs are missing.
func TestEveryCauseHasArchives(t *testing.T) {
	found, quiet, missing := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range archives(t) {
		for _, line := range a.want {
			verb, code, _ := strings.Cut(line, " ")
			switch verb {
			case "first", "found":
				found[code] = true
			case "quiet":
				quiet[code] = true
			case "cannot-check", "not-applicable":
				missing[code] = true
			}
		}
	}
	for _, c := range diagnose.Causes() {
		if slices.Contains(byCounters, c.Code) {
			continue
		}
		if !found[c.Code] {
			t.Errorf("%s: no archive finds it", c.Code)
		}
		if !quiet[c.Code] {
			t.Errorf("%s: no archive wants it quiet", c.Code)
		}
		if !missing[c.Code] {
			t.Errorf("%s: no archive has its inputs missing", c.Code)
		}
	}
}

// TestHealthy: at least twenty healthy clusters, of several vendors and of releases from 2.4 to 2.30, give nothing above a note.
func TestHealthy(t *testing.T) {
	healthy := 0
	for _, a := range archives(t) {
		if strings.HasPrefix(a.name, "healthy") {
			healthy++
			if !slices.ContainsFunc(a.want, func(l string) bool { return strings.HasPrefix(l, "nothing-above") }) {
				t.Errorf("%s does not ask for silence", a.name)
			}
		}
	}
	if healthy < 20 {
		t.Errorf("%d healthy clusters, want twenty or more", healthy)
	}
}
