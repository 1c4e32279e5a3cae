package telemetry

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/series.md")

const seriesPage = "../docs/series.md"

// Every series has a name as Prometheus users expect it, a meaning, and a real counter it is read from.
func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	form := regexp.MustCompile(`^(nic|switch)_[a-z0-9_]+$`)
	for id, s := range Catalogue {
		if !form.MatchString(s.Name) || names[s.Name] {
			t.Errorf("series %d: name %q is not well formed, or there twice", id, s.Name)
		}
		names[s.Name] = true
		if (s.Kind == Counter) != strings.HasSuffix(s.Name, "_total") {
			t.Errorf("%s: _total is for counters and for nothing else", s.Name)
		}
		if s.Unit == "" || s.Meaning == "" || len(s.Sources) == 0 {
			t.Errorf("%s: unit %q, meaning %q, %d sources", s.Name, s.Unit, s.Meaning, len(s.Sources))
		}
		for _, src := range s.Sources {
			if src.System == "" || src.Counter == "" || src.Scale <= 0 {
				t.Errorf("%s: incomplete source %+v", s.Name, src)
			}
		}
	}
}

func TestSeriesPageIsFresh(t *testing.T) {
	want := page()
	if *update {
		if err := os.WriteFile(seriesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(seriesPage)
	if err != nil || string(got) != want {
		t.Errorf("docs/series.md is not what the catalogue says (%v); run go test ./telemetry -update", err)
	}
}

func page() string {
	var b strings.Builder
	b.WriteString("# Series\n\nEvery series a diagnosis may look at, and the counters of real hardware it is read from. The simulator emits the\nsame names. Made from `telemetry.Catalogue` by `go test ./telemetry -update`.\n\n")
	b.WriteString("| series | unit | of | meaning | read from |\n|---|---|---|---|---|\n")
	for _, s := range Catalogue {
		of := s.Scope.String()
		if s.PerPriority {
			of += ", per priority"
		}
		var from []string
		for _, src := range s.Sources {
			from = append(from, fmt.Sprintf("%s: `%s`", src.System, src.Counter))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Unit, of, s.Meaning, strings.Join(from, "; "))
	}
	return b.String()
}
