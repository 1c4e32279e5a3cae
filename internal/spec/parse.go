package spec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Limits on a file. None is near what a person writes; they bound what a hostile or broken file can cost.
const (
	MaxFileBytes = 16 << 20 // a fabric with 400 000 link overrides is about this large
	MaxDepth     = 100      // nesting of maps and lists; our deepest schema nests 6
	MaxAliased   = 100_000  // nodes read through aliases (*name): ten levels of ten aliases would be 10^10
	MaxProblems  = 200      // problems reported for one file; the rest is counted
)

// Doc is a file that is well-formed YAML.
type Doc struct {
	File string

	root    *yaml.Node // nil for an empty file
	origins []string   // of fields that were set from outside
}

// Parse reads src as one YAML document. file is the name used in problems. The Doc is nil when there are
// problems: the syntax is broken, so nothing in it has a sure meaning.
func Parse(file string, src []byte) (*Doc, Problems) {
	fail := func(line, col int, text string) (*Doc, Problems) {
		return nil, Problems{{file, line, col, text}}
	}
	if len(src) > MaxFileBytes {
		return fail(0, 0, fmt.Sprintf("the file has %d bytes; at most %d are read", len(src), MaxFileBytes))
	}
	if line, col, text := badText(src); text != "" {
		return fail(line, col, text)
	}
	var root yaml.Node
	switch line, col, err := load(src, &root); {
	case errors.Is(err, io.EOF):
		return &Doc{File: file}, nil
	case err != nil:
		return fail(line, col, err.Error()+hint(src, line, col, err.Error()))
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return &Doc{File: file}, nil
	}
	return &Doc{File: file, root: root.Content[0]}, nil
}

// badText finds bytes that no YAML file may hold (YAML 1.2.2, section 5.1); the parser would report them without
// their place.
func badText(src []byte) (line, col int, text string) {
	line, col = 1, 1
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return line, col, "not UTF-8 text; save the file as UTF-8"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, r > 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
			return line, col, fmt.Sprintf("control character %U; remove it", r)
		}
		i += size
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	return 0, 0, ""
}

// load reads the first document into root and makes sure there is no second. The error is io.EOF for an empty
// file and otherwise says what is wrong at line and col.
func load(src []byte, root *yaml.Node) (line, col int, err error) {
	// The parser is foreign code over foreign bytes. Should it panic, the user gets a message, not a stack.
	defer func() {
		if r := recover(); r != nil {
			line, col, err = 1, 1, fmt.Errorf("the YAML parser gave up (%v); simplify the file", r)
		}
	}()
	loader, err := yaml.NewLoader(strings.NewReader(string(src)),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth))))
	if err != nil {
		return 1, 1, err
	}
	if err := loader.Load(root); err != nil {
		return syntax(err)
	}
	var second yaml.Node
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		return 0, 0, nil
	case err != nil:
		return syntax(err)
	}
	return max(second.Line, 1), max(second.Column, 1), errors.New("a second document begins here; write one document a file")
}

// hint says what would be right for a message of the parser.
func hint(src []byte, line, col int, text string) string {
	if !strings.HasPrefix(text, notYAML) {
		return ""
	}
	// The parser only says that no value can begin here, which hides the usual reason.
	if lines := strings.Split(string(src), "\n"); line <= len(lines) && col <= len(lines[line-1]) && lines[line-1][col-1] == '\t' {
		return "; indent with spaces, not tabs"
	}
	for _, h := range hints {
		if strings.Contains(text, h.part) {
			return "; " + h.hint
		}
	}
	return "; check the indentation and the quotes here"
}

// notYAML begins every message about the syntax.
const notYAML = "not YAML: "

// hints say what would be right, by a part of the parser's message.
var hints = []struct{ part, hint string }{
	{"tab character", "indent with spaces"},
	{"cannot start any token", "put the text in quotes"},
	{"',' or ']'", "close the list with ] or separate its items with commas"},
	{"',' or '}'", "close the map with } or separate its fields with commas"},
	{"mapping values are not allowed", "put the field on a line of its own, or the text in quotes"},
	{"could not find expected ':'", "write a field as name: value"},
	{"expected key", "indent the fields of one map alike"},
	{"expected '-' indicator", "indent the items of one list alike"},
	{"unexpected end of stream", "close the quote"},
	{"unknown anchor", "define it before with &name"},
	{"depth", "nest less deeply"},
}

// syntax turns an error of the parser into place and message.
func syntax(err error) (line, col int, out error) {
	if errors.Is(err, io.EOF) {
		return 0, 0, io.EOF
	}
	var list *yaml.LoadErrors
	if errors.As(err, &list) && len(list.Errors) > 0 {
		err = list.Errors[0]
	}
	var one *yaml.LoadError
	if !errors.As(err, &one) {
		return 1, 1, fmt.Errorf("%s%v", notYAML, err)
	}
	text := notYAML + one.Message
	if one.ContextMsg != "" {
		text += " " + one.ContextMsg
		if one.ContextMark.Line > 0 && one.ContextMark.Line != one.Mark.Line {
			text += fmt.Sprintf(" that begins in line %d", one.ContextMark.Line)
		}
	}
	return max(one.Mark.Line, 1), max(one.Mark.Column, 1), errors.New(text)
}
