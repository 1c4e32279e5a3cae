package spec

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// At is the place of the field at path, written like "fabric.links[2].between". For a map or list it is the place
// of its name. Where the file does not have the field it is the place of the nearest thing around it that the
// file has. Both are 1 for an empty file.
func (d *Doc) At(path string) (line, col int) {
	place, _ := d.find(path)
	if place == nil {
		return 1, 1
	}
	return place.Line, place.Column
}

// Has tells whether the file has a field at path.
func (d *Doc) Has(path string) bool {
	_, found := d.find(path)
	return found
}

// Problem is a problem at the place of the field at path.
func (d *Doc) Problem(path, text string) Problem {
	line, col := d.At(path)
	file, line, col := placed(d.File, d.origins, line, col)
	return Problem{file, line, col, text}
}

// Reporter returns a function that adds a problem to ps for a field below prefix; with an empty prefix, paths
// are those of the file.
func (d *Doc) Reporter(ps *Problems, prefix string) func(path, text string) {
	return func(path, text string) {
		switch {
		case prefix == "":
		case path == "" || path[0] == '[':
			path = prefix + path
		default:
			path = prefix + "." + path
		}
		*ps = append(*ps, d.Problem(path, text))
	}
}

// find walks path as far as the file has it.
func (d *Doc) find(path string) (place *yaml.Node, found bool) {
	at := d.root
	place = at
	if at == nil {
		return nil, path == ""
	}
	for _, step := range split(path) {
		at = target(at)
		switch {
		case at.Kind == yaml.MappingNode && step.index < 0:
			key, value := lookup(at, step.name)
			if key == nil {
				return place, false
			}
			at, place = value, value
			if t := target(value); t.Kind != yaml.ScalarNode && t.Style&yaml.FlowStyle == 0 {
				place = key // a block map or list begins a line below its name
			}
		case at.Kind == yaml.SequenceNode && step.index >= 0 && step.index < len(at.Content):
			at = at.Content[step.index]
			place = at
		default:
			return place, false
		}
	}
	return place, true
}

func lookup(m *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return k, m.Content[i+1]
		}
	}
	return nil, nil
}

// target follows an alias to what it stands for. The parser refuses an alias of an alias and one inside its own anchor's
// scalar, so one hop is enough.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// pathStep is a field name, or an index where index >= 0.
type pathStep struct {
	name  string
	index int
}

// split takes a path apart: "a.b[2]" is a, b, 2. A name in brackets and quotes may hold any character.
func split(path string) []pathStep {
	var steps []pathStep
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return steps
			}
			inside := path[1:end]
			if i, err := strconv.Atoi(inside); err == nil && i >= 0 {
				steps = append(steps, pathStep{index: i})
			} else {
				steps = append(steps, pathStep{name: strings.Trim(inside, `"`), index: -1})
			}
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps = append(steps, pathStep{name: path[:end], index: -1})
			path = path[end:]
		}
	}
	return steps
}
