package rules

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/rules.md")

const (
	page   = "../docs/rules.md"
	marker = "<!-- made from rules.Cluster by go test ./rules -update; do not edit below -->\n"
)

func TestPageIsFresh(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	written, _, ok := strings.Cut(string(text), marker)
	if !ok {
		t.Fatalf("%s has lost the line its tables begin after", page)
	}
	want := written + marker + tables()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		text = []byte(want)
	}
	if string(text) != want {
		t.Errorf("%s is not what the types say; run go test ./rules -update", page)
	}
}

// tables lists the fields of every type of expressions.
func tables() string {
	var b strings.Builder
	seen := map[reflect.Type]bool{}
	var table func(t reflect.Type)
	table = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		var below []reflect.Type
		fmt.Fprintf(&b, "\n### %s\n\n| field | type | is |\n|---|---|---|\n", heading(t))
		for i := range t.NumField() {
			f := t.Field(i)
			name := f.Tag.Get("yaml")
			if !f.IsExported() || name == "series" && t == reflect.TypeFor[Cluster]() {
				continue
			}
			is := f.Tag.Get("doc")
			if e := f.Tag.Get("example"); e != "" {
				if is != "" {
					is += "; "
				}
				is += "`" + e + "`"
			}
			typ, unknown := typeOf(f.Type)
			if unknown {
				name += "?"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, typ, is)
			e := f.Type
			for e.Kind() == reflect.Slice || e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			if e.Kind() == reflect.Struct {
				below = append(below, e)
			}
		}
		for _, e := range below {
			table(e)
		}
	}
	table(reflect.TypeFor[Cluster]())
	return b.String()
}

// heading is the name a type goes by in expressions.
func heading(t reflect.Type) string {
	for _, s := range Subject("").Choices() {
		if strings.EqualFold(s, t.Name()) {
			return "`" + s + "`"
		}
	}
	return map[string]string{
		"GID": "an entry of `nic.gids`", "KernelLine": "a line of `host.kernel`", "Step": "a step of `cluster.steps`", "QoS": "`netdev.qos`", "Module": "`nic.module`, `netdev.module`",
		"Spray": "`nic.spray`, `switch.spray`", "Queue": "an entry of `port.queues`", "NVLink": "an entry of `gpu.links`", "FlightGroup": "an entry of `flight.groups`", "FlightOp": "an entry of `flight.ops`",
	}[t.Name()]
}

func typeOf(t reflect.Type) (name string, unknown bool) {
	switch t.Kind() {
	case reflect.Pointer:
		name, _ = typeOf(t.Elem())
		return name, true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list", false
		}
		name, _ = typeOf(t.Elem())
		return "list of " + name, false
	case reflect.Struct:
		return "fields of its own", false
	case reflect.Map:
		return "map of texts", false
	case reflect.Bool:
		return "bool", false
	case reflect.Int64:
		return "int", false
	case reflect.Float64:
		return "double", false
	}
	return "text", false
}

// Every field has a word for people, and every subject is a type.
func TestFieldsAreDocumented(t *testing.T) {
	if strings.Contains(tables(), "###  ") || strings.Contains(tables(), "### \n") {
		t.Error("a type has no heading")
	}
}

// What the page shows stands in the example, whose rules are tested.
func TestPageShowsTheExample(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/rules/site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i, block := range strings.Split(string(text), "```") {
		code, yaml := strings.CutPrefix(block, "yaml\n")
		if i%2 == 0 || !yaml {
			continue
		}
		for line := range strings.Lines(code) {
			shown++
			if !strings.Contains(string(example), strings.TrimSpace(line)) {
				t.Errorf("the example has no line %q", strings.TrimSpace(line))
			}
		}
	}
	if shown < 20 {
		t.Errorf("%d lines of YAML on the page", shown)
	}
}
