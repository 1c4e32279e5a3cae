package collect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/shunt-network/shunt/collect/environ"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/evidence"
)

// session is one Load: what all files share.
type session struct {
	opt       Options
	inv       *evidence.Inventory
	events    *fragment.Events
	nccl      *nccl.Log
	job       *joblog.Log
	tree      *sysfs.Tree
	fragments []*fragment.Fragment // those with samples
	trees     map[string]bool      // copied /sys trees that are listed already
	files     int
	opened    int
}

func newSession(opt Options) *session {
	inv := &evidence.Inventory{}
	events := fragment.NewEvents()
	return &session{
		opt: opt.filled(), inv: inv, events: events, nccl: nccl.NewLog(inv, events), job: joblog.New(inv, events), tree: sysfs.NewTree(), trees: map[string]bool{},
	}
}

// input is a file and the names it goes by.
type input struct {
	name string // decides about host, device and moment
	show string // stands in sources
}

func (s *session) unreadable(show, why string) {
	s.inv.Unreadable = append(s.inv.Unreadable, evidence.Unreadable{From: evidence.Source{File: show}, Why: why})
}

// headBytes is how much of a file is looked at to tell text from binary.
const headBytes = 4096

// stream reads one input to its end.
func (s *session) stream(in input, r io.Reader) {
	f := fragment.New(s.inv, in.show)
	f.Host, f.Device = hostOf(in.name), deviceOf(in.name)
	br := bufio.NewReaderSize(io.LimitReader(r, s.opt.MaxFileBytes), headBytes)
	head, err := br.Peek(headBytes)
	if len(head) == 0 && err != nil && err != io.EOF {
		s.unreadable(in.show, reason(err))
		return
	}
	s.opened++
	if at, ok := sysfs.Locate(in.name); ok {
		s.sysfsFile(f, at, br)
		return
	}
	if len(head) == 0 {
		s.unreadable(in.show, "empty file")
		return
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		s.unzip(in, br)
		return
	}
	if why := notText(head); why != "" {
		s.unreadable(in.show, why)
		return
	}
	s.pile(f, br)
	s.keep(f)
}

// unzip reads a gzip file as what is in it. Its limit is that of any file, so that a small file that unpacks to
// terabytes ends there.
func (s *session) unzip(in input, r io.Reader) {
	z, err := gzip.NewReader(r)
	if err != nil {
		s.unreadable(in.show, "damaged gzip file: "+err.Error())
		return
	}
	s.opened-- // the inner stream counts
	in.name = strings.TrimSuffix(in.name, ".gz")
	s.stream(in, z)
}

// environment opens a reader of settings.
func (s *session) environment(f *fragment.Fragment) parser { return environ.New(f) }

// keep holds on to a fragment that has samples.
func (s *session) keep(f *fragment.Fragment) {
	if f.Dropped > 0 {
		s.unreadable(f.File, fmt.Sprintf("%d counters past the limit of %d were not kept", f.Dropped, fragment.MaxSamples))
	}
	if len(f.Samples) > 0 {
		s.fragments = append(s.fragments, f)
	}
}

// sysfsFile reads one file of a copied /sys tree; the tree is listed once, not each of its thousands of files.
func (s *session) sysfsFile(f *fragment.Fragment, at sysfs.Place, r io.Reader) {
	value, err := io.ReadAll(io.LimitReader(r, sysfs.MaxValue))
	if err != nil {
		s.unreadable(f.File, reason(err))
		return
	}
	root := strings.TrimSuffix(strings.TrimSuffix(f.File, at.Name), "/")
	if i := strings.LastIndex(root, "/ports/"); at.Port > 0 && i >= 0 {
		root = root[:i]
	}
	if !s.trees[root] {
		s.trees[root] = true
		s.inv.Files = append(s.inv.Files, evidence.File{Path: root, Format: string(Sysfs), Host: f.Host})
	}
	s.tree.File(f, at, value, 0)
	s.keep(f)
}

// pile reads a text that may hold several outputs: each line is one of a log, or begins an output, or belongs to
// the output that began last.
func (s *session) pile(f *fragment.Fragment, r io.Reader) {
	var formats []string
	note := func(format Format) {
		for _, have := range formats {
			if have == string(format) {
				return
			}
		}
		formats = append(formats, string(format))
	}
	markdown := strings.EqualFold(path.Ext(f.File), ".md")
	fenced := false
	current, open := parser(nil), -1
	finish := func() {
		if e, ok := current.(ender); ok {
			e.End()
		}
	}
	lr := lines.NewReader(r)
	for line, ok := lr.Next(); ok; line, ok = lr.Next() {
		if markdown { // prose quotes outputs to talk about them; only what stands in a fence was printed by a tool
			if t := bytes.TrimLeft(line, " "); bytes.HasPrefix(t, []byte("```")) || bytes.HasPrefix(t, []byte("~~~")) {
				fenced = !fenced
				continue
			}
			if !fenced {
				continue
			}
		}
		if s.nccl.Line(f, line, lr.N) {
			note(NCCLLog)
			continue
		}
		if program := s.job.Line(f, line, lr.N); program != joblog.None {
			note(Format(program))
			continue
		}
		line = lines.Unwrap(line)
		if k := detect(line); k >= 0 && k != open {
			finish()
			current, open = kinds[k].open(s, f), k
			note(kinds[k].format)
		}
		if current != nil {
			current.Line(line, lr.N)
		}
	}
	finish()
	s.ended(f, lr, formats, markdown)
}

// ender is a parser that knows what it read only once its output is over.
type ender interface{ End() }

// ended lists the file, or names why it is of no use.
func (s *session) ended(f *fragment.Fragment, lr *lines.Reader, formats []string, markdown bool) {
	if err := lr.Err(); err != nil {
		s.inv.Unreadable = append(s.inv.Unreadable, evidence.Unreadable{From: f.At(lr.N), Why: "cut off: " + reason(err)})
	}
	if lr.Cut > 0 {
		s.unreadable(f.File, fmt.Sprintf("%d lines longer than %d bytes were cut", lr.Cut, lines.MaxLine))
	}
	switch {
	case len(formats) > 0:
		s.inv.Files = append(s.inv.Files, evidence.File{Path: f.File, Format: strings.Join(formats, ", "), Host: f.Host})
	case markdown:
		s.unreadable(f.File, "prose without a block of output")
	case lr.Err() == nil:
		s.unreadable(f.File, "not recognised")
	}
}
