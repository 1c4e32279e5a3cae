// Package spec owns the step from a file a person wrote to Go values: it reads YAML into structs described by
// their tags, and reports everything that is wrong in one go, each with file, line and column.
//
// The same tags make the published JSON Schema, so that an editor and the reader judge a file alike:
//
//	yaml:"name"        the field's name; a field without one is not read, an embedded struct is read in place
//	doc:"..."          what it is, for messages and the schema (a field named _ carries the doc of its struct)
//	required:"true"    must be present
//	choices:"a,b"      the texts allowed; a type may instead have a method Choices() []string
//	min:"1" max:"64"   bounds of a number or quantity, in its own text form; of a list, its length
//	example:"400Gbps"  a right value, for messages and the schema
//
// What a field means together with others is checked by the package that owns the struct, which reports
// through Doc.Problem or Doc.Reporter under the path of the field.
//
// Read problem.go, parse.go, decode.go, scalar.go, then schema.go.
package spec
