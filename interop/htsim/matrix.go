package htsim

import (
	"bytes"
	"io"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Matrix is a connection matrix (.cm, .tm) as its file has it.
type Matrix struct {
	Nodes       int
	Connections []Connection
	Triggers    []Trigger
	Failures    []Failure
	Report      *source.Report

	nodes source.Place // of the header's Nodes
}

// Connection is one message from a node to another. It begins at Start, or when Trigger fires.
type Connection struct {
	source.Place
	Src, Dst int32
	ID       int32 // 0: none
	// Reuse marks a message of the connection that all lines with this ID share.
	Reuse    bool
	Start    float64 // in the unit that the program reading the file takes it for
	Trigger  int32   // 0: none
	SendDone int32   // trigger that the sender signals when all is acknowledged, 0: none
	RecvDone int32   // trigger that the receiver signals when all has arrived, 0: none
	Size     units.Bytes
	Priority int32 // -1: none
}

// TriggerKind is when a trigger fires.
type TriggerKind uint8

// Kinds of trigger.
const (
	OneShot   TriggerKind = iota + 1 // at its only signal, for all that wait
	MultiShot                        // at each signal, for the next that waits
	Barrier                          // when Count signals have come, for all that wait
)

var triggerNames = [...]string{OneShot: "oneshot", MultiShot: "multishot", Barrier: "barrier"}

func (k TriggerKind) String() string { return triggerNames[k] }

// Trigger starts connections when others end.
type Trigger struct {
	source.Place
	ID    int32
	Kind  TriggerKind
	Count int32 // of a barrier
}

// Failure is a link that is down from the start.
type Failure struct {
	source.Place
	Tier         int // of the switch: 0 ToR, 1 Agg, 2 Core
	Switch, Link int32
}

// failureTiers is how htsim spells Failure.Tier.
var failureTiers = [...]string{"TOR", "AGG", "CORE"}

// ReadMatrix reads a connection matrix. The matrix is nil when the error, a spec.Problems, is not.
func ReadMatrix(file string, in io.Reader) (*Matrix, error) {
	r := source.NewReader(file, in)
	m := &Matrix{Report: &r.Report}
	h := matrixReader{Reader: r, m: m}
	for r.Line() && !r.Full() {
		if words := r.Words(); len(words) > 0 && words[0].Text[0] != '#' {
			h.line(words)
		}
		if len(m.Connections) > workload.MaxOps {
			r.Wrong(r, "this is more than the %d connections that can be run; split the file", workload.MaxOps)
			break
		}
	}
	h.finish()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// matrixReader is the state between lines.
type matrixReader struct {
	*source.Reader
	m      *Matrix
	counts [4]count // Nodes, Connections, Triggers, Failures
	begun  bool     // a record has been read
}

// count is a number of the header.
type count struct {
	source.Place
	value int64
	given bool
}

var headers = [...]string{"Nodes", "Connections", "Triggers", "Failures"}

func (h *matrixReader) line(words []source.Word) {
	first := words[0]
	arrow := bytes.Index(first.Text, []byte("->"))
	switch {
	case arrow >= 0:
		h.begun = true
		h.connection(words, arrow)
		return
	case first.Is("trigger"):
		h.begun = true
		h.trigger(words)
		return
	case first.Is("failure"):
		h.begun = true
		h.failure(words)
		return
	}
	for i, name := range headers {
		if !first.Is(name) {
			continue
		}
		switch c := &h.counts[i]; {
		case h.begun:
			h.Wrong(first, "%s stands behind the first record; move it to the front", name)
		case c.given:
			h.Wrong(first, "%s is given a second time, after line %d; remove one", name, c.Line)
		case len(words) < 2:
			h.Wrong(first, "%s has no number; write it behind the word", name)
		default:
			*c = count{Place: words[1].Place, given: true}
			c.value, _ = h.Int(words[1], "the number of "+name, 0, math.MaxInt32)
		}
		return
	}
	h.Wrong(first, "%s begins no line of a connection matrix; lines are like 0->1 start 0 size 2000000, trigger id 1 oneshot, failure switch_type AGG switch_id 0 link_id 0, or Nodes 16", source.Quote(first.Text))
}

// id reads the number that follows words[i].
func (h *matrixReader) id(words []source.Word, i int, least int64) (int32, bool) {
	if i+1 >= len(words) {
		h.Wrong(words[i], "%s has no number; write it behind the word", words[i])
		return 0, false
	}
	v, ok := h.Int(words[i+1], "the number behind "+words[i].String(), least, math.MaxInt32)
	return int32(v), ok
}

func (h *matrixReader) connection(words []source.Word, arrow int) {
	first := words[0]
	c := Connection{Place: first.Place, Priority: -1}
	end := func(text []byte, col int, what string) (int32, bool) {
		v, ok := h.Int(source.Word{Place: source.Place{Line: first.Line, Col: col}, Text: text}, what, 0, math.MaxInt32)
		return int32(v), ok
	}
	var ok, ok2 bool
	c.Src, ok = end(first.Text[:arrow], first.Col, "the node that sends")
	c.Dst, ok2 = end(first.Text[arrow+2:], first.Col+arrow+2, "the node that receives")
	ok = ok && ok2
	started, sized := false, false
	for i := 1; i < len(words); i += 2 {
		good := true
		switch w := words[i]; {
		case w.Is("start"):
			if good = i+1 < len(words); good {
				c.Start, good = h.Float(words[i+1], "the start", 0, math.MaxInt64)
			} else {
				h.Wrong(w, "start has no time; write start 0")
			}
			started = true
		case w.Is("size"):
			if good = i+1 < len(words); good {
				var v int64
				v, good = h.Int(words[i+1], "the size", 1, 1<<50)
				c.Size = units.Bytes(v)
			} else {
				h.Wrong(w, "size has no bytes; write size 2000000")
			}
			sized = true
		case w.Is("id"):
			c.ID, good = h.id(words, i, 1)
		case w.Is("msg"): // in the wild with and without a number
			c.Reuse = true
			if i+1 >= len(words) || words[i+1].Text[0] < '0' || words[i+1].Text[0] > '9' {
				i--
			} else {
				_, good = h.id(words, i, 1)
			}
		case w.Is("trigger"):
			c.Trigger, good = h.id(words, i, 1)
		case w.Is("send_done_trigger"):
			c.SendDone, good = h.id(words, i, 1)
		case w.Is("recv_done_trigger"):
			c.RecvDone, good = h.id(words, i, 1)
		case w.Is("prio"):
			c.Priority, good = h.id(words, i, 0)
		default:
			h.Wrong(w, "%s says nothing about a connection; write id, msg, start, trigger, size, send_done_trigger, recv_done_trigger or prio", source.Quote(w.Text))
			return
		}
		ok = ok && good
	}
	switch {
	case !ok:
	case c.Src == c.Dst:
		h.Wrong(c, "node %d sends to itself; write two nodes", c.Src)
	case !sized:
		h.Wrong(c, "the connection has no size, and would never end; add size and its bytes")
	case !started && c.Trigger == 0:
		h.Wrong(c, "nothing starts the connection; add start 0, or trigger and a number")
	case started && c.Trigger != 0:
		h.Wrong(c, "the connection has both a start and a trigger; remove one")
	case c.Reuse && c.ID == 0:
		h.Wrong(c, "the message has no id that says which connection it is of; add id and a number")
	default:
		h.m.Connections = append(h.m.Connections, c)
		return
	}
	h.counts[1].given = false // what the header counts is not what could be read
}

func (h *matrixReader) trigger(words []source.Word) {
	t := Trigger{Place: words[0].Place}
	ok := true
	for i := 1; i < len(words); i++ {
		good, kind := true, TriggerKind(0)
		switch w := words[i]; {
		case w.Is("id"):
			t.ID, good = h.id(words, i, 1)
			i++
		case w.Is("count"):
			t.Count, good = h.id(words, i, 1)
			i++
		case w.Is("oneshot"):
			kind = OneShot
		case w.Is("multishot"):
			kind = MultiShot
		case w.Is("barrier"):
			kind = Barrier
		default:
			h.Wrong(w, "%s says nothing about a trigger; write id, oneshot, multishot, barrier or count", source.Quote(w.Text))
			good = false
		}
		if kind != 0 && t.Kind != 0 {
			h.Wrong(words[i], "the trigger is of two kinds; write one of oneshot, multishot, barrier")
			good = false
		}
		t.Kind, ok = max(t.Kind, kind), ok && good
	}
	switch {
	case !ok:
	case t.ID == 0:
		h.Wrong(t, "the trigger has no id; add id and a number")
	case t.Kind == 0:
		h.Wrong(t, "the trigger has no kind; add oneshot, multishot or barrier")
	case t.Kind == Barrier && t.Count == 0:
		h.Wrong(t, "the barrier does not say how many signals it waits for; add count and a number")
	default:
		h.m.Triggers = append(h.m.Triggers, t)
		return
	}
	h.counts[2].given = false
}

func (h *matrixReader) failure(words []source.Word) {
	f := Failure{Place: words[0].Place, Tier: -1, Switch: -1, Link: -1}
	ok := true
	for i := 1; i < len(words); i += 2 {
		good := true
		switch w := words[i]; {
		case w.Is("switch_id"):
			f.Switch, good = h.id(words, i, 0)
		case w.Is("link_id"):
			f.Link, good = h.id(words, i, 0)
		case w.Is("switch_type"):
			for tier, name := range failureTiers {
				if i+1 < len(words) && words[i+1].Is(name) {
					f.Tier = tier
				}
			}
			if good = f.Tier >= 0; !good {
				h.Wrong(w, "no type of switch; write switch_type TOR, AGG or CORE")
			}
		default:
			h.Wrong(w, "%s says nothing about a failure; write switch_type, switch_id or link_id", source.Quote(w.Text))
			good = false
		}
		ok = ok && good
	}
	if ok && (f.Tier < 0 || f.Switch < 0 || f.Link < 0) {
		h.Wrong(f, "the failure does not name its link; write switch_type AGG switch_id 0 link_id 0 or what it is")
		ok = false
	}
	if !ok {
		h.counts[3].given = false
		return
	}
	h.m.Failures = append(h.m.Failures, f)
}

// finish compares the records with what the header counts.
func (h *matrixReader) finish() {
	m := h.m
	m.Nodes, m.nodes = int(h.counts[0].value), h.counts[0].Place
	if !h.counts[0].given && h.OK() {
		h.Wrong(source.Place{}, "the header has no Nodes; add Nodes 16 or how many there are")
	}
	if m.Nodes > fabric.MaxHosts {
		h.Wrong(m.nodes, "there are %d nodes; a fabric has at most %d hosts", m.Nodes, fabric.MaxHosts)
	}
	for i, read := range []int{1: len(m.Connections), 2: len(m.Triggers), 3: len(m.Failures)} {
		if c := h.counts[i]; i > 0 && c.given && c.value != int64(read) {
			h.Wrong(c, "the header counts %d %s and the file has %d; write %d", c.value, headers[i], read, read)
		}
	}
	for i := range m.Connections {
		c := &m.Connections[i]
		if h.counts[0].given && max(c.Src, c.Dst) >= int32(m.Nodes) {
			h.Wrong(c, "there is no node %d among %d; nodes go from 0 to %d", max(c.Src, c.Dst), m.Nodes, m.Nodes-1)
		}
	}
	if len(m.Connections) == 0 && h.OK() {
		h.Wrong(source.Place{}, "the file has no connection; add a line like 0->1 start 0 size 2000000")
	}
}
