// Package nccl owns reading what NCCL and its network plugins print: logs of NCCL 2.4 to 2.30 under any launcher,
// the reports of the RAS service and the records of the inspector. Forms that changed between versions become the same evidence; where no
// banner tells the version, the forms themselves bound it.
//
// It judges nothing: which line is a cause and which a consequence belongs to diagnose. Lines are scanned, not
// matched by regular expressions, because logs of large jobs have hundreds of megabytes.
//
// Read parser.go (limits, dispatch), header.go (what stands before a message), then info.go, channels.go, connection.go and qp.go
// (how a job was set up), tuning.go (what it called), warn.go, completion.go and async.go (what went wrong), version.go,
// ras.go, rasjson.go and monitor.go, diag.go, inspector.go.
package nccl

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxDistinct is how many different lines of the families that every process repeats are kept in all: 4096 hosts
// with 16 settings each.
const MaxDistinct = 1 << 16

// Source is what a line is of.
type Source string

// Sources, as the list of files names them.
const (
	None      Source = ""
	LogLine   Source = "nccl log"
	RASReport Source = "nccl RAS report"
	Checks    Source = "nccl diagnostics"
)

// Log reads NCCL logs, line by line, of any number of files: what one file says of a process helps with the next.
type Log struct {
	// Host is the host the line read last names, "" where it names none.
	Host string

	inv    *evidence.Inventory
	events *fragment.Events
	ends   bool // the ends of connections are kept

	names    map[string]string // one copy of every host name, interface, ...
	seen     map[string]struct{}
	key      []byte
	channels map[channelKey]int              // index into NCCL.Channels
	ranks    map[processID]int               // the rank of a process in its largest communicator
	sizes    map[processID]int               // and the size of that communicator
	devices  map[string][]evidence.DeviceUse // of the process of a host that listed its devices last
	lists    map[string][]evidence.DeviceUse // every list that was seen
	tuned    map[tuningKey]int               // index into NCCL.Tuning
	calls    map[calledKey]int               // index into NCCL.CallsSeen
	rasRanks int                             // kept of RAS reports
	expected bool                            // the next line is the last error
	// secondhand is where warnings stand that an exception repeated, and that a log may have too.
	secondhand []evidence.Source
	scratch    []byte
	bounds     bounds
	ras        ras
}

type channelKey struct{ host, via string }

// processID is one process of a job.
type processID struct {
	host string
	pid  int
}

// NewLog makes a reader that writes into inv, and its events through events. With connections it keeps the ends of connections too, up to MaxConnections.
func NewLog(inv *evidence.Inventory, events *fragment.Events, connections bool) *Log {
	return &Log{
		inv: inv, events: events, ends: connections, names: map[string]string{}, seen: map[string]struct{}{},
		channels: map[channelKey]int{},
		ranks:    map[processID]int{}, sizes: map[processID]int{}, devices: map[string][]evidence.DeviceUse{},
		lists: map[string][]evidence.DeviceUse{}, tuned: map[tuningKey]int{}, calls: map[calledKey]int{},
	}
}

// Parse reads a log into the fragment's inventory.
func Parse(r io.Reader, f *fragment.Fragment) error {
	l := NewLog(f.Inv, fragment.NewEvents(), false)
	err := lines.Each(r, func(line []byte, n int) { l.Line(f, line, n) })
	l.Finish()
	return err
}

// Line reads one line; it returns None for a line that is not NCCL's.
func (l *Log) Line(f *fragment.Fragment, line []byte, n int) Source {
	l.Host = ""
	i := bytes.Index(line, ncclWord)
	if i < 0 {
		return l.plain(f, line, n)
	}
	h, ok := parseHeader(line, i)
	if !ok {
		return l.bare(f, line, i, n)
	}
	l.inv.NCCL.HasLog = true
	l.ras.open = false
	l.Host = l.name(h.host)
	msg := message{header: h, name: l.Host, at: f.At(n)}
	switch h.level {
	case levelWarn:
		l.warn(&msg)
	case levelInfo:
		l.info(&msg)
	}
	return LogLine
}

// message is one line of a log, taken apart.
type message struct {
	header
	name string // the host, one copy of it
	at   evidence.Source
}

// bare reads the lines with the word NCCL but without a prefix: the banner, and PyTorch's wording of an error,
// which ends in "NCCL version 2.18.1".
func (l *Log) bare(f *fragment.Fragment, line []byte, i, n int) Source {
	if text, ok := bytes.CutPrefix(line[i:], diagWord); ok {
		return l.diag(f, line[:i], text, n)
	}
	if version, ok := bytes.CutPrefix(line[i:], versionWord); ok && len(version) > 0 && digit(version[0]) { // and not the head of a table
		l.version(version, f.Host, f.At(n))
		if bytes.Contains(version, []byte(" compiled with CUDA")) {
			l.ras.begin(l, f, n)
			return RASReport // its first line
		}
		l.inv.NCCL.HasLog = true
		return LogLine
	}
	if j := bytes.Index(line, versionWord); j >= 0 && bytes.HasPrefix(line[i:], []byte("NCCL error in")) {
		l.version(line[j+len(versionWord):], f.Host, f.At(n))
	}
	return None
}

// lastErrorWord begins what ncclGetLastError gave to whoever printed an exception. PyTorch puts the message on the
// next line (getNcclErrorDetailStr in torch/csrc/distributed/c10d/NCCLUtils.cpp).
var lastErrorWord = []byte("Last error:")

// lastError reads the message. Where the warning stands in a log of NCCL, too, that one counts, with its host.
func (l *Log) lastError(f *fragment.Fragment, line []byte, n int) bool {
	text := line
	if i := bytes.Index(line, lastErrorWord); i >= 0 {
		text = line[i+len(lastErrorWord):]
		l.expected = true
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return l.expected
	}
	l.expected = false
	m := message{header: header{level: levelWarn, msg: text, text: text}, name: f.Host, at: f.At(n)}
	l.warn(&m)
	if len(l.secondhand) < fragment.MaxEvents { // every rank repeats it, and no more than these are kept
		l.secondhand = append(l.secondhand, m.at)
	}
	return true
}

// plain reads the lines without the word NCCL: the RAS report, and the last error in an exception.
func (l *Log) plain(f *fragment.Fragment, line []byte, n int) Source {
	if l.expected || len(line) > 0 && line[len(line)-1] == ':' && bytes.HasSuffix(line, lastErrorWord) || bytes.HasPrefix(line, lastErrorWord) {
		if l.lastError(f, line, n) {
			return LogLine
		}
	}
	if l.ras.line(l, f, line, n) || l.monitor(f, line, n) {
		return RASReport
	}
	return None
}

// Finish writes what is known only at the end: the bounds on the version, and whether a log has what an exception
// repeated.
func (l *Log) Finish() {
	n := &l.inv.NCCL
	l.bounds.write(n)
	repeated := func(e evidence.Event) bool { return slices.Contains(l.secondhand, e.From) }
	logged := func(e evidence.Event) bool {
		return slices.ContainsFunc(n.Events, func(o evidence.Event) bool {
			return o.From != e.From && !repeated(o) && strings.Contains(o.Text, e.Text)
		})
	}
	if len(l.secondhand) > 0 {
		n.Events = slices.DeleteFunc(slices.Clone(n.Events), func(e evidence.Event) bool { return repeated(e) && logged(e) })
	}
}

var (
	ncclWord    = []byte("NCCL ")
	versionWord = []byte("NCCL version ")
)

// name returns the one copy of a short string.
func (l *Log) name(b []byte) string {
	if s, ok := l.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(l.names) < MaxDistinct {
		l.names[s] = s
	}
	return s
}

// first tells whether this is the first line of its family, host and content.
func (l *Log) first(family byte, host string, content []byte) bool {
	l.key = append(l.key[:0], family)
	l.key = append(l.key, host...)
	l.key = append(l.key, 0)
	l.key = append(l.key, content...)
	if _, ok := l.seen[string(l.key)]; ok {
		return false
	}
	if len(l.seen) >= MaxDistinct {
		l.inv.NCCL.Repeated++
		return false
	}
	l.seen[string(l.key)] = struct{}{}
	return true
}

// Families of lines that every process repeats.
const (
	familyEnv byte = iota
	familyNetwork
	familyDevices
	familySocket
	familyGDR
	familyShape
	familyGraph
	familyQP
	familyVersion
	familyGIN
	familyNVLS
)
