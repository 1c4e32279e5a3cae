package astrasim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/shunt-network/shunt/interop/source"
)

// setting is a member of a JSON object: a scalar, or a list of scalars, as text.
type setting struct {
	source.Place
	key    string
	values []string
	places []source.Place
	list   bool
}

const maxJSON = 64 << 20 // communicator groups of 100 000 ranks in tens of groups each

// readSettings reads a JSON object of scalars and lists of them.
func readSettings(file string, in io.Reader) ([]setting, *source.Report) {
	r := &source.Report{File: file}
	src, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	switch {
	case err != nil:
		r.Wrong(source.Place{}, "cannot read on: %v", err)
		return nil, r
	case len(src) > maxJSON:
		r.Wrong(source.Place{}, "the file has more than %d bytes", maxJSON)
		return nil, r
	}
	d := jsonReader{src: src, dec: json.NewDecoder(bytes.NewReader(src)), report: r, line: 1}
	d.dec.UseNumber()
	return d.object(), r
}

// jsonReader walks the tokens of a JSON file and knows where they stand.
type jsonReader struct {
	src    []byte
	dec    *json.Decoder
	report *source.Report

	line, from int // line, and where it begins, as far as at has counted
	counted    int
}

// at is the place of the token that ends at the decoder's position.
func (d *jsonReader) at(text string) source.Place {
	end := int(d.dec.InputOffset())
	begin := max(end-len(text), 0)
	for ; d.counted < begin; d.counted++ {
		if d.src[d.counted] == '\n' {
			d.line, d.from = d.line+1, d.counted+1
		}
	}
	return source.Place{Line: d.line, Col: begin - d.from + 1}
}

// token reads a token as text, with the place it begins at.
func (d *jsonReader) token() (json.Token, string, source.Place, bool) {
	t, err := d.dec.Token()
	if err != nil {
		var syntax *json.SyntaxError
		text := err.Error()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			text = "the file ends within its object"
		case errors.As(err, &syntax):
			text = syntax.Error()
		}
		d.report.Wrong(d.at(""), "%s; write one JSON object like {\"name\": [1, 2]}", text)
		return nil, "", source.Place{}, false
	}
	text, length := "", 1
	switch v := t.(type) {
	case string:
		text, length = v, len(v)+2
	case json.Number:
		text, length = v.String(), len(v.String())
	case bool:
		text = strconv.FormatBool(v)
		length = len(text)
	case json.Delim:
		text = v.String()
	case nil:
		text, length = "null", 4
	}
	return t, text, d.at(fmt.Sprintf("%*s", length, "")), true
}

func (d *jsonReader) object() (out []setting) {
	t, text, at, ok := d.token()
	if !ok {
		return nil
	}
	if t != json.Delim('{') {
		d.report.Wrong(at, "the file begins with %s; write one JSON object like {\"name\": [1, 2]}", source.Quote(text))
		return nil
	}
	for d.dec.More() {
		_, key, at, ok := d.token()
		if !ok {
			return nil
		}
		s := setting{Place: at, key: key}
		t, text, at, ok := d.token()
		switch {
		case !ok:
			return nil
		case t == json.Delim('{'):
			d.report.Wrong(at, "%s is an object; write a value or a list of values", source.Quote(key))
			return nil
		case t == json.Delim('['):
			s.list = true
			if s.values, s.places, ok = d.array(key); !ok {
				return nil
			}
		default:
			s.values, s.places = []string{text}, []source.Place{at}
		}
		out = append(out, s)
	}
	d.token() // the closing brace, or what is wrong instead of it
	return out
}

// array reads a list up to its end.
func (d *jsonReader) array(key string) (values []string, places []source.Place, ok bool) {
	for d.dec.More() {
		t, text, at, ok := d.token()
		if !ok {
			return nil, nil, false
		}
		if _, delim := t.(json.Delim); delim {
			d.report.Wrong(at, "%s has a list or an object in its list; write values", source.Quote(key))
			return nil, nil, false
		}
		values, places = append(values, text), append(places, at)
	}
	_, _, _, ok = d.token()
	return values, places, ok
}

// word is value i as a word that a source.Report can read a number off.
func (s *setting) word(i int) source.Word {
	return source.Word{Place: s.places[i], Text: []byte(s.values[i])}
}
