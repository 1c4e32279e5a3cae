package validation

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write RESULTS.md")

// Groups of the ladder, in the order of the table.
const (
	closedForm = "1 closed forms"
	published  = "2 published curves"
	peers      = "3 other simulators"
	claims     = "4 practitioners' claims"
)

// A row is one number of ours next to one from elsewhere.
type row struct {
	group, name, unit string
	want              float64 // what it should be; NaN where only a range is known
	lo, hi            float64 // what is accepted
	why               string  // where want comes from, in a line
	claim             bool    // want is what practitioners report; lo..hi is where ours lies, and both are told
	gap               string  // a number of DEVIATIONS.md when it is known to lie outside; then ours must lie in gapLo..gapHi
	gapLo, gapHi      float64

	got float64
}

// near accepts a relative error of tol, which is 0 for numbers that must agree to the last digit.
func near(group, name, unit string, want, tol float64, why string) row {
	return row{group: group, name: name, unit: unit, want: want, lo: want - math.Abs(want)*tol, hi: want + math.Abs(want)*tol, why: why}
}

// within accepts a range.
func within(group, name, unit string, lo, hi float64, why string) row {
	return row{group: group, name: name, unit: unit, want: math.NaN(), lo: lo, hi: hi, why: why}
}

// claimed is a number that practitioners report, and the range in which ours lies. Whether they agree is told and does not fail.
func claimed(name, unit string, theirs, lo, hi float64, why string) row {
	return row{group: claims, name: name, unit: unit, want: theirs, lo: lo, hi: hi, why: why, claim: true}
}

// agree is how far ours may lie from theirs for a claim to hold.
const agree = 0.25

// deviates marks a row that is known to lie outside its range, and where it lies instead.
func (r row) deviates(gap string, lo, hi float64) row {
	r.gap, r.gapLo, r.gapHi = gap, lo, hi
	return r
}

func (r row) inside() bool { return r.lo <= r.got && r.got <= r.hi }

// verdict is ok, holds or differs (claims), gap (a known deviation that is as it was), or FAIL.
func (r row) verdict() string {
	switch {
	case r.claim && r.inside() && math.Abs(r.got-r.want) <= agree*math.Abs(r.want):
		return "holds"
	case r.claim && r.inside():
		return "differs"
	case r.gap == "" && r.inside():
		return "ok"
	case r.gap != "" && !r.inside() && r.gapLo <= r.got && r.got <= r.gapHi:
		return "gap " + r.gap
	}
	return "FAIL"
}

var ledger struct {
	sync.Mutex
	rows []row
}

// check enters got into the ledger and fails the test when it is not what the row accepts.
func check(t *testing.T, r row, got float64) {
	t.Helper()
	r.got = got
	ledger.Lock()
	if slices.ContainsFunc(ledger.rows, func(o row) bool { return o.group == r.group && o.name == r.name }) {
		t.Errorf("%s: the name is taken", r.name)
	}
	ledger.rows = append(ledger.rows, r)
	ledger.Unlock()
	if r.verdict() != "FAIL" {
		return
	}
	switch {
	case r.claim:
		t.Errorf("%s: %s %s, and it was %s .. %s before", r.name, number(got), r.unit, number(r.lo), number(r.hi))
	case r.gap == "":
		t.Errorf("%s: %s %s, expected %s (%s)", r.name, number(got), r.unit, r.expected(), r.why)
	case r.inside():
		t.Errorf("%s: %s %s is within %s now: %s is closed, take it out of DEVIATIONS.md and of this row", r.name, number(got), r.unit, r.expected(), r.gap)
	default:
		t.Errorf("%s: %s %s, and %s says %s .. %s", r.name, number(got), r.unit, r.gap, number(r.gapLo), number(r.gapHi))
	}
}

// number writes v with as many digits as a reader compares.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "any"
	case v == math.Trunc(v) && math.Abs(v) < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (r row) expected() string {
	if math.IsNaN(r.want) {
		return number(r.lo) + " .. " + number(r.hi)
	}
	return number(r.want)
}

// tolerance is the accepted range as people say it.
func (r row) tolerance() string {
	switch {
	case math.IsNaN(r.want):
		return "range"
	case r.lo == r.want && r.hi == r.want:
		return "exact"
	case r.want != 0 && math.Abs((r.hi-r.want)-(r.want-r.lo)) <= 1e-9*math.Abs(r.want):
		return "+-" + strconv.FormatFloat(100*(r.hi-r.want)/math.Abs(r.want), 'g', 3, 64) + " %"
	}
	return number(r.lo) + " .. " + number(r.hi)
}

// sorted is the ledger in the order of the table: by group, and within it as the names sort, so that it does not depend on
// which test ended first.
func sorted(rows []row) []row {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b row) int {
		if a.group != b.group {
			return strings.Compare(a.group, b.group)
		}
		return strings.Compare(a.name, b.name)
	})
	return rows
}

func printTable(w io.Writer, rows []row) {
	group := ""
	for _, r := range rows {
		if r.group != group {
			group = r.group
			fmt.Fprintf(w, "\n%s\n%-62s %12s %12s %16s  %s\n", group, "", "expected", "got", "tolerance", "verdict")
		}
		fmt.Fprintf(w, "%-62s %12s %12s %16s  %s\n", r.name+", "+r.unit, r.expected(), number(r.got), r.tolerance(), r.verdict())
	}
}

const resultsHead = `# Results of the validation ladder

Written by ` + "`go test ./validation -update`" + `. How each number is derived stands in the test of its tier; gaps are explained in
[DEVIATIONS.md](DEVIATIONS.md).
`

func writeResults(w io.Writer, rows []row) {
	fmt.Fprint(w, resultsHead)
	group := ""
	for _, r := range rows {
		if r.group != group {
			group = r.group
			fmt.Fprintf(w, "\n## %s\n\n| metric | expected | got | tolerance | verdict | expected because |\n|---|---|---|---|---|---|\n", group)
		}
		fmt.Fprintf(w, "| %s, %s | %s | %s | %s | %s | %s |\n", r.name, r.unit, r.expected(), number(r.got), r.tolerance(), r.verdict(), r.why)
	}
}

const resultsFile = "RESULTS.md"

// recorded reads the metrics and numbers that RESULTS.md holds.
func recorded(text string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 6 && strings.HasPrefix(line, "| ") && cells[1] != "expected" {
			out[strings.TrimPrefix(cells[0], "| ")] = cells[2]
		}
	}
	return out
}

// stale lists what RESULTS.md says differently from the run: metrics that are missing or gone, and numbers that the row no longer
// accepts.
func stale(rows []row, text string) (complaints []string) {
	old := recorded(text)
	for _, r := range rows {
		key := r.name + ", " + r.unit
		was, ok := old[key]
		delete(old, key)
		if !ok {
			complaints = append(complaints, key+" is not in it")
			continue
		}
		v, err := strconv.ParseFloat(was, 64)
		if r.got = v; err != nil || number(v) != number(r.want) && r.verdict() == "FAIL" {
			complaints = append(complaints, key+" is "+was+" there")
		}
	}
	for key := range old {
		complaints = append(complaints, key+" is in it and was not measured")
	}
	slices.Sort(complaints)
	return complaints
}

// gapNumber is how DEVIATIONS.md heads a gap.
var gapNumber = regexp.MustCompile(`(?m)^## (D\d+) `)

// openGaps compares the gaps that rows assert with those that DEVIATIONS.md explains.
func openGaps(rows []row, text string) (complaints []string) {
	asserted := map[string]bool{}
	for _, r := range rows {
		if r.gap != "" {
			asserted[r.gap] = true
		}
	}
	for _, m := range gapNumber.FindAllStringSubmatch(text, -1) {
		if !asserted[m[1]] {
			complaints = append(complaints, m[1]+" is explained and no row asserts it")
		}
		delete(asserted, m[1])
	}
	for gap := range asserted {
		complaints = append(complaints, gap+" is asserted and not explained")
	}
	slices.Sort(complaints)
	return complaints
}

// TestMain prints the table when the tests have filled it. Where every test ran, the files are held to it.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	rows := sorted(ledger.rows)
	if testing.Verbose() || code != 0 {
		printTable(os.Stdout, rows)
	}
	if all := flag.Lookup("test.run").Value.String() == "" && !testing.Short(); all && len(rows) > 0 {
		if *update {
			var b strings.Builder
			writeResults(&b, rows)
			if err := os.WriteFile(resultsFile, []byte(b.String()), 0o644); err != nil {
				fmt.Println(err)
				code = 1
			}
		}
		code = max(code, compare(resultsFile, rows, stale), compare("DEVIATIONS.md", rows, openGaps))
	}
	os.Exit(code)
}

func compare(file string, rows []row, with func([]row, string) []string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	complaints := with(rows, string(text))
	for _, c := range complaints {
		fmt.Printf("validation: %s: %s\n", file, c)
	}
	return min(len(complaints), 1)
}

// The ledger itself: a number out of its range fails, and so does a gap that has closed or moved.
func TestVerdicts(t *testing.T) {
	r := near(closedForm, "a", "us", 10, 0.1, "")
	gap := r.deviates("D0", 12, 13)
	for _, c := range []struct {
		r    row
		got  float64
		want string
	}{
		{r, 10.9, "ok"}, {r, 11.1, "FAIL"}, {r, math.NaN(), "FAIL"},
		{gap, 12.5, "gap D0"}, {gap, 10, "FAIL"}, {gap, 14, "FAIL"},
	} {
		c.r.got = c.got
		if got := c.r.verdict(); got != c.want {
			t.Errorf("%v against %s: %s, want %s", c.got, c.r.expected(), got, c.want)
		}
	}
	gap.got = 12.5
	if got := openGaps([]row{gap}, "## D1 text"); len(got) != 2 {
		t.Errorf("a gap that is not asserted and one that is not explained: %q", got)
	}
	var b strings.Builder
	r.got = 10.5
	writeResults(&b, []row{r})
	if got := stale([]row{r}, b.String()); len(got) != 0 {
		t.Errorf("what was just written is stale: %q", got)
	}
	moved := near(closedForm, "a", "us", 20, 0.1, "")
	moved.got = 20
	if got := stale([]row{moved, near(closedForm, "b", "us", 1, 0, "")}, b.String()); len(got) != 2 {
		t.Errorf("a number that moved and one that is missing: %q", got)
	}
}
