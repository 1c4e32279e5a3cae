package spec

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A field that was set from outside, as by an option of a command, has no place in the file. Its nodes carry a negative line, which
// says which of the document's origins they come from, so that a problem of theirs is told under the name of the option.

// Set puts a value, written as YAML, in the place of the field at path, before Decode; fields around it are made where the file
// has none, and the index after the last of a list adds to it. origin is what problems of the value are told under,
// "--set seed=x". Whether there is such a field and whether it takes the value, Decode tells.
func (d *Doc) Set(path, value, origin string) error {
	fail := func(format string, args ...any) error {
		return Problems{{File: origin, Text: fmt.Sprintf(format, args...)}}
	}
	steps := split(path)
	if len(steps) == 0 || strings.Contains(path, "..") || strings.HasSuffix(path, ".") {
		return fail("%q is no path of a field; write it like switch.ecn.kmin or faults[0].at", path)
	}
	doc, problems := Parse(origin, []byte(value))
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Line, problems[i].Col = 0, 0 // an option has no lines
		}
		return problems
	}
	d.origins = append(d.origins, origin)
	mark := -len(d.origins)
	node := doc.root
	if node == nil {
		node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	for n := range tree(node) {
		n.Line, n.Column = mark, 0
	}
	if d.root == nil || isNull(d.root) {
		d.root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	}
	at := &d.root
	for i, s := range steps {
		own(at)
		n := *at
		if isNull(n) && i > 0 { // a field that stands empty in the file is made what the path needs
			n.Kind, n.Tag, n.Value = yaml.MappingNode, "!!map", ""
			if s.index >= 0 {
				n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
			}
		}
		switch {
		case s.index < 0 && n.Kind == yaml.MappingNode:
			at = entry(n, s.name, mark)
		case s.index >= 0 && n.Kind == yaml.SequenceNode && s.index <= len(n.Content):
			if s.index == len(n.Content) {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: mark})
			}
			at = &n.Content[s.index]
		case s.index >= 0 && n.Kind == yaml.SequenceNode:
			return fail("%s has %d items; the next is [%d]", joined(steps[:i]), len(n.Content), len(n.Content))
		case n.Kind == yaml.SequenceNode:
			return fail("%s is a list; write %s[0].%s or another index", joined(steps[:i]), joined(steps[:i]), s.name)
		default:
			return fail("%s is %s and has nothing inside", joined(steps[:i]), describe(n))
		}
	}
	*at = node
	return nil
}

// Within makes the whole document the value of one field, so that a file of a part reads as a file of the whole. Problems keep their
// places.
func (d *Doc) Within(name string) {
	value := d.root
	if value == nil {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	}
	d.root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: value.Line, Column: value.Column}, value,
	}}
}

// entry is the place of a map's value; the key is added where the map lacks it.
func entry(m *yaml.Node, name string, mark int) **yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name {
			return &m.Content[i+1]
		}
	}
	m.Content = append(m.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: mark},
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: mark})
	return &m.Content[len(m.Content)-1]
}

// own replaces an alias by a copy of what it stands for, and what an alias stands for by a copy as well: what is set in one place
// must not change in the others.
func own(at **yaml.Node) {
	if t := target(*at); t != *at || t.Anchor != "" {
		*at = copied(t, 0)
	}
}

func copied(n *yaml.Node, depth int) *yaml.Node {
	c := *n
	c.Anchor = ""
	c.Content = nil
	if depth > MaxDepth { // an alias inside its own anchor; Decode tells
		return &c
	}
	for _, inner := range n.Content {
		c.Content = append(c.Content, copied(inner, depth+1))
	}
	return &c
}

// tree walks a node and what is inside it, aliases as they stand.
func tree(n *yaml.Node) func(yield func(*yaml.Node) bool) {
	var walk func(n *yaml.Node, yield func(*yaml.Node) bool) bool
	walk = func(n *yaml.Node, yield func(*yaml.Node) bool) bool {
		if !yield(n) {
			return false
		}
		for _, inner := range n.Content {
			if !walk(inner, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(*yaml.Node) bool) { walk(n, yield) }
}

// joined writes steps as a path.
func joined(steps []pathStep) string {
	var b strings.Builder
	for i, s := range steps {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case i > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	if b.Len() == 0 {
		return "the file"
	}
	return b.String()
}

// placed is the file and place of a node: an origin has no line.
func placed(file string, origins []string, line, col int) (string, int, int) {
	if line < 0 && -line <= len(origins) {
		return origins[-line-1], 0, 0
	}
	return file, line, col
}
