package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/spec"
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
	return Source{path, src}, nil
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
	return read(doc, (*Scenario).checkAnySize)
}

// checkAnySize is check for a job of any size: one that is too large to be written out may still be worked out in phases.
func (s *Scenario) checkAnySize(problems *spec.Problems) {
	s.checkWith(problems, func(f *fabric.Fabric, report func(path, text string)) { s.Spec.Check(f, report) })
}

// TooLarge tells whether the job has more operations than can be carried out one by one; the flow engine then works it out in phases.
func (s *Scenario) TooLarge() bool {
	f, err := s.build()
	return err == nil && !s.Spec.Fits(f)
}
