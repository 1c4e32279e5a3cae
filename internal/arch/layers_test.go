package arch

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layers says how far up each package stands. Imports go to lower layers only; what stands in one layer does not
// know of its neighbours. An entry that ends in /... covers the folders below it, and a more exact one wins.
var layers = map[string]int{
	"units": 0, "internal/spec": 0, "internal/parquet": 0, "docs/codes": 0,
	"fabric": 1, "packet": 1, "spray": 1,
	"telemetry": 2, "evidence": 2, "workload": 2,
	"netsim": 3, "netsim/...": 3, "flowsim": 3, "collect": 3, "collect/...": 3, "store": 3,
	"diagnose": 4, "guard": 4, "lookback": 4, "ecmp": 4, "collect/simtap": 4, "interop": 4, "interop/...": 4,
	"report": 5, "rules": 5, "ecmp/source": 5, "scenario": 5, "plan": 5, "place": 5, "tune": 5,
	"claims": 6, "drill": 6, "lab": 6, "internal/...": 6, "web": 6, "validation": 6, "validation/...": 6,
	"internal/actuate": 7,
	"cmd/...":          8, "examples/...": 8,
}

// within lists who of one layer may import whom all the same.
var within = map[string][]string{
	"internal/spec": {"units"},  // its schema knows the text forms of quantities
	"spray":         {"packet"}, // a PPCID is carried in a frame
	"netsim":        {"netsim/cc", "netsim/route"},
	"flowsim":       {"netsim/route"}, // the same hash, so that flows take the paths of packets
	"collect":       {"collect/..."},
	"collect/...":   {"collect/fragment", "collect/lines"},
	"interop":       {"interop/..."},
	"interop/...":   {"interop/source", "interop/message", "interop/dataflow", "interop/hpcc"},
}

// layerOf finds the layer of a folder by its longest entry.
func layerOf(dir string) (layer int, ok bool) {
	for probe, exact := dir, true; ; exact = false {
		key := probe
		if !exact {
			key += "/..."
		}
		if l, found := layers[key]; found {
			return l, true
		}
		i := strings.LastIndexByte(probe, '/')
		if i < 0 {
			return 0, false
		}
		probe = probe[:i]
	}
}

// covers tells whether a key of within, or an entry of its list, means the folder.
func covers(pattern, dir string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(dir, prefix+"/")
	}
	return pattern == dir
}

func allowedWithin(from, to string) bool {
	for pattern, list := range within {
		if covers(pattern, from) && slices.ContainsFunc(list, func(p string) bool { return covers(p, to) }) {
			return true
		}
	}
	return false
}

func TestImportsGoDown(t *testing.T) {
	for _, v := range upward(load(t)) {
		t.Error(v)
	}
}

// upward lists the imports that do not go down.
func upward(tr *tree) (violations []string) {
	for _, dir := range tr.dirs() {
		from, ok := layerOf(dir)
		if !ok {
			violations = append(violations, dir+" stands in no layer: name it in layers, or put it into a package that is there. A package whose place nobody decided is where circles begin")
			continue
		}
		for _, i := range tr.packages[dir].imports(false) {
			target, ours := own(i.path)
			if !ours {
				continue
			}
			to, known := layerOf(target)
			if known && to >= from && !allowedWithin(dir, target) {
				violations = append(violations, fmt.Sprintf("%s: %s (layer %d) imports %s (layer %d). Imports go down only: what is below can then be read, tested and reused without what is above",
					tr.where(i.pos), dir, from, target, to))
			}
		}
	}
	return violations
}

// forbidden lists imports that the layers would allow and a rule of the design forbids.
var forbidden = []struct {
	from, to string
	reason   string
}{
	{"diagnose", "netsim", "a diagnosis that can see the simulator can peek at the truth, and would be right in tests and wrong on clusters"},
	{"diagnose", "netsim/...", "a diagnosis that can see the simulator can peek at the truth"},
	{"diagnose", "flowsim", "a diagnosis that can see the simulator can peek at the truth"},
	{"diagnose", "workload", "what the job was told to send is the truth; a diagnosis sees what was measured"},
	{"diagnose", "fabric", "the fabric of a scenario is the truth; a diagnosis sees the inventory"},
	{"diagnose", "collect", "a diagnosis sees evidence, not where it was read"},
	{"diagnose", "collect/...", "a diagnosis sees evidence, not where it was read"},
	{"diagnose", "scenario", "a scenario holds the faults that were injected"},
	{"collect/simtap", "diagnose", "the tap fills evidence; what is concluded from it is not its business"},
}

func TestForbiddenImports(t *testing.T) {
	for _, v := range trespasses(load(t)) {
		t.Error(v)
	}
}

// trespasses lists the imports that a rule forbids. The tests of diagnose are held to it too: they are where the
// truth would be peeked at first.
func trespasses(tr *tree) (violations []string) {
	for _, dir := range tr.dirs() {
		for _, i := range tr.packages[dir].imports(dir == "diagnose") {
			target, ours := own(i.path)
			if !ours {
				continue
			}
			for _, f := range forbidden {
				if covers(f.from, dir) && covers(f.to, target) {
					violations = append(violations, fmt.Sprintf("%s: %s imports %s: %s", tr.where(i.pos), dir, target, f.reason))
				}
			}
			if covers("internal/actuate", target) && dir != "cmd/shunt-actor" {
				violations = append(violations, fmt.Sprintf("%s: %s imports %s. Only cmd/shunt-actor may: that no other program can change a network is a missing import, not a flag",
					tr.where(i.pos), dir, target))
			}
		}
	}
	return violations
}

// The rules themselves, on a tree that breaks them.
func TestRulesBite(t *testing.T) {
	tr := &tree{root: t.TempDir(), fset: token.NewFileSet(), packages: map[string]*pkg{}}
	for name, imports := range map[string]string{
		"units/a.go":           "fabric",        // up
		"telemetry/a.go":       "evidence",      // sideways
		"drawer/a.go":          "units",         // no layer
		"netsim/a.go":          "netsim/cc",     // allowed
		"collect/nccl/a.go":    "collect/lines", // allowed
		"report/a.go":          "scenario",      // sideways
		"diagnose/a.go":        "netsim/cc",     // down, and forbidden
		"cmd/shunt/a.go":       "internal/actuate",
		"cmd/shunt-actor/a.go": "internal/actuate", // allowed
	} {
		src := "package a\nimport \"" + module + "/" + imports + "\"\n"
		if err := tr.parse(name, name, []byte(src)); err != nil {
			t.Fatal(err)
		}
	}
	broken := func(list []string) (dirs []string) {
		for _, v := range list {
			dir, _, _ := strings.Cut(v, "/a.go")
			dirs = append(dirs, strings.Fields(strings.TrimPrefix(dir, "../"))[0])
		}
		return dirs
	}
	if diff := cmp.Diff([]string{"drawer", "report", "telemetry", "units"}, broken(upward(tr))); diff != "" {
		t.Errorf("imports that do not go down:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cmd/shunt", "diagnose"}, broken(trespasses(tr))); diff != "" {
		t.Errorf("forbidden imports:\n%s", diff)
	}
}

// linked is the modules that cmd/shunt may link. A newcomer's first build has to end well within a minute and
// the binary has to run anywhere, so each entry earns its place in docs/decisions.
var linked = []string{
	"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/inconshreveable/mousetrap",
	"go.yaml.in/yaml/v4", "github.com/google/jsonschema-go", "golang.org/x/term", "golang.org/x/sys",
	"github.com/go-analyze/charts", // decision 0009
	"gonum.org/v1/gonum",           // decision 0011
}

func TestShuntLinksFewModules(t *testing.T) {
	tr := load(t)
	modules := required(t, tr.root)
	seen := map[string]bool{"cmd/shunt": true}
	for queue := []string{"cmd/shunt"}; len(queue) > 0; queue = queue[1:] {
		p := tr.packages[queue[0]]
		if p == nil {
			continue
		}
		for _, i := range p.imports(false) {
			if dir, ours := own(i.path); ours {
				if !seen[dir] {
					seen[dir] = true
					queue = append(queue, dir)
				}
				continue
			}
			first, _, _ := strings.Cut(i.path, "/")
			if !strings.Contains(first, ".") {
				continue // the standard library
			}
			m := moduleOf(modules, i.path)
			if m == "" {
				t.Errorf("%s: %s is of no module that go.mod requires", tr.where(i.pos), i.path)
			} else if !slices.Contains(linked, m) {
				t.Errorf("%s: cmd/shunt would link %s. The first command of a newcomer has to build in under a minute: use what is there, put it into another program, or argue for it in docs/decisions",
					tr.where(i.pos), m)
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("cmd/shunt reaches %d packages: the walk is broken", len(seen))
	}
}

// required lists the modules of go.mod.
func required(t *testing.T, root string) []string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+([^\s()]+\.[^\s()]+/?\S*) v\S+`).FindAllStringSubmatch(string(src), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatal("go.mod requires nothing: it was not understood")
	}
	return list
}

// moduleOf is the module with the longest path that holds the package.
func moduleOf(modules []string, importPath string) string {
	best := ""
	for _, m := range modules {
		if (m == importPath || strings.HasPrefix(importPath, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}
