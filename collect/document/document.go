// Package document owns cutting JSON values out of text: a tool's answer may stand between other outputs, over one
// line or ten thousand, and may have lost its end when somebody copied it.
//
// What a value means is the business of the parser that claims it. Read document.go, then shape.go.
package document

import "bytes"

// MaxBytes is how much of one value is kept. The largest that are read are lists of all pods of a cluster and flight
// records of PyTorch, of some tens of megabytes.
const MaxBytes = 64 << 20

// State is what a line did to a value.
type State uint8

// States.
const (
	More   State = iota // the value goes on
	Done                // the line ended it
	Broken              // the line is not part of it: the value lost its end
)

// Value gathers the lines of one JSON value. The zero Value is ready.
type Value struct {
	text     []byte
	open     []byte // brackets that are open, outermost first
	safe     int    // length of text up to which the value is whole but for brackets that are open
	string   bool   // a string is open
	escaped  bool
	began    bool
	overflow bool
}

// Starts tells whether a line begins an object or a list of objects: log lines begin with brackets too, so what
// follows the bracket counts. A member that holds more ("rules": [) begins an object whose first line was lost.
func Starts(line []byte) bool {
	t := bytes.TrimSpace(line[:min(len(line), 64)])
	if len(t) == 0 {
		return false
	}
	switch t[0] {
	case '{':
		t = bytes.TrimLeft(t[1:], " \t")
		return len(t) == 0 || t[0] == '"' || t[0] == '}'
	case '[':
		t = bytes.TrimLeft(t[1:], " \t")
		return len(t) == 0 && len(bytes.TrimSpace(line)) == 1 || len(t) > 0 && t[0] == '{' && Starts(t)
	case '"':
		t = bytes.TrimSpace(line)
		return len(t) > 5 && (t[len(t)-1] == '{' || t[len(t)-1] == '[') && bytes.IndexByte(t[1:], '"')+2 == len(bytes.TrimRight(t[:len(t)-1], ": "))
	}
	return false
}

// Line adds a line. After Done or Broken the value takes no more.
func (v *Value) Line(line []byte) State {
	if v.began && !v.string && !begins(line) {
		return Broken
	}
	if t := bytes.TrimLeft(line, " \t"); !v.began && len(t) > 0 && t[0] == '"' {
		v.text, v.open, v.safe = append(v.text, '{'), append(v.open, '{'), 1
	}
	v.began = true
	v.string, v.escaped = false, false // JSON has no strings over several lines: one that is open was cut
	if v.keep(line) {
		v.text = append(v.text, '\n')
	}
	if len(v.open) == 0 {
		return Done
	}
	return More
}

// keep scans a line, and appends it where there is room.
func (v *Value) keep(line []byte) bool {
	room := !v.overflow && len(v.text)+len(line) < MaxBytes
	v.overflow = !room
	at := len(v.text)
	if room {
		v.text = append(v.text, line...)
	}
	mark := func(i int) {
		if room {
			v.safe = at + i
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		if v.string {
			switch {
			case v.escaped:
				v.escaped = false
			case c == '\\':
				v.escaped = true
			case c == '"':
				v.string = false
			}
			continue
		}
		switch c {
		case '"':
			v.string = true
		case '{', '[':
			v.open = append(v.open, c)
			mark(i + 1)
		case '}', ']':
			if len(v.open) > 0 {
				v.open = v.open[:len(v.open)-1]
			}
			mark(i + 1)
			if len(v.open) == 0 {
				return room
			}
		case ',':
			mark(i)
		}
	}
	return room
}

// begins tells whether a line may be one of a value that goes on.
func begins(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	if len(t) == 0 {
		return true
	}
	switch c := t[0]; {
	case bytes.IndexByte([]byte(`{}[]",:`), c) >= 0:
		return true
	case c == '-' || c >= '0' && c <= '9':
		end := bytes.IndexAny(t, ",]} ")
		if end < 0 {
			end = len(t)
		}
		for _, d := range t[:end] {
			if (d < '0' || d > '9') && bytes.IndexByte([]byte("+-.eE"), d) < 0 {
				return false
			}
		}
		rest := bytes.TrimSpace(t[end:])
		return len(rest) == 0 || bytes.IndexByte([]byte(",]}"), rest[0]) >= 0
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(t, []byte(word)) {
			return true
		}
	}
	return false
}

// Cut tells whether the value lost its end.
func (v *Value) Cut() bool { return len(v.open) > 0 }

// Overflow tells whether the value was larger than MaxBytes, and so was not kept.
func (v *Value) Overflow() bool { return v.overflow }

// Lines is the value as it was read.
func (v *Value) Lines() []byte { return v.text }

// Text is the value as JSON: where its end is missing, what is whole is kept and the open brackets are closed.
func (v *Value) Text() []byte {
	if !v.Cut() {
		return v.text
	}
	whole := append([]byte{}, v.text[:v.safe]...)
	for i := len(v.open) - 1; i >= 0; i-- {
		whole = append(whole, v.open[i]+2) // '{' + 2 is '}', '[' + 2 is ']'
	}
	return whole
}
