package spec

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Decode reads the document into v, a pointer to a struct. Fields the file does not have keep their value. All
// problems are returned; fields without a problem are set.
func (d *Doc) Decode(v any) Problems {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("spec: Decode needs a pointer to a struct, got %T", v))
	}
	r := &reader{file: d.File, origins: d.origins, fields: map[reflect.Type][]field{}}
	root := d.root
	if root == nil || isNull(root) {
		root = &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1} // an empty file has no field
	}
	r.value(root, target.Elem(), "the file", rule{}, 0)
	if r.more > 0 {
		r.problems = append(r.problems, Problem{File: d.File, Text: fmt.Sprintf("%d more problems are not shown; mend these first", r.more)})
	}
	return r.problems
}

// reader is one Decode at work.
type reader struct {
	file     string
	origins  []string
	problems Problems
	more     int // problems past MaxProblems
	aliased  int // nodes read through aliases
	inAlias  bool
	fields   map[reflect.Type][]field
}

// report adds a problem at node n. Beyond MaxProblems it only counts: one slip near the top of a generated file can
// make every line wrong.
func (r *reader) report(n *yaml.Node, format string, args ...any) {
	if len(r.problems) == MaxProblems {
		r.more++
		return
	}
	file, line, col := placed(r.file, r.origins, n.Line, n.Column)
	r.problems = append(r.problems, Problem{file, line, col, fmt.Sprintf(format, args...)})
}

// value reads node n into v. name is what messages call it.
func (r *reader) value(n *yaml.Node, v reflect.Value, name string, keep rule, depth int) {
	if depth > MaxDepth { // an alias inside its own anchor nests without end
		r.report(n, "%s nests more than %d deep; remove the alias that contains itself", name, MaxDepth)
		return
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		if !r.inAlias {
			r.inAlias = true
			defer func() { r.inAlias = false }()
		}
		n = n.Alias
	}
	if r.inAlias {
		if r.aliased++; r.aliased > MaxAliased {
			if r.aliased == MaxAliased+1 {
				r.report(n, "aliases expand to more than %d values; write fewer", MaxAliased)
			}
			return
		}
	}
	if n.Tag != "" && !strings.HasPrefix(n.Tag, "!!") {
		r.report(n, "%s has the tag %s; tags are not used, remove it", name, n.Tag)
		return
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		inner := reflect.New(t.Elem())
		before := len(r.problems) + r.more
		r.value(n, inner.Elem(), name, keep, depth)
		if before == len(r.problems)+r.more {
			v.Set(inner)
		}
		return
	}
	switch kind := t.Kind(); {
	case isText(t) && (n.Kind == yaml.ScalarNode || kind != reflect.Slice):
		r.text(n, v, name, keep)
	case kind == reflect.Struct:
		r.structure(n, v, name, depth)
	case kind == reflect.Map:
		r.mapping(n, v, name, keep, depth)
	case kind == reflect.Slice || kind == reflect.Array:
		r.list(n, v, name, keep, depth)
	default:
		r.scalar(n, v, name, keep)
	}
}

// structure reads a map into a struct. A field that is wrong keeps its value, and the others are still read.
func (r *reader) structure(n *yaml.Node, v reflect.Value, name string, depth int) {
	t := v.Type()
	fields, ok := r.fields[t]
	if !ok {
		fields = fieldsOf(t)
		r.fields[t] = fields
	}
	if n.Kind != yaml.MappingNode {
		r.report(n, "%s is %s; write fields: %s", name, describe(n), strings.Join(names(fields), ", "))
		return
	}
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !r.key(key, seen) {
			continue
		}
		f := find(fields, key.Value)
		if f == nil {
			r.report(key, "unknown field %s in %s; %s", key.Value, name, suggest(key.Value, names(fields)))
			continue
		}
		r.value(value, v.FieldByIndex(f.index), f.name, f.rule, depth+1)
	}
	for _, f := range fields {
		if f.required && seen[f.name] == nil {
			r.report(n, "%s lacks %s%s; add %s", name, f.name, inParens(f.doc), addition(f))
		}
	}
}

// key checks that a key of a map is a plain name and new, and notes it.
func (r *reader) key(key *yaml.Node, seen map[string]*yaml.Node) bool {
	switch {
	case key.Kind != yaml.ScalarNode:
		r.report(key, "a field's name is %s; write a plain name", describe(key))
		return false
	case key.Tag == "!!merge":
		r.report(key, "merging maps with << is not supported; write the fields out")
		return false
	}
	if first := seen[key.Value]; first != nil {
		r.report(key, "%s was given in line %d already; remove one of the two", key.Value, first.Line)
		return false
	}
	seen[key.Value] = key
	return true
}

// mapping reads a map whose names the user chooses. An empty value is an empty map.
func (r *reader) mapping(n *yaml.Node, v reflect.Value, name string, keep rule, depth int) {
	t := v.Type()
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.report(n, "%s is %s; write a map of name: value", name, describe(n))
		return
	}
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("spec: %v: only maps by a string can be read", t))
	}
	out := reflect.MakeMap(t)
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	allowed := choicesOf(t.Key())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !r.key(key, seen) {
			continue
		}
		if allowed != nil && !contains(allowed, key.Value) {
			r.report(key, "%s: unknown name %q; %s", name, key.Value, suggest(key.Value, allowed))
			continue
		}
		element := reflect.New(t.Elem()).Elem()
		r.value(n.Content[i+1], element, key.Value, rule{}, depth+1)
		out.SetMapIndex(reflect.ValueOf(key.Value).Convert(t.Key()), element)
	}
	r.length(n, len(seen), name, keep)
	v.Set(out)
}

// list reads a list; an empty value is an empty list, as when all items are commented out.
func (r *reader) list(n *yaml.Node, v reflect.Value, name string, keep rule, depth int) {
	t := v.Type()
	if isNull(n) && t.Kind() == reflect.Slice {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Column: n.Column}
	}
	if n.Kind != yaml.SequenceNode {
		r.report(n, "%s is %s; write a list: [a, b] or a line with - for each", name, describe(n))
		return
	}
	out := v
	if t.Kind() == reflect.Array {
		if len(n.Content) != t.Len() {
			r.report(n, "%s has %d items; write %d", name, len(n.Content), t.Len())
			return
		}
	} else {
		r.length(n, len(n.Content), name, keep)
		out = reflect.MakeSlice(t, 0, 0)
	}
	for i, item := range n.Content {
		if r.aliased > MaxAliased {
			return // reported; what an alias bomb expands to is not kept
		}
		element := reflect.New(t.Elem()).Elem()
		r.value(item, element, fmt.Sprintf("%s[%d]", name, i), rule{choices: keep.choices}, depth+1)
		if t.Kind() == reflect.Array {
			out.Index(i).Set(element)
		} else {
			out = reflect.Append(out, element)
		}
	}
	v.Set(out)
}

func find(fields []field, name string) *field {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func names(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func inParens(doc string) string {
	if doc == "" {
		return ""
	}
	return " (" + doc + ")"
}

// addition shows how to write a field that is missing.
func addition(f field) string {
	if f.example != "" {
		return f.name + ": " + f.example
	}
	if c := f.rule.choices; c != nil {
		return f.name + ": " + c[0]
	}
	if c := choicesOf(f.typ); c != nil {
		return f.name + ": " + c[0]
	}
	return f.name + ": ..."
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe says what a node is, for "is a list; write ...".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if isNull(n) {
		return "empty"
	}
	return fmt.Sprintf("%q", clip(n.Value))
}

// clip keeps a foreign text short enough for a message.
func clip(s string) string {
	const longest = 60 // a message stays on a terminal's line or two
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "..."
	}
	return s
}
