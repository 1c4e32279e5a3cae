package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/docs/codes"
	"github.com/shunt-network/shunt/evidence"
)

// pageless gives every code a number that has no page, so that the golden files do not change with the pages.
func pageless(r *Report) *Report {
	re := func(code *string) { *code = (*code)[:1] + "9" + (*code)[2:] }
	for i := range r.Findings {
		re(&r.Findings[i].Code)
		for j := range r.Findings[i].Consequences {
			re(&r.Findings[i].Consequences[j].Code)
		}
	}
	for _, list := range [][]diagnose.Check{r.Checked.Explained, r.Checked.RuledOut, r.Checked.Could} {
		for i := range list {
			re(&list[i].Code)
		}
	}
	return r
}

// placed is a report of files as the collectors make it: short paths, causes among the evidence.
func placed() *Report {
	r := files()
	r.Findings[0].Where = []string{"node1/mlx5_0"}
	r.Findings[0].Evidence = append(r.Findings[0].Evidence,
		diagnose.Evidence{Layer: "collective", What: "first error", Seen: "status 12", Role: "effect", From: "a log.txt:7"},
		diagnose.Evidence{Layer: "RDMA", What: "GID index", Seen: "0", Role: "cause", From: "a.log"},
		diagnose.Evidence{Layer: "RDMA", What: "as piped", Seen: "0", From: "standard input:4"})
	r.Checked.Explained = []diagnose.Check{{Code: "I001", Title: "GID"}, {Code: "C002", Title: "sockets"}}
	return r
}

func TestFormats(t *testing.T) {
	for name, r := range map[string]*Report{
		"simulated": pageless(simulated()), "files": pageless(placed()), "healthy": pageless(healthy()),
		"interrupted": New(diagnose.Result{}, nil, nil), "undecided": New(diagnose.Result{}, nil, nil),
	} {
		r.Interrupted = name == "interrupted"
		for _, f := range Formats[2:] { // text and JSON have tests of their own
			t.Run(name+"."+f.Name, func(t *testing.T) {
				var b, again bytes.Buffer
				if err := f.Write(&b, r, Options{Version: "v1.2.3"}); err != nil {
					t.Fatal(err)
				}
				golden(t, name+"."+f.Name, b.Bytes())
				if err := f.Write(&again, r, Options{Version: "v1.2.3"}); err != nil || again.String() != b.String() {
					t.Errorf("twice the same report is not the same bytes (%v)", err)
				}
				if strings.ContainsAny(b.String(), "\x1b\x07\u202e") {
					t.Error("foreign control characters came through")
				}
			})
		}
	}
}

// Every form names every finding, what is to be done about it, and how much was looked at: none says less.
func TestFormatsSayTheSame(t *testing.T) {
	r := pageless(simulated())
	f := r.Findings[0]
	for _, format := range Formats {
		var b bytes.Buffer
		if err := format.Write(&b, r, Options{Text: TextOptions{Width: 400}}); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("&gt;", ">", "&lt;", "<", "\\-", "-").Replace(b.String())
		for _, want := range []string{f.Code, f.Title, f.Because, f.Fix.Text, "H910", "no lspci"} {
			if !strings.Contains(text, want) && !(format.Name == "text" && want == "H910") { // the text has codes with -v
				t.Errorf("%s does not say %q", format.Name, want)
			}
		}
	}
}

func TestPagesAreInReports(t *testing.T) {
	page, err := codes.Pages.ReadFile("L021.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (.+)$`).FindStringSubmatch(string(page))[1]
	twice := simulated()
	twice.Findings = append(twice.Findings, twice.Findings[0])
	for _, f := range []Format{Formats[2], Formats[4]} {
		var b bytes.Buffer
		if err := f.Write(&b, twice, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), heading) {
			t.Errorf("%s lacks the page of L021", f.Name)
		}
		if n := strings.Count(b.String(), "About L021"); f.Name == "html" && n != 1 {
			t.Errorf("html has the page %d times for two findings", n)
		}
	}
}

// A report file is well formed and counts what is in it.
func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, placed(), Options{}); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	tests, failures := 0, 0
	for _, s := range got.Suites {
		for _, c := range s.Cases {
			tests++
			if c.Failure != nil {
				failures++
			}
		}
	}
	// I001 is a warning and fails, C002 is a note and passes, P001 was ruled out, and one case is about the input.
	if got.Tests != tests || got.Failures != failures || tests != 4 || failures != 1 {
		t.Errorf("says %d tests, %d failures; has %d, %d; want 4, 1", got.Tests, got.Failures, tests, failures)
	}
	b.Reset()
	if err := JUnit(&b, placed(), Options{Fails: func(diagnose.Severity) bool { return true }}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<failure "); n != 2 {
		t.Errorf("%d failures where a note fails too; want 2", n)
	}
}

// The same fault keeps its identity when its numbers change; another object is another fault.
func TestIdentity(t *testing.T) {
	a := simulated().Findings[0]
	b := a
	b.Title, b.Confidence, b.Where = "other numbers", 0.1, append([]string{a.Where[0]}, "more")
	if identity(a) != identity(b) {
		t.Error("the same fault has two identities")
	}
	b.Where = []string{"leaf4/Ethernet48"}
	if identity(a) == identity(b) {
		t.Error("two objects have one identity")
	}
}

func TestPlaces(t *testing.T) {
	r := New(diagnose.Result{}, &evidence.Inventory{Files: []evidence.File{{Path: "ib.txt"}}}, &Run{File: "s.yaml"})
	for _, c := range []struct {
		from string
		want place
		ok   bool
	}{
		{"a/b c.log:12", place{"a/b c.log", 12}, true},
		{"ib.txt", place{"ib.txt", 0}, true},
		{"nic_cnp_handled_total", place{}, false},
		{"standard input:4", place{}, false},
		{"x:0", place{}, false},
		{"simulated, seed 7", place{}, false},
	} {
		if got, ok := r.placeOf(c.from); got != c.want || ok != c.ok {
			t.Errorf("placeOf(%q) = %v, %v", c.from, got, ok)
		}
	}
	if p, ok := r.placeOfFinding(diagnose.Finding{}); !ok || p.file != "s.yaml" {
		t.Errorf("a finding of a run without files stands at %v, %v; want the scenario", p, ok)
	}
	if got := physical(place{"/srv/a b#1.log", 3}).Artifact.URI; got != "file:///srv/a%20b%231.log" {
		t.Errorf("URI %q", got)
	}
	if got := physical(place{"run:1/a.log", 3}).Artifact.URI; got != "./run:1/a.log" {
		t.Errorf("URI %q: without ./ the part before the colon reads as a scheme", got)
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"rx_prio3_pause of <b>node1</b>": `rx_prio3_pause of \<b>node1\</b>`,
		"_x_ *y* `z` a|b [l](u)":         "\\_x\\_ \\*y\\* \\`z\\` a\\|b \\[l\\](u)",
		"# not a heading":                `\# not a heading`,
		"- no item":                      `\- no item`,
		"1. no item":                     `1\. no item`,
		"3.66 ms":                        "3.66 ms",
		"+30 us":                         "+30 us",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreTold(t *testing.T) {
	var w io.Writer = failing{}
	for _, f := range Formats {
		if err := f.Write(w, simulated(), Options{}); err == nil {
			t.Errorf("%s: a full disk goes unnoticed", f.Name)
		}
	}
}

func TestSARIFIsJSON(t *testing.T) {
	var b bytes.Buffer
	if err := SARIF(&b, placed(), Options{}); err != nil {
		t.Fatal(err)
	}
	var got sarifLog
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, result := range got.Runs[0].Results {
		if got.Runs[0].Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID {
			t.Errorf("the index of %s leads to another rule", result.RuleID)
		}
	}
	if p := got.Runs[0].Results[0].Locations[0].Physical; p == nil || p.Artifact.URI != "a.log" {
		t.Errorf("the finding stands at %+v; want the place of its cause", p)
	}
}
