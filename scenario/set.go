package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/workload"
)

// Setting is one field of a scenario file given another value, before the file is read: any field by its path, the value as YAML
// writes it. Every mistake is told as it would be had it stood in the file.
type Setting struct {
	Path  string `json:"path"` // "switch.ecn.kmin", "faults[0].at"
	Value string `json:"value"`
}

// ParseSetting reads "path=value".
func ParseSetting(text string) (Setting, error) {
	path, value, ok := strings.Cut(text, "=")
	if path = strings.TrimSpace(path); !ok || path == "" {
		return Setting{}, fmt.Errorf("%q is no setting; write path=value, like switch.ecn.kmin=400KB", text)
	}
	return Setting{path, strings.TrimSpace(value)}, nil
}

func (s Setting) String() string { return s.Path + "=" + s.Value }

// Source is a scenario file as it was read, from which variants are made.
type Source struct {
	File  string
	Bytes []byte

	built *built
}

// built is the network that the variants of one source made last: most change something else, and a large one takes seconds to build.
type built struct {
	mu   sync.Mutex
	spec fabric.Spec
	f    *fabric.Fabric
}

// build is the network of a spec, the same as the last one where nothing in it has changed. Fabrics are immutable, so runs may share
// one.
func (b *built) build(s fabric.Spec, report func(path, text string)) *fabric.Fabric {
	if b == nil {
		return s.Build(report)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil || !reflect.DeepEqual(b.spec, s) {
		if b.f = s.Build(report); b.f != nil {
			b.spec = s
		}
	}
	return b.f
}

// ReadSource reads a scenario file, or scenario.yaml in a folder.
func ReadSource(path string) (Source, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return Source{}, fmt.Errorf("scenario: %w", err)
	}
	return Source{File: path, Bytes: src, built: &built{}}, nil
}

// With reads the scenario with fields set. The error is a spec.Problems that holds every mistake, those of a setting under its own
// text.
func (s Source) With(set ...Setting) (*Scenario, error) {
	doc, problems := spec.Parse(s.File, s.Bytes)
	if len(problems) > 0 {
		return nil, problems
	}
	for _, x := range set {
		if err := doc.Set(x.Path, x.Value, "--set "+x.String()); err != nil {
			return nil, err
		}
	}
	return read(doc, s.built, (*Scenario).checkAnySize)
}

// checkAnySize is check for a job of any size: one that is too large to be written out may still be worked out in phases.
func (s *Scenario) checkAnySize(problems *spec.Problems) {
	s.checkWith(problems, func(f *fabric.Fabric, report func(path, text string)) {
		if s.Import == nil || s.Import.Job == "" {
			s.Spec.Check(f, report)
		}
	})
}

// TooLarge tells whether the job has more operations than can be carried out one by one; the flow engine then works it out in phases.
func (s *Scenario) TooLarge() bool {
	f, err := s.build()
	return err == nil && (s.Import == nil || s.Import.Job == "") && !s.Spec.Fits(f, workload.MaxOps)
}

// readable tells whether a field is there and takes a value, whatever the other fields are.
func (s Source) readable(x Setting) error {
	doc, problems := spec.Parse(s.File, s.Bytes)
	if len(problems) > 0 {
		return problems
	}
	if err := doc.Set(x.Path, x.Value, "--over "+x.String()); err != nil {
		return err
	}
	return doc.Decode(&Scenario{}).Err()
}
