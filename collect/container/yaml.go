package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Limits on a manifest: a pod has some hundred lines, a list of a namespace's pods some ten thousand.
const (
	MaxYAML  = 8 << 20
	maxDepth = 64
)

// Manifest gathers the lines of one YAML document, which is read when it is over:
//
//	apiVersion: v1
//	kind: Pod
//
// It ends at "---", or where a line cannot be one of it.
type Manifest struct {
	f    *fragment.Fragment
	text bytes.Buffer
	from int
	over bool
}

// NewManifest makes a reader for one document.
func NewManifest(f *fragment.Fragment) *Manifest { return &Manifest{f: f} }

// StartsManifest tells whether a line begins a document.
func StartsManifest(line []byte) bool { return bytes.HasPrefix(line, []byte("apiVersion: ")) }

// Line reads one line; false means that it is not of a document.
func (m *Manifest) Line(line []byte, n int) bool {
	if m.from == 0 {
		m.from = n
	}
	parted := bytes.Equal(bytes.TrimSpace(line), []byte("---"))
	switch {
	case parted:
		m.End()
		m.from = n + 1
	case StartsManifest(line) && m.text.Len() > 0:
		m.End()
		m.from = n
	}
	if m.over || m.text.Len()+len(line) > MaxYAML {
		m.over = true
		return true
	}
	if parted {
		return true
	}
	m.text.Write(line)
	m.text.WriteByte('\n')
	return true
}

// Holds tells whether a line is of the document, whatever else it looks like: a path in a manifest is no listing of the
// path.
func (m *Manifest) Holds(line []byte) bool {
	if len(line) == 0 || line[0] == ' ' || line[0] == '-' || line[0] == '#' {
		return true
	}
	key, rest, ok := bytes.Cut(line, []byte(":"))
	return ok && !bytes.ContainsAny(key, " \t/$@") && (len(rest) == 0 || rest[0] == ' ')
}

// End reads what was gathered.
func (m *Manifest) End() {
	if m.text.Len() == 0 {
		return
	}
	why := ""
	if m.over {
		why = fmt.Sprintf("manifest of more than %d MiB", MaxYAML>>20)
	} else if err := readYAML(m.f, m.text.Bytes(), m.from); err != nil {
		why = "manifest: " + err.Error()
	}
	if why != "" {
		m.f.Inv.Unreadable = append(m.f.Inv.Unreadable, evidence.Unreadable{From: m.f.At(m.from), Why: why})
	}
	m.text.Reset()
	m.over = false
}

// readYAML reads a manifest. A document that lost its end is read up to its last whole line.
func readYAML(f *fragment.Fragment, text []byte, line int) (err error) {
	// The parser is foreign code over foreign bytes. Should it panic, the file is named and the others go on.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up (%v)", r)
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return err
	}
	var root yaml.Node
	if err := loader.Load(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	var b bytes.Buffer
	if err := toJSON(&b, &root, 0); err != nil {
		return err
	}
	return ReadKubernetes(f, b.Bytes(), line)
}

// toJSON writes a node as JSON. References (*name) are not followed: no tool prints them, and they can make a
// small file large.
func toJSON(b *bytes.Buffer, n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deeply")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			b.WriteString("null")
			return nil
		}
		return toJSON(b, n.Content[0], depth+1)
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			quoted(b, n.Content[i].Value)
			b.WriteByte(':')
			if err := toJSON(b, n.Content[i+1], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := toJSON(b, e, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch {
		case n.Tag == "!!null":
			b.WriteString("null")
		case n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
			b.WriteString(n.Value)
		default:
			quoted(b, n.Value)
		}
	default:
		b.WriteString("null")
	}
	return nil
}

func quoted(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(`""`)
	}
	b.Write(text)
}
