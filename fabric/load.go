package fabric

import "github.com/shunt-network/shunt/internal/spec"

// Load reads a fabric from a file of its own. The error is a spec.Problems: every problem of the file with its
// line and column.
func Load(file string, src []byte) (*Fabric, error) {
	doc, problems := spec.Parse(file, src)
	if len(problems) > 0 {
		return nil, problems
	}
	var s Spec
	if problems = doc.Decode(&s); len(problems) > 0 {
		return nil, problems
	}
	f := s.Build(doc.Reporter(&problems, ""))
	return f, problems.Err()
}
