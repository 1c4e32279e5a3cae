package spec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shunt-network/shunt/units"
)

// Schema is the JSON Schema (draft 2020-12) of what Decode reads into v, a struct or a pointer to one, as
// indented JSON that ends in a newline. It fails for a type that contains itself.
//
// The schema says less than the reader where JSON Schema has no words: bounds of a quantity written with its
// unit, names given twice, and everything that fields mean together.
func Schema(v any) ([]byte, error) {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, err := schemaOf(t, rule{}, nil)
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("spec: schema of %v: %w", t, err)
	}
	return append(out, '\n'), nil
}

// schemaOf mirrors reader.value, case for case. within are the types around t: a schema is written out in full, so a
// type inside itself would have no end.
func schemaOf(t reflect.Type, keep rule, within []reflect.Type) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(within) > MaxDepth {
		return nil, fmt.Errorf("spec: %v contains itself; a schema without end", within[0])
	}
	within = append(within, t)
	switch {
	case isText(t) && t.Kind() == reflect.Slice:
		text := textSchema(t, rule{})
		list, err := listSchema(t, keep, within)
		if err != nil {
			return nil, err
		}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, list}}, nil
	case isText(t):
		return textSchema(t, keep), nil
	case t.Kind() == reflect.Struct:
		return structSchema(t, within)
	case t.Kind() == reflect.Map:
		return mapSchema(t, keep, within)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return listSchema(t, keep, within)
	}
	return scalarSchema(t, keep), nil
}

func structSchema(t reflect.Type, within []reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type: "object", Description: docOf(t), Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: nothing(),
	}
	for _, f := range fieldsOf(t) {
		inner, err := schemaOf(f.typ, f.rule, within)
		if err != nil {
			return nil, err
		}
		if f.doc != "" {
			inner.Description = f.doc
		}
		if f.example != "" {
			inner.Examples = []any{f.example}
		}
		s.Properties[f.name] = inner
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s, nil
}

func mapSchema(t reflect.Type, keep rule, within []reflect.Type) (*jsonschema.Schema, error) {
	inner, err := schemaOf(t.Elem(), rule{}, within)
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{Types: []string{"object", "null"}, AdditionalProperties: inner}
	if c := choicesOf(t.Key()); c != nil {
		s.PropertyNames = &jsonschema.Schema{Enum: enum(c)}
	}
	s.MinProperties, s.MaxProperties = count(keep.min), count(keep.max)
	return s, nil
}

func listSchema(t reflect.Type, keep rule, within []reflect.Type) (*jsonschema.Schema, error) {
	items, err := schemaOf(t.Elem(), rule{choices: keep.choices}, within)
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{Types: []string{"array", "null"}, Items: items}
	if t.Kind() == reflect.Array {
		n := t.Len()
		s.Types, s.Type = nil, "array"
		s.MinItems, s.MaxItems = &n, &n
		return s, nil
	}
	if s.MinItems, s.MaxItems = count(keep.min), count(keep.max); s.MinItems != nil && *s.MinItems > 0 {
		s.Types, s.Type = nil, "array" // an empty value is an empty list, which is too short
	}
	return s, nil
}

func scalarSchema(t reflect.Type, keep rule) *jsonschema.Schema {
	s := &jsonschema.Schema{Enum: enum(keep.choices)}
	if s.Enum == nil {
		s.Enum = enum(choicesOf(t))
	}
	if keep.min != "" {
		x := plain(keep.min)
		s.Minimum = &x
	}
	if keep.max != "" {
		x := plain(keep.max)
		s.Maximum = &x
	}
	switch t.Kind() {
	case reflect.String:
		s.Type = "string"
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Float32, reflect.Float64:
		s.Type = "number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.Type = "integer"
		narrow(s, 0, math.Ldexp(1, t.Bits())-1)
	default:
		s.Type = "integer"
		narrow(s, -math.Ldexp(1, t.Bits()-1), math.Ldexp(1, t.Bits()-1)-1)
	}
	return s
}

// narrow adds the bounds of a Go type where the tags give none. Those of 64 bits say nothing to a person and are left out.
func narrow(s *jsonschema.Schema, least, most float64) {
	if s.Minimum == nil && (least == 0 || least > math.MinInt64) {
		s.Minimum = &least
	}
	if s.Maximum == nil && most < math.MaxInt64 {
		s.Maximum = &most
	}
}

// Patterns of the text forms of units. They are looser than the parsers in the number only.
const (
	numberPattern = `^\s*[+-]?[0-9._]+([eE][+-]?[0-9]+)?\s*`
	ratePattern   = numberPattern + `([KMGT]?bps|[KMGT]?b/s)\s*$`
	timePattern   = numberPattern + `(ps|ns|us|µs|ms|s)\s*$`
	sizePattern   = numberPattern + `(B|[kKMGT]B|[KMGT]iB|[KMG])?\s*$`
	sharePattern  = `^\s*\+?[0-9._]+([eE][+-]?[0-9]+)?\s*%?\s*$`
)

// textSchema describes a value with a text form. A bare number is allowed where the parser itself takes one.
func textSchema(t reflect.Type, keep rule) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Enum: enum(keep.choices)}
	if s.Enum == nil {
		s.Enum = enum(choicesOf(t))
	}
	switch t {
	case reflect.TypeFor[units.Rate]():
		s.Pattern = ratePattern
	case reflect.TypeFor[units.Duration]():
		s.Pattern = timePattern
	case reflect.TypeFor[units.Bytes]():
		s.Pattern = sizePattern
	case reflect.TypeFor[units.Fraction]():
		s.Pattern = sharePattern
	}
	if s.Enum == nil && reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte("1")) == nil {
		s.Type, s.Types = "", []string{"string", "number"}
	}
	if bounds := strings.TrimSpace(boundText(keep)); bounds != "" {
		s.Comment = bounds
	}
	return s
}

// boundText carries the bounds of a quantity as a comment, since a schema cannot compare texts with units.
func boundText(keep rule) string {
	var out string
	if keep.min != "" {
		out = "at least " + keep.min
	}
	if keep.max != "" {
		out += " at most " + keep.max
	}
	return out
}

func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func enum(choices []string) []any {
	if choices == nil {
		return nil
	}
	out := make([]any, len(choices))
	for i, c := range choices {
		out[i] = c
	}
	return out
}

func count(tag string) *int {
	if tag == "" {
		return nil
	}
	n := int(plain(tag))
	return &n
}
