package collect

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/evidence"
)

// session is one Load: what all files share.
type session struct {
	opt    Options
	inv    *evidence.Inventory
	events *fragment.Events
	nccl   *nccl.Log
	job    *joblog.Log
	tree   *sysfs.Tree
	parts  []part          // the inputs that have samples
	trees  map[string]bool // copied /sys trees that are listed already
	copied map[copied]bool // and their files that were read
	tests  map[string]bool // of nccl-tests, named by command lines
	files  int
	opened int

	unpacked int64 // bytes that came out of archives
}

func newSession(opt Options) *session {
	inv := &evidence.Inventory{}
	events := fragment.NewEvents()
	return &session{
		opt: opt.filled(), inv: inv, events: events, nccl: nccl.NewLog(inv, events), job: joblog.New(inv, events), tree: sysfs.NewTree(), trees: map[string]bool{}, copied: map[copied]bool{}, tests: map[string]bool{},
	}
}

// input is a file and the names it goes by.
type input struct {
	name   string // decides about device and moment, and about the host where nothing else does
	show   string // stands in sources
	host   string // the host it is of, "" where only the name may tell
	naming bool   // it was read for the host's name
	layers int    // packings that were taken off

	// An archive is read a second time, or in place, where that is possible; else they are nil.
	reopen func() (io.ReadCloser, error)
	at     io.ReaderAt
	size   int64
}

func (s *session) unreadable(show, why string) {
	s.inv.Unreadable = append(s.inv.Unreadable, unreadableAt(evidence.Source{File: show}, why))
}

func unreadableAt(from evidence.Source, why string) evidence.Unreadable {
	return evidence.Unreadable{From: from, Why: why}
}

// headBytes is how much of a file is looked at to tell text from binary.
const headBytes = 4096

// stream reads one input to its end.
func (s *session) stream(in input, r io.Reader) {
	f := fragment.New(s.inv, in.show)
	at, tree := sysfs.Locate(in.name)
	if tree { // the name of the file is that of a counter: what stands above the device names host and moment
		in.name = path.Dir(at.Root) + "/"
	}
	if f.Host = in.host; f.Host == "" {
		f.Host = hostOf(in.name)
	}
	if !tree {
		f.Device = deviceOf(in.name)
	}
	br := bufio.NewReaderSize(r, headBytes)
	head, err := br.Peek(headBytes)
	if len(head) == 0 && err != nil && err != io.EOF {
		s.unreadable(in.show, reason(err))
		return
	}
	s.opened++
	if tree {
		s.sysfsFile(f, at, br, in)
		s.keep(f, in)
		return
	}
	if len(head) == 0 {
		s.unreadable(in.show, "empty file")
		return
	}
	if s.unpack(in, br) {
		return
	}
	if why := notText(head); why != "" {
		s.unreadable(in.show, why)
		return
	}
	limited := &io.LimitedReader{R: br, N: s.opt.MaxFileBytes}
	s.pile(f, limited)
	s.keep(f, in)
	if more, _ := br.Peek(1); limited.N <= 0 && len(more) > 0 {
		s.unreadable(in.show, fmt.Sprintf("larger than %d bytes: the rest was not read", s.opt.MaxFileBytes))
	}
}

// part is an input with samples, and the moment it was made at.
type part struct {
	*fragment.Fragment
	when moment
}

// keep holds on to a fragment that has samples.
func (s *session) keep(f *fragment.Fragment, in input) {
	if f.Dropped > 0 {
		s.unreadable(f.File, fmt.Sprintf("%d counters past the limit of %d were not kept", f.Dropped, fragment.MaxSamples))
	}
	if len(f.Samples) > 0 {
		s.parts = append(s.parts, part{f, momentOf(in.name)})
	}
}

// copied is one file of a copied /sys tree. The same one turns up twice in a copy of all of /sys, below class and
// below devices.
type copied struct {
	host, device, name string
	port               int
	when               moment
}

// sysfsFile reads one file of a copied /sys tree; the tree is listed once, not each of its thousands of files.
func (s *session) sysfsFile(f *fragment.Fragment, at sysfs.Place, r io.Reader, in input) {
	key := copied{f.Host, at.Device, at.Name, at.Port, momentOf(in.name)}
	if s.copied[key] {
		return
	}
	s.copied[key] = true
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
}
