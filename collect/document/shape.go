package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Shape is what tells one kind of value from another: the names at its top, or of the first object of a list.
type Shape struct {
	List  bool
	names map[string]bool
}

// Has tells whether all names are there.
func (s Shape) Has(names ...string) bool {
	for _, n := range names {
		if !s.names[n] {
			return false
		}
	}
	return true
}

// ShapeOf reads the names of a value.
func ShapeOf(text []byte) (Shape, error) {
	var s Shape
	text = trim(text)
	object := text
	if len(text) > 0 && text[0] == '[' {
		s.List = true
		var first oneObject
		if err := json.Unmarshal(text, &first); err != nil {
			return s, Explain(text, err)
		}
		object = first.object
	}
	if object == nil {
		return s, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return s, Explain(text, err)
	}
	s.names = make(map[string]bool, len(members))
	for n := range members {
		s.names[n] = true
	}
	return s, nil
}

// oneObject takes the first object of a list and skips the others.
type oneObject struct{ object json.RawMessage }

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneObject) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		var element json.RawMessage
		if err := dec.Decode(&element); err != nil {
			return err
		}
		if element = trim(element); len(element) > 2 && element[0] == '{' { // "ip -j" leaves empty objects for what it filters
			o.object = element
			return nil
		}
	}
	return nil
}

func trim(b []byte) []byte {
	for len(b) > 0 && strings.IndexByte(" \t\r\n", b[0]) >= 0 {
		b = b[1:]
	}
	return b
}

// Explain says what is wrong with a value without quoting it, and on which of its lines, counted from 0.
func Explain(text []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := strings.Count(string(text[:min(int(syntax.Offset), len(text))]), "\n")
		return fmt.Errorf("damaged JSON, %d lines below: %w", line, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("JSON that lost its end")
	}
	return err
}
