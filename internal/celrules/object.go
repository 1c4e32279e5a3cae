package celrules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/shunt-network/shunt/rules"
)

// prefix begins the names of our types inside the language.
const prefix = "shunt."

// provider gives the language the types of package rules. What it does not know, the standard registry answers.
type provider struct {
	*types.Registry
	structs map[string]reflect.Type
}

func newProvider() (*provider, error) {
	r, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := &provider{Registry: r, structs: map[string]reflect.Type{}}
	p.learn(reflect.TypeFor[rules.Cluster]())
	return p, nil
}

// learn takes in a struct and those it leads to.
func (p *provider) learn(t reflect.Type) {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		p.learn(t.Elem())
	case reflect.Struct:
		if p.structs[typeName(t)] != nil {
			return
		}
		p.structs[typeName(t)] = t
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				p.learn(t.Field(i).Type)
			}
		}
	}
}

func typeName(t reflect.Type) string { return prefix + t.Name() }

// hidden are fields that expressions do not have: streams are asked for by functions.
var hidden = []string{"series"}

// fieldOf finds a field by its name in expressions.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	if t == reflect.TypeFor[rules.Cluster]() && slices.Contains(hidden, name) {
		return reflect.StructField{}, false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// FindStructType finds one of our types.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.structs[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames lists the fields of one of our types.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	t := p.structs[name]
	if t == nil {
		return p.Registry.FindStructFieldNames(name)
	}
	var list []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("yaml"); t.Field(i).IsExported() && tag != "" {
			if _, ok := fieldOf(t, tag); ok {
				list = append(list, tag)
			}
		}
	}
	return list, true
}

// FindStructFieldType finds the type of a field, and how to read it.
func (p *provider) FindStructFieldType(structName, field string) (*types.FieldType, bool) {
	t := p.structs[structName]
	if t == nil {
		return p.Registry.FindStructFieldType(structName, field)
	}
	f, ok := fieldOf(t, field)
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type: celType(f.Type),
		IsSet: func(target any) bool {
			v := reflect.ValueOf(target).Elem().FieldByIndex(f.Index)
			return v.Kind() != reflect.Pointer || !v.IsNil()
		},
		GetFrom: func(target any) (any, error) {
			v := reflect.ValueOf(target).Elem()
			x, ok := p.value(v.FieldByIndex(f.Index))
			if !ok {
				return nil, fmt.Errorf("the %s of %s is not known", field, label(v))
			}
			return x, nil
		},
	}, true
}

// celType is the type of a Go type inside the language.
func celType(t reflect.Type) *types.Type {
	switch t.Kind() {
	case reflect.Pointer:
		return celType(t.Elem())
	case reflect.Slice:
		return types.NewListType(celType(t.Elem()))
	case reflect.Map:
		return types.NewMapType(types.StringType, celType(t.Elem()))
	case reflect.Struct:
		return types.NewObjectType(typeName(t))
	case reflect.Bool:
		return types.BoolType
	case reflect.Int64:
		return types.IntType
	case reflect.Float64:
		return types.DoubleType
	}
	return types.StringType
}

// value turns a Go value into one of the language; ok is false where it is unknown.
func (p *provider) value(v reflect.Value) (out ref.Val, ok bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, false
		}
		return p.value(v.Elem())
	case reflect.Slice:
		list := make([]ref.Val, v.Len())
		for i := range list {
			list[i], _ = p.value(v.Index(i)) // elements are never pointers
		}
		return types.NewRefValList(p, list), true
	case reflect.Map:
		return types.NewStringStringMap(p, v.Interface().(map[string]string)), true
	case reflect.Struct:
		return object{v.Addr()}, true
	case reflect.Bool:
		return types.Bool(v.Bool()), true
	case reflect.Int64:
		return types.Int(v.Int()), true
	case reflect.Float64:
		return types.Double(v.Float()), true
	}
	return types.String(v.String()), true
}

// label is what messages call a thing: its object, its name, or what else tells it.
func label(v reflect.Value) string {
	for _, name := range []string{"Object", "Name", "Address", "Text", "Series", "Src", "Kind"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String && f.String() != "" {
			return f.String()
		}
	}
	return "the " + strings.ToLower(v.Type().Name())
}

// object is a struct of package rules inside the language. The field is a pointer to it.
type object struct{ pointer reflect.Value }

// ConvertToNative gives the struct itself.
func (o object) ConvertToNative(t reflect.Type) (any, error) {
	if o.pointer.Type().AssignableTo(t) {
		return o.pointer.Interface(), nil
	}
	return nil, fmt.Errorf("%s is no %v", o.Type().TypeName(), t)
}

// ConvertToType knows no other type.
func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return types.NewObjectType(o.Type().TypeName())
	}
	return types.NewErr("%s cannot become %s", o.Type().TypeName(), t.TypeName())
}

// Equal tells whether both are the same thing.
func (o object) Equal(other ref.Val) ref.Val {
	p, ok := other.(object)
	return types.Bool(ok && p.pointer.Pointer() == o.pointer.Pointer())
}

// Type is the type inside the language.
func (o object) Type() ref.Type { return types.NewObjectType(typeName(o.pointer.Type().Elem())) }

// Value is the pointer, which fields are read through.
func (o object) Value() any { return o.pointer.Interface() }
