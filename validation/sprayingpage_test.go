package validation

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// figures are the numbers of a table.
var figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// shownIn holds a page to a table: what stands between its marks are the rows that the test came to, with numbers that a reader takes for the same. -update writes
// them there.
func shownIn(t *testing.T, page, mark, table string) {
	t.Helper()
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(src), "<!-- "+mark+" -->\n")
	shown, tail, ended := strings.Cut(rest, "<!-- end of "+mark+" -->")
	switch {
	case !ok || !ended:
		t.Errorf("%s has no place for %s", page, mark)
	case *update:
		text := head + "<!-- " + mark + " -->\n" + table + "<!-- end of " + mark + " -->" + tail
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	case !alike(shown, table):
		t.Errorf("%s shows other numbers of %s; this test with -update writes them", page, mark)
	}
}

// alike tells whether two texts differ in nothing but numbers, and in these by no more than a twentieth, or one where they are whole.
func alike(a, b string) bool {
	if figures.ReplaceAllString(a, "#") != figures.ReplaceAllString(b, "#") {
		return false
	}
	x, y := figures.FindAllString(a, -1), figures.FindAllString(b, -1)
	for i := range x {
		v, _ := strconv.ParseFloat(x[i], 64) // the pattern is that of numbers
		w, _ := strconv.ParseFloat(y[i], 64)
		least := 0.02
		if v == math.Trunc(v) && w == math.Trunc(w) {
			least = 1
		}
		if math.Abs(v-w) > max(0.05*math.Max(v, w), least) {
			return false
		}
	}
	return true
}

func TestAlike(t *testing.T) {
	const row = "| reps | 1.30 (1.29 to 1.31) | 47 %, 24 |\n"
	for text, want := range map[string]bool{
		row: true,
		"| reps | 1.31 (1.29 to 1.33) | 48 %, 24 |\n": true,
		"| reps | 2.60 (1.29 to 1.31) | 47 %, 24 |\n": false,
		"| reps | 1.30 (1.29 to 1.31) | 47 %, 40 |\n": false,
		"| dlb | 1.30 (1.29 to 1.31) | 47 %, 24 |\n":  false,
		row + row: false,
	} {
		if got := alike(text, row); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
