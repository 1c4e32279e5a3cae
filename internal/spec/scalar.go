package spec

import (
	"encoding"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// text reads a value that has a text form of its own, such as a rate with its unit.
func (r *reader) text(n *yaml.Node, v reflect.Value, name string, keep rule) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.report(n, "%s is %s; write a value%s", name, describe(n), likeChoice(keep, v.Type()))
		return
	}
	if n.Tag == "!!bool" {
		r.report(n, "%s: %q is true or false, not a quantity; write a value with its unit", name, n.Value)
		return
	}
	if !r.allowed(n, n.Value, name, keep, v.Type()) {
		return
	}
	fresh := reflect.New(v.Type())
	if err := fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
		r.report(n, "%s: %s", name, clipError(err))
		return
	}
	if fresh.Elem().Kind() == reflect.Slice {
		r.length(n, fresh.Elem().Len(), name, keep)
	} else if !r.within(n, fresh.Elem(), name, keep) {
		return
	}
	v.Set(fresh.Elem())
}

// scalar reads text, truth values and numbers. YAML has decided by its own rules what a plain scalar is; a number where
// text is wanted is refused, since 1.10 would quietly become 1.1 in other readers.
func (r *reader) scalar(n *yaml.Node, v reflect.Value, name string, keep rule) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		r.report(n, "%s is %s; write %s", name, describe(n), wanted(v.Type(), keep))
		return
	}
	fresh := reflect.New(v.Type()).Elem()
	ok := false
	switch fresh.Kind() {
	case reflect.String:
		ok = n.Tag == "!!str" || n.Tag == "!!timestamp"
		fresh.SetString(n.Value)
	case reflect.Bool:
		ok = n.Tag == "!!bool"
		fresh.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var x int64
		if x, ok = integer(n); ok && fresh.OverflowInt(x) {
			ok = false
		}
		fresh.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		var x int64
		if x, ok = integer(n); ok && (x < 0 || fresh.OverflowUint(uint64(x))) {
			ok = false
		}
		fresh.SetUint(uint64(x))
	case reflect.Float32, reflect.Float64:
		var x float64
		x, ok = number(n)
		fresh.SetFloat(x)
	default:
		panic("spec: cannot read into " + v.Type().String())
	}
	if !ok {
		hint := ""
		if fresh.Kind() == reflect.String && n.Tag != "!!str" {
			hint = `, in quotes: "` + clip(n.Value) + `"`
		}
		r.report(n, "%s: %q is not %s; write %s%s", name, clip(n.Value), article(v.Type()), wanted(v.Type(), keep), hint)
		return
	}
	if r.allowed(n, n.Value, name, keep, v.Type()) && r.within(n, fresh, name, keep) {
		v.Set(fresh)
	}
}

// integer reads whole numbers, also written 1_000, 0x10 or 1e6 as YAML allows.
func integer(n *yaml.Node) (int64, bool) {
	if n.Tag == "!!int" {
		x, err := strconv.ParseInt(n.Value, 0, 64)
		return x, err == nil
	}
	x, ok := number(n)
	if !ok || x != math.Trunc(x) || math.Abs(x) >= 1<<53 { // past 2^53 a float no longer says which integer
		return 0, false
	}
	return int64(x), true
}

// number reads finite numbers.
func number(n *yaml.Node) (float64, bool) {
	switch n.Tag {
	case "!!int":
		x, err := strconv.ParseInt(n.Value, 0, 64)
		return float64(x), err == nil
	case "!!float":
		x, err := strconv.ParseFloat(n.Value, 64)
		return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	}
	return 0, false
}

// allowed checks a text against the choices of the field or of its type.
func (r *reader) allowed(n *yaml.Node, text, name string, keep rule, t reflect.Type) bool {
	choices := keep.choices
	if choices == nil {
		choices = choicesOf(t)
	}
	if choices == nil || contains(choices, text) {
		return true
	}
	r.report(n, "%s: %q is not one of its values; %s", name, clip(text), suggest(text, choices))
	return false
}

// within checks a number or quantity against the bounds of its field.
func (r *reader) within(n *yaml.Node, v reflect.Value, name string, keep rule) bool {
	x, ok := asNumber(v)
	if !ok {
		return true
	}
	if keep.min != "" && x < bound(v.Type(), keep.min) {
		r.report(n, "%s: %s is too small; write %s or more", name, clip(n.Value), keep.min)
		return false
	}
	if keep.max != "" && x > bound(v.Type(), keep.max) {
		r.report(n, "%s: %s is too large; write %s or less", name, clip(n.Value), keep.max)
		return false
	}
	return true
}

// length checks the number of items of a list or map.
func (r *reader) length(n *yaml.Node, items int, name string, keep rule) {
	if keep.min != "" && float64(items) < plain(keep.min) {
		r.report(n, "%s has %d items; write %s or more", name, items, keep.min)
	}
	if keep.max != "" && float64(items) > plain(keep.max) {
		r.report(n, "%s has %d items; write %s or fewer", name, items, keep.max)
	}
}

// asNumber is v for comparing with bounds; exact up to 2^53, past which no bound of ours lies.
func asNumber(v reflect.Value) (float64, bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// bound reads a bound from a tag in the text form of type t. A tag that cannot be read is a mistake in our own code.
func bound(t reflect.Type, tag string) float64 {
	if !isText(t) {
		return plain(tag)
	}
	v := reflect.New(t)
	if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(tag)); err != nil {
		panic("spec: bound of " + t.String() + ": " + err.Error())
	}
	x, _ := asNumber(v.Elem())
	return x
}

func plain(tag string) float64 {
	x, err := strconv.ParseFloat(tag, 64)
	if err != nil {
		panic("spec: bound " + tag + " is not a number")
	}
	return x
}

// article says what values of t are.
func article(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 on that fits"
	}
	return "a whole number that fits"
}

// wanted says what to write for a value of type t.
func wanted(t reflect.Type, keep rule) string {
	choices := keep.choices
	if choices == nil {
		choices = choicesOf(t)
	}
	switch {
	case choices != nil:
		return "one of " + strings.Join(choices, ", ")
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "a number like 0.5"
	}
	if keep.min != "" {
		return "a whole number like " + keep.min
	}
	return "a whole number like 4"
}

func likeChoice(keep rule, t reflect.Type) string {
	if keep.choices == nil {
		keep.choices = choicesOf(t)
	}
	if keep.choices == nil {
		return ""
	}
	return ": " + strings.Join(keep.choices, ", ")
}

// clipError keeps the foreign text inside an error short.
func clipError(err error) string {
	const longest = 300
	s := err.Error()
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "..."
	}
	return s
}
