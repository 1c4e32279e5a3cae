package document

import (
	"encoding/json"
	"strings"
	"testing"
)

// gather feeds lines until the value ends, and returns how many it took.
func gather(v *Value, text string) (taken int, last State) {
	for line := range strings.SplitSeq(text, "\n") {
		if last = v.Line([]byte(line)); last == Broken {
			return taken, last
		}
		taken++
		if last == Done {
			return taken, last
		}
	}
	return taken, last
}

func TestValue(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		taken      int
		last       State
		want       string
	}{
		{"whole", "{\n \"a\": [1, 2],\n \"b\": \"}\\\"]\"\n}\nrest", 4, Done, `{"a":[1,2],"b":"}\"]"}`},
		{"one line", `[{"a":1},{"b":2}]`, 1, Done, `[{"a":1},{"b":2}]`},
		{"cut in a list", "{\n \"a\": [1, 2", 2, More, `{"a":[1]}`},
		{"cut in a name", "{\"a\": 1, \"b", 1, More, `{"a":1}`},
		{"cut behind a bracket", "[\n{\"a\": {", 2, More, `[{"a":{}}]`},
		{"cut by other text", "{\n \"a\": 1,\nroot@node1:~# date", 2, Broken, `{"a":1}`},
		{"cut by a log", "{\n \"a\": 1,\n2025-06-01 10:00:00 text", 2, Broken, `{"a":1}`},
		{"numbers on lines", "[\n{\"a\":[\n1,\n-2.5e3\n]}\n]", 6, Done, `[{"a":[1,-2500]}]`},
		{"without its first line", "  \"a\": [\n1, 2\n]", 3, More, `{"a":[1,2]}`},
		{"words on lines", "{\"a\":[\ntrue,\nnull]}", 3, Done, `{"a":[true,null]}`},
	} {
		var v Value
		taken, last := gather(&v, tc.text)
		if taken != tc.taken || last != tc.last || v.Cut() != (last != Done) {
			t.Errorf("%s: took %d lines, state %d, cut %v", tc.name, taken, last, v.Cut())
		}
		var got, want any
		if err := json.Unmarshal(v.Text(), &got); err != nil {
			t.Errorf("%s: %v in %s", tc.name, err, v.Text())
		}
		_ = json.Unmarshal([]byte(tc.want), &want)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s: %s, want %s", tc.name, a, b)
		}
	}
}

func TestStarts(t *testing.T) {
	for line, want := range map[string]bool{
		"{": true, `{"a":1}`: true, `{ "a": 1`: true, "[": true, `[{"a":1}]`: true, "[ {": true, "{}": true, "  {": true, "  \"rules\": [": true, `"a" : {`: true, `"a": 1`: false, `"a", "b": [`: false, `"text" {`: true,
		"": false, "[1,0]<stdout>:x": false, "[rank0]: x": false, "[  12.5] mlx5_core": false, "[]": false, "{x": false, "text {": false,
		"[node1]": false, "{'a': 1}": false,
	} {
		if Starts([]byte(line)) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

func TestShape(t *testing.T) {
	s, err := ShapeOf([]byte(`[{},{"ifname":"eth0","mtu":1500},{"x":1}]`))
	if err != nil || !s.List || !s.Has("ifname", "mtu") || s.Has("x") {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = ShapeOf([]byte(`{"a":{"b":1}}`))
	if err != nil || s.List || !s.Has("a") || s.Has("b") || s.Has("a", "b") {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := ShapeOf([]byte(`[]`)); err != nil || s.Has("a") {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := ShapeOf([]byte("{\n\"a\" 1}")); err == nil || !strings.Contains(err.Error(), "1 lines below") {
		t.Errorf("%v", err)
	}
}

// A value past the limit is let go, and its end is still found.
func TestOverflow(t *testing.T) {
	var v Value
	v.Line([]byte(`{"a": [`))
	long := []byte(`"` + strings.Repeat("x", MaxBytes/4) + `",`)
	for range 5 {
		v.Line(long)
	}
	if v.Line([]byte("1]}")) != Done || !v.Overflow() || len(v.Lines()) > MaxBytes {
		t.Errorf("overflow %v, %d bytes", v.Overflow(), len(v.Lines()))
	}
}

// What is cut off anywhere becomes JSON again.
func FuzzValue(f *testing.F) {
	f.Add("{\n \"a\": [1, {\"b\": \"x\\\"y\"}, null],\n \"c\": -1.5\n}", 20)
	f.Fuzz(func(t *testing.T, text string, end int) {
		whole := json.Valid([]byte(text))
		if end < 0 || end > len(text) {
			end = len(text)
		}
		var v Value
		gather(&v, text[:end])
		if whole && Starts([]byte(text)) && !v.Overflow() && len(v.open) > 0 && !json.Valid(v.Text()) {
			t.Fatalf("%q cut at %d becomes %q", text, end, v.Text())
		}
		ShapeOf(v.Text())
	})
}
