package collect

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/shunt-network/shunt/collect/flightrec"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/irq"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/evidence"
)

// session is the reading of some files, one after another: what they share.
type session struct {
	opt    Options
	inv    *evidence.Inventory
	events *fragment.Events
	nccl   *nccl.Log
	job    *joblog.Log
	tree   *sysfs.Tree
	pci    *sysfs.PCI

	affinity *irq.Affinity

	parts  []part          // the inputs that have samples
	trees  map[string]bool // copied /sys trees that are listed already
	copied map[copied]bool // and the leaves of them that were read
	tests  map[string]bool // of nccl-tests, named by command lines
	files  int             // in archives
	opened int

	ctx      context.Context // ends the reading; a session lives for one call
	unpacked int64           // bytes that came out of archives
	lines    *lines.Reader   // of the text that is being read; there is one at a time
	at       int             // the place of the file that is read in the order of all
	growth   growth
	done     int // items that were read
}

func newSession(opt Options) *session {
	inv := &evidence.Inventory{}
	events := fragment.NewEvents()
	return &session{
		opt: opt.filled(), inv: inv, events: events, nccl: nccl.NewLog(inv, events, opt.Connections), job: joblog.New(inv, events), tree: sysfs.NewTree(), pci: sysfs.NewPCI(), affinity: irq.NewAffinity(),
		trees: map[string]bool{}, copied: map[copied]bool{}, tests: map[string]bool{}, ctx: context.Background(), growth: newGrowth(inv),
	}
}

// read reads one item.
func (s *session) read(it item) {
	switch {
	case it.why != "":
		s.unreadable(it.show, it.why)
	case it.fsys == nil:
		s.stream(it.input, s.ended(os.Stdin))
	default:
		s.file(it.fsys, it.file, it.input)
	}
}

// walk reads a folder inside an archive.
func (s *session) walk(fsys fs.FS, dir string, from root, depth int) {
	walker{s.opt, func(it item) {
		if it.why != "" || s.count(it.show) {
			s.read(it)
		}
	}}.walk(fsys, dir, from, depth)
}

// ended is a reader that ends when the session is told to.
func (s *session) ended(r io.Reader) io.Reader { return endedReader{s.ctx, r} }

type endedReader struct {
	ctx context.Context
	r   io.Reader
}

func (e endedReader) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.r.Read(p)
}

// finish ends what the files of a session tell only together.
func (s *session) finish() {
	s.tree.Finish()
	s.pci.Finish()
	s.affinity.Finish()
	s.growth.mark(s.at)
	s.lines, s.tree, s.pci, s.affinity, s.copied, s.trees = nil, nil, nil, nil, nil, nil // not needed any more
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
	l, isLeaf := s.leafOf(in.name)
	speaks := in.name // what names host, device and moment
	if isLeaf {
		speaks = l.above + "/"
	} else {
		f.Device = deviceOf(in.name)
	}
	if f.Host = in.host; f.Host == "" {
		f.Host = hostOf(speaks)
	}
	br := bufio.NewReaderSize(r, headBytes)
	head, err := br.Peek(headBytes)
	if len(head) == 0 && err != nil && err != io.EOF {
		s.unreadable(in.show, reason(err))
		return
	}
	s.opened++
	if isLeaf {
		s.leafFile(f, l, br, in)
		s.keep(f, speaks)
		return
	}
	if len(head) == 0 {
		s.unreadable(in.show, "empty file")
		return
	}
	if s.unpack(in, br) {
		return
	}
	if flightrec.StartsPickle(head) {
		s.pickle(f, br, in)
		return
	}
	if format, ok := packets(head); ok {
		s.captured(f, format, in, br)
		s.keep(f, speaks)
		return
	}
	if order, ok := wide(head); ok {
		br = bufio.NewReaderSize(&narrow{r: br, order: order}, headBytes)
		head, _ = br.Peek(headBytes)
	}
	if why := notText(head); why != "" {
		s.unreadable(in.show, why)
		return
	}
	limited := &io.LimitedReader{R: br, N: s.opt.MaxFileBytes}
	s.pile(f, limited)
	s.keep(f, speaks)
	if more, _ := br.Peek(1); limited.N <= 0 && len(more) > 0 {
		s.unreadable(in.show, fmt.Sprintf("larger than %d bytes: the rest was not read", s.opt.MaxFileBytes))
	}
}

// pickle reads a dump of PyTorch's flight recorder.
func (s *session) pickle(f *fragment.Fragment, r io.Reader, in input) {
	data, err := io.ReadAll(io.LimitReader(r, flightrec.MaxBytes+1))
	switch {
	case err != nil:
		s.unreadable(in.show, reason(err))
		return
	case len(data) > flightrec.MaxBytes:
		s.unreadable(in.show, fmt.Sprintf("pickle of more than %d MiB", flightrec.MaxBytes>>20))
		return
	}
	if err := flightrec.ReadPickle(f, data); err != nil {
		s.unreadable(in.show, err.Error())
		return
	}
	s.inv.Files = append(s.inv.Files, evidence.File{Path: in.show, Format: string(FlightRecorder), Host: f.Host})
}

// part is an input with samples, and the moment it was made at.
type part struct {
	*fragment.Fragment
	when moment
	at   int // its place in the order of all files
}

// keep holds on to a fragment that has samples.
func (s *session) keep(f *fragment.Fragment, speaks string) {
	if f.Dropped > 0 {
		s.unreadable(f.File, fmt.Sprintf("%d counters past the limit of %d were not kept", f.Dropped, fragment.MaxSamples))
	}
	if len(f.Samples) > 0 {
		s.parts = append(s.parts, part{f, momentOf(speaks), s.at})
	}
}

// file reads one file of a file system.
func (s *session) file(fsys fs.FS, name string, in input) {
	if in.naming {
		s.named(in)
		return
	}
	r, err := fsys.Open(name)
	if err != nil {
		s.unreadable(in.show, reason(err))
		return
	}
	defer r.Close()
	if in.layers > 0 {
		s.stream(in, s.metered(r))
		return
	}
	in.reopen = func() (io.ReadCloser, error) { return fsys.Open(name) }
	if at, ok := r.(io.ReaderAt); ok {
		if info, err := r.Stat(); err == nil {
			in.at, in.size = at, info.Size()
		}
	}
	s.stream(in, s.ended(r))
}

// count counts a file of an archive; false means that it is past the limit.
func (s *session) count(show string) bool {
	s.files++
	if s.files == s.opt.MaxFiles+1 {
		s.unreadable(show, fmt.Sprintf("the first of the files past the limit of %d", s.opt.MaxFiles))
	}
	return s.files <= s.opt.MaxFiles
}
