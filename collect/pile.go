package collect

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/container"
	"github.com/shunt-network/shunt/collect/document"
	"github.com/shunt-network/shunt/collect/environ"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/evidence"
)

// pile is a text that may hold several outputs: each line is one of a log, or begins an output, or belongs to the
// output that began last.
type pile struct {
	s        *session
	f        *fragment.Fragment
	formats  []string
	hosts    []string // that the content names
	own      string   // host that the file is of, where its path tells
	device   string   // that the name of the file speaks of
	test     string   // of nccl-tests, named by a command line
	sections map[string]*section
	order    []*section
	markdown bool

	pasted    *leaf      // the file of /sys or /proc whose value the next line is, nil where none is
	gathering *gathering // the JSON value that is open, nil where none is
	replaying bool       // lines are those of a value or a log entry, and begin no other
}

// section is the output that is being read, of one host where lines carry their host (pdsh, clush).
type section struct {
	parser parser
	kind   int // index into kinds, -1 before the first output
}

// holder is a parser that knows which lines are its own, whatever formats they look like.
type holder interface{ Holds(line []byte) bool }

// ender is a parser that knows what it read only once its output is over.
type ender interface{ End() }

// newPile makes a reader of one text.
func newPile(s *session, f *fragment.Fragment) *pile {
	return &pile{s: s, f: f, own: f.Host, device: f.Device, sections: map[string]*section{}}
}

// pile reads a text to its end and lists it.
func (s *session) pile(f *fragment.Fragment, r io.Reader) {
	p := newPile(s, f)
	lr := p.read(r)
	p.ended(lr)
}

// read reads a text to its end.
func (p *pile) read(r io.Reader) *lines.Reader {
	p.markdown = strings.EqualFold(path.Ext(p.f.File), ".md")
	fenced := false
	if p.s.lines == nil {
		p.s.lines = lines.NewReader(r)
	}
	lr := p.s.lines
	lr.Reset(r)
	lr.Keep = keepWhole
	for line, ok := lr.Next(); ok; line, ok = lr.Next() {
		if p.markdown { // prose quotes outputs to talk about them; only what stands in a fence was printed by a tool
			if t := bytes.TrimLeft(line, " "); bytes.HasPrefix(t, []byte("```")) || bytes.HasPrefix(t, []byte("~~~")) {
				p.gathered()
				fenced = !fenced
				continue
			}
			if !fenced {
				continue
			}
		}
		p.line(line, lr.N)
	}
	p.gathered()
	for _, sec := range p.order {
		sec.end()
	}
	return lr
}

// keepWhole is how much is kept of a long line: all of one that is a JSON value.
func keepWhole(head []byte) int {
	if document.Starts(head) {
		return document.MaxBytes
	}
	return 0
}

func (p *pile) line(line []byte, n int) {
	if p.pasted != nil && p.value(line, n) {
		return
	}
	if p.json(line, n) {
		return
	}
	if program := p.s.nccl.Line(p.f, line, n); program != nccl.None {
		p.note(Format(program))
		p.host(p.s.nccl.Host)
		return
	}
	if program := p.s.job.Line(p.f, line, n); program != joblog.None {
		p.note(Format(program))
		return
	}
	line = lines.Unwrap(line)
	if p.prompt(line, n) {
		return
	}
	if sec := p.sections[""]; sec != nil {
		if h, ok := sec.parser.(holder); ok && h.Holds(line) {
			sec.line(p, sec.kind, line, n)
			return
		}
	}
	k := detect(line)
	if k < 0 {
		if host, rest, ok := lines.Host(line); ok && p.prefixed(short(string(host)), rest, n) {
			return
		}
	}
	p.section("").line(p, k, line, n)
}

// prefixed reads a line that carries its host, "node1: CA 'mlx5_0'". The prefix counts as one where an output begins
// behind it, or has begun before behind the same.
func (p *pile) prefixed(host string, rest []byte, n int) bool {
	k := detect(rest)
	if _, open := p.sections[host]; !open && (k < 0 || !hostLike(host)) {
		return false
	}
	before := p.f.Host
	p.f.Host = host
	p.section(host).line(p, k, rest, n)
	p.f.Host = before
	p.host(host)
	return true
}

func (p *pile) section(host string) *section {
	sec := p.sections[host]
	if sec == nil {
		sec = &section{kind: -1}
		p.sections[host] = sec
		p.order = append(p.order, sec)
	}
	return sec
}

// line gives a line to the output it belongs to, or begins a new one.
func (sec *section) line(p *pile, k int, line []byte, n int) {
	if _, ok := sec.parser.(*container.Manifest); ok && k != sec.kind {
		sec.end() // a document ends at the first line that is not its own
	}
	if k >= 0 && k != sec.kind {
		sec.end()
		sec.parser, sec.kind = kinds[k].open(p.s, p.f), k
		p.note(kinds[k].format)
		if t, ok := sec.parser.(*nccltests.Table); ok {
			t.Command(p.test)
		}
	}
	if sec.parser == nil {
		return
	}
	sec.parser.Line(line, n)
	if _, ok := sec.parser.(*environ.Vars); ok {
		if test := nccltests.TestOf(string(line)); test != "" {
			p.test = test
			p.s.tests[test] = true
		}
	}
}

func (sec *section) end() {
	if e, ok := sec.parser.(ender); ok {
		e.End()
	}
	sec.parser, sec.kind = nil, -1
}

func (p *pile) note(format Format) {
	if !slices.Contains(p.formats, string(format)) {
		p.formats = append(p.formats, string(format))
	}
}

// host notes a host that the content names.
func (p *pile) host(name string) {
	if name != "" && len(p.hosts) < 2 && !slices.Contains(p.hosts, name) {
		p.hosts = append(p.hosts, name)
	}
}

// ended lists the file, or names why it is of no use.
func (p *pile) ended(lr *lines.Reader) {
	inv, f := p.s.inv, p.f
	if err := lr.Err(); err != nil {
		inv.Unreadable = append(inv.Unreadable, unreadableAt(f.At(lr.N), "cut off: "+reason(err)))
	}
	if lr.Cut > 0 {
		p.s.unreadable(f.File, fmt.Sprintf("%d lines longer than %d bytes were cut", lr.Cut, lines.MaxLine))
	}
	switch {
	case len(p.formats) > 0:
		host := f.Host
		if len(p.hosts) == 1 {
			host = p.hosts[0]
		}
		inv.Files = append(inv.Files, evidence.File{Path: f.File, Format: strings.Join(p.formats, ", "), Host: host})
	case p.markdown:
		p.s.unreadable(f.File, "prose without a block of output")
	case lr.Err() == nil:
		p.s.unreadable(f.File, "not recognised")
	}
}
