package spec

import (
	"encoding"
	"reflect"
	"strings"
)

// field is what the tags of a struct field say. index leads to it through embedded structs.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	doc      string
	example  string
	required bool
	rule     rule
}

// rule is what a value must keep.
type rule struct {
	choices  []string
	min, max string // empty: no bound
}

// chooser is how a named type lists the texts it allows.
type chooser interface{ Choices() []string }

var (
	textType    = reflect.TypeFor[encoding.TextUnmarshaler]()
	chooserType = reflect.TypeFor[chooser]()
)

// isText tells whether values of t are read from their text form.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// choicesOf lists the texts type t allows, nil when any.
func choicesOf(t reflect.Type) []string {
	if reflect.PointerTo(t).Implements(chooserType) {
		return reflect.New(t).Interface().(chooser).Choices()
	}
	return nil
}

// fieldsOf lists the readable fields of struct type t in order, those of embedded structs in their place.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		if name == "" || !f.IsExported() {
			continue
		}
		r := rule{min: f.Tag.Get("min"), max: f.Tag.Get("max")}
		if c := f.Tag.Get("choices"); c != "" {
			r.choices = strings.Split(c, ",")
		}
		out = append(out, field{
			name: name, index: []int{i}, typ: f.Type, doc: f.Tag.Get("doc"), example: f.Tag.Get("example"),
			required: f.Tag.Get("required") == "true", rule: r,
		})
	}
	return out
}

// docOf is the doc of a struct type, carried by a field named _.
func docOf(t reflect.Type) string {
	if f, ok := t.FieldByName("_"); ok {
		return f.Tag.Get("doc")
	}
	for i := range t.NumField() {
		if t.Field(i).Name == "_" {
			return t.Field(i).Tag.Get("doc")
		}
	}
	return ""
}
