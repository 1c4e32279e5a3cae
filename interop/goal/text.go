package goal

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Schedule is a GOAL schedule.
type Schedule struct {
	Ranks  int
	Graph  dataflow.Graph
	Report *source.Report

	processors source.Located // the first calculation that is not on processor 0, nil when there is none
	any        source.Located // the first receive from anyone or with any tag
}

// longest is the longest calculation: a tenth of what a run can last.
const longest = int64(10 * 24 * 3600 * units.Second / units.Nanosecond)

// ReadText reads a schedule as text. The schedule is nil when the error, a spec.Problems, is not.
func ReadText(file string, in io.Reader) (*Schedule, error) {
	r := source.NewReader(file, in)
	t := textReader{Reader: r, s: &Schedule{Report: &r.Report}, rank: -1, labels: map[string]int32{}}
	for r.Line() && !r.Full() && t.room() {
		if words := t.strip(r.Words()); len(words) > 0 {
			t.line(words)
		}
	}
	t.finish()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t.s, nil
}

// textReader is the state between lines.
type textReader struct {
	*source.Reader
	s       *Schedule
	given   bool // num_ranks was read
	ranks   int  // rank blocks that have begun
	rank    int  // the one that is open, -1 when none is
	opened  source.Place
	comment bool // within /* */
	labels  map[string]int32
	later   []reference
	words   []source.Word
}

// reference is a dependency on a label that is not known yet.
type reference struct {
	source.Place
	label         string
	node, before  int32 // the one of them that is known, the other -1
	start         bool
	labelIsBefore bool
}

// room reports a schedule that is too long.
func (t *textReader) room() bool {
	if len(t.s.Graph.Nodes) < dataflow.MaxNodes {
		return true
	}
	t.Wrong(t, "the schedule has more than the %d operations that can be run; simulate a shorter one", dataflow.MaxNodes)
	return false
}

// strip removes comments: // to the end of the line, and /* */ over lines.
func (t *textReader) strip(words []source.Word) []source.Word {
	t.words = t.words[:0]
	for _, w := range words {
		for len(w.Text) > 0 {
			if t.comment {
				end := bytes.Index(w.Text, []byte("*/"))
				if end < 0 {
					break
				}
				t.comment = false
				w.Col, w.Text = w.Col+end+2, w.Text[end+2:]
				continue
			}
			line, block := bytes.Index(w.Text, []byte("//")), bytes.Index(w.Text, []byte("/*"))
			if line >= 0 && (block < 0 || line < block) {
				if line > 0 {
					w.Text = w.Text[:line]
					t.words = append(t.words, w)
				}
				return t.words
			}
			if block < 0 {
				t.words = append(t.words, w)
				break
			}
			if block > 0 {
				t.words = append(t.words, source.Word{Place: w.Place, Text: w.Text[:block]})
			}
			t.comment = true
			w.Col, w.Text = w.Col+block+2, w.Text[block+2:]
		}
	}
	return t.words
}

func (t *textReader) line(words []source.Word) {
	first := words[0]
	switch {
	case first.Is("num_ranks"):
		t.numRanks(words)
	case first.Is("rank"):
		t.openRank(words)
	case first.Is("}"):
		t.closeRank(first)
		if len(words) > 1 {
			t.line(words[1:])
		}
	case t.rank < 0:
		t.Wrong(first, "%s stands in no rank; begin one with rank %d {", source.Quote(first.Text), t.ranks)
	case len(words) >= 3 && (words[1].Is("requires") || words[1].Is("irequires")):
		t.require(words)
	default:
		t.operation(words)
	}
}

func (t *textReader) numRanks(words []source.Word) {
	switch {
	case t.given:
		t.Wrong(words[0], "num_ranks is given a second time; remove one")
	case len(words) < 2:
		t.Wrong(words[0], "num_ranks has no number; write it behind the word")
	default:
		n, _ := t.Int(words[1], "the number of ranks", 1, fabric.MaxHosts)
		t.s.Ranks, t.given = int(n), true
	}
}

func (t *textReader) openRank(words []source.Word) {
	if !t.given {
		t.Wrong(words[0], "the number of ranks is not known; begin the file with num_ranks 4 or how many there are")
		t.given = true
	}
	if t.rank >= 0 {
		t.Wrong(words[0], "rank %d begins within rank %d, of line %d; close that with }", t.ranks, t.rank, t.opened.Line)
		t.closeRank(words[0])
	}
	t.rank, t.opened = t.ranks, words[0].Place
	t.ranks++
	if len(words) < 2 {
		t.Wrong(words[0], "rank has no number; write rank %d {", t.rank)
		return
	}
	number := words[1]
	open := bytes.HasSuffix(number.Text, []byte("{"))
	number.Text = bytes.TrimSuffix(number.Text, []byte("{"))
	if n, ok := t.Int(number, "the number of a rank", 0, fabric.MaxHosts); ok && n != int64(t.rank) {
		t.Wrong(number, "this is rank %d, and the next one is rank %d; ranks follow each other from 0", n, t.rank)
	} else if ok && t.s.Ranks > 0 && n >= int64(t.s.Ranks) {
		t.Wrong(number, "there is no rank %d among %d; raise num_ranks", n, t.s.Ranks)
	}
	if !open && (len(words) < 3 || !words[2].Is("{")) {
		t.Wrong(words[0], "the rank is not opened; write rank %d {", t.rank)
	}
}

func (t *textReader) closeRank(at source.Located) {
	if t.rank < 0 {
		t.Wrong(at, "} closes no rank; remove it")
		return
	}
	for _, l := range t.later {
		id, ok := t.labels[l.label]
		switch {
		case !ok:
			t.Wrong(l, "rank %d has no label %s; write one of its operations'", t.rank, source.Quote(l.label))
		case l.labelIsBefore:
			t.depend(l.node, id, l.start)
		default:
			t.depend(id, l.before, l.start)
		}
	}
	t.rank, t.later = -1, t.later[:0]
	clear(t.labels)
}

func (t *textReader) depend(node, before int32, start bool) {
	if start {
		t.s.Graph.WithStart(node, before)
	} else {
		t.s.Graph.After(node, before)
	}
}

// require reads "label requires label" and "label irequires label".
func (t *textReader) require(words []source.Word) {
	l := reference{Place: words[2].Place, node: -1, before: -1, start: words[1].Is("irequires")}
	node, known := t.labels[string(words[0].Text)]
	before, known2 := t.labels[string(words[2].Text)]
	switch {
	case known && known2:
		t.depend(node, before, l.start)
		return
	case known:
		l.label, l.node, l.labelIsBefore = words[2].String(), node, true
	case known2:
		l.Place, l.label, l.before = words[0].Place, words[0].String(), before
	default:
		t.Wrong(words[0], "neither %s nor %s is the label of an operation above; write the operations first", source.Quote(words[0].Text), source.Quote(words[2].Text))
		return
	}
	t.later = append(t.later, l)
}

// operation reads "[label:] send 64b to 1 ...", "... recv 64b from 1 ..." and "... calc 1000 ...".
func (t *textReader) operation(words []source.Word) {
	label := ""
	first := words[0]
	switch {
	case bytes.HasSuffix(first.Text, []byte(":")):
		label, words = string(first.Text[:len(first.Text)-1]), words[1:]
	case len(words) > 1 && words[1].Is(":"):
		label, words = first.String(), words[2:]
	}
	if len(words) < 2 {
		t.Wrong(first, "the operation is not complete; write send 64b to 1, recv 64b from 1 or calc 1000")
		return
	}
	n := dataflow.Node{Place: first.Place, Rank: int32(t.rank)}
	what, ok := words[0], true
	switch {
	case what.Is("send"):
		n.Kind = dataflow.Send
		words, ok = t.transfer(&n, words, "to", 0)
	case what.Is("recv"):
		n.Kind = dataflow.Recv
		words, ok = t.transfer(&n, words, "from", dataflow.Any)
	case what.Is("calc"):
		n.Kind = dataflow.Compute
		var ns int64
		ns, ok = t.Int(words[1], "the time of a calculation in ns", 0, longest)
		n.Time = units.Duration(ns) * units.Nanosecond
		words = words[2:]
	default:
		t.Wrong(what, "%s is no operation; write send 64b to 1, recv 64b from 1, calc 1000, or label requires label", source.Quote(what.Text))
		return
	}
	if !ok || !t.options(&n, words) {
		n.Kind = dataflow.Nothing // the label is there all the same
	}
	id := t.s.Graph.Add(n)
	t.s.noteAny(id)
	if label == "" {
		return
	}
	if _, twice := t.labels[label]; twice {
		t.Wrong(first, "rank %d has label %s already; write another", t.rank, source.Quote(label))
	}
	t.labels[label] = id
}

// transfer reads "64b to 1"; the peer of a receive may be -1.
func (t *textReader) transfer(n *dataflow.Node, words []source.Word, preposition string, least int64) ([]source.Word, bool) {
	if len(words) < 4 || !words[2].Is(preposition) {
		t.Wrong(words[0], "the %s is not complete; write %s 64b %s 1", words[0], words[0], preposition)
		return nil, false
	}
	size := words[1]
	if !bytes.HasSuffix(size.Text, []byte("b")) {
		t.Wrong(size, "the size is %s; write a number of bytes and b, like 64b", source.Quote(size.Text))
		return nil, false
	}
	size.Text = size.Text[:len(size.Text)-1]
	bytes, ok := t.Int(size, "the size", 0, 1<<50)
	peer, ok2 := t.Int(words[3], "the rank", least, max(int64(t.s.Ranks), 1)-1)
	n.Bytes, n.Peer = units.Bytes(bytes), int32(peer)
	return words[4:], ok && ok2
}

// options reads "tag 1 cpu 0 nic 0", in any order.
func (t *textReader) options(n *dataflow.Node, words []source.Word) bool {
	for ; len(words) > 0; words = words[2:] {
		key := words[0]
		if len(words) < 2 {
			t.Wrong(key, "%s has no number; write it behind the word", source.Quote(key.Text))
			return false
		}
		least := int64(0)
		if n.Kind == dataflow.Recv && key.Is("tag") {
			least = dataflow.Any
		}
		v, ok := t.Int(words[1], "the number behind "+strconv.Quote(key.String()), least, math.MaxUint32)
		if !ok {
			return false
		}
		switch {
		case key.Is("tag"):
			n.Tag = v
		case key.Is("nic"):
			n.Channel = uint16(v)
		case key.Is("cpu"):
			if v > 0 && t.s.processors == nil {
				t.s.processors = n.Place
			}
		default:
			t.Wrong(key, "%s says nothing about an operation; write tag, cpu or nic", source.Quote(key.Text))
			return false
		}
	}
	return true
}

// noteAny remembers the first receive that takes more than one message.
func (s *Schedule) noteAny(id int32) {
	if n := &s.Graph.Nodes[id]; s.any == nil && n.Kind == dataflow.Recv && (n.Peer == dataflow.Any || n.Tag == dataflow.Any) {
		s.any = n.Place
	}
}

func (t *textReader) finish() {
	if t.rank >= 0 && !t.Full() {
		t.Wrong(t.opened, "rank %d is not closed; write } behind its last line", t.rank)
	}
	switch {
	case !t.OK():
	case !t.given:
		t.Wrong(source.Place{}, "the file is no GOAL schedule; it begins with num_ranks 4 or how many there are")
	case t.ranks < t.s.Ranks:
		t.Wrong(source.Place{}, "num_ranks says %d and the file has ranks 0 to %d; write num_ranks %d", t.s.Ranks, t.ranks-1, t.ranks)
	}
}
