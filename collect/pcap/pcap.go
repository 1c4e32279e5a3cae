// Package pcap owns what a capture shows of RoCE: streams of packets to a queue pair with what was lost, overtaken,
// sent again, refused and marked in them, pauses, and who else sends in which class. It leaves the bytes of packets to
// package packet, and sampled packets (sFlow), which it hands on, to package sflow.
//
// A capture is read once, frame by frame; memory is bounded by the limits on streams, holes and pausing ports.
//
// Read pcap.go, then sequence.go (sequence numbers of a stream), answers.go (refusals and where a packet was lost) and
// pauses.go.
package pcap

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// Limits on what is kept of one capture. A host with 8 NICs and 64 queue pairs to each of 128 peers has 65 536 streams.
const (
	MaxStreams = 1 << 16
	maxPorts   = 32 // UDP source ports that are told apart
	maxClasses = 8  // code points and priorities of a stream
)

// Datagrams takes what switches export out of the capture: it is shown every whole datagram of UDP that is not RoCE, with
// the number of its frame, and the frame holds until it returns.
type Datagrams func(f *packet.Frame, frame int)

// Read reads a capture into the inventory. The error says why the rest of it was not read; what was read before counts.
func Read(f *fragment.Fragment, r io.Reader, sampled Datagrams) error {
	in, err := packet.NewReader(r)
	if err != nil {
		return err
	}
	c := &capture{f: f, streams: map[streamKey]*stream{}, between: map[ends][]*stream{}, pauses: map[pauseKey]*pausing{}}
	for {
		var rec packet.Record
		if rec, err = in.Next(); err != nil {
			break
		}
		c.frame(rec, sampled)
	}
	c.finish(in.Dropped())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

type capture struct {
	f       *fragment.Fragment
	out     evidence.Capture
	flows   fragment.Flows
	streams map[streamKey]*stream
	order   []*stream
	between map[ends][]*stream
	pauses  map[pauseKey]*pausing
	held    []*pausing

	start, now int64
	timed      bool
}

type hosts struct{ src, dst netip.Addr }

// lids are the ends of a stream of InfiniBand.
type lids struct{ src, dst uint16 }

type streamKey struct {
	hosts
	lids
	qp     uint32
	v1     bool
	tunnel bool
}

// ends are what streams of one direction have in common.
type ends struct {
	hosts
	lids
}

// stream is an evidence.Stream in the making.
type stream struct {
	evidence.Stream
	sequence sequence
	response response
	ports    [maxPorts]uint16
	peer     *stream // the stream whose packets this one's answers are about, once it is known
}

func (c *capture) frame(rec packet.Record, sampled Datagrams) {
	c.out.Frames = rec.Number
	if rec.Timed {
		if !c.timed {
			c.start, c.timed = rec.Time, true
		}
		c.now = max(c.now, rec.Time)
	}
	f := packet.Decode(rec.Link, rec.Data)
	switch {
	case f.Pause != nil:
		c.pause(&f, rec)
		return
	case f.UDP != nil && f.BTH == nil && sampled != nil && !f.Cut:
		sampled(&f, rec.Number)
	}
	c.flows.Add(&f, -1, units.Bytes(rec.Length), rec.Time, rec.Number)
	if f.BTH != nil {
		c.roce(&f, rec)
	}
}

func (c *capture) roce(f *packet.Frame, rec packet.Record) {
	c.out.RoCE++
	if f.Cut {
		c.out.Cut++
	}
	s := c.stream(f, rec.Number)
	if s == nil {
		return
	}
	s.Packets++
	s.Bytes += units.Bytes(rec.Length)
	_, _, dscp, ecn, _ := f.IP()
	op := f.BTH.Opcode()
	if op == packet.CNP {
		c.count(&s.Notices, rec.Number)
		c.integrity(s, f, rec.Number)
		return
	}
	if s.Transport == "" {
		s.Transport = transports[op.Transport()]
	}
	if !s.Native {
		c.class(s, f, int(dscp), rec.Number)
		if ecn != packet.NotECT {
			s.Capable++
		}
		if ecn == packet.CE {
			c.count(&s.Marked, rec.Number)
		}
	}
	if f.UDP != nil {
		s.port(f.UDP.SrcPort())
		if f.UDP.Checksum() != 0 {
			c.count(&s.Checksums, rec.Number)
		}
	}
	if !c.integrity(s, f, rec.Number) {
		return // a receiver drops it before it looks at the number
	}
	if !f.Cut {
		s.MTU = max(s.MTU, len(f.Payload)-f.BTH.Pad())
	}
	switch {
	case op.Transport() == packet.UD || op.Transport() == packet.RD:
		s.Requests++ // the numbers of datagrams are of the sending queue pair and not of this stream
	case op.Request():
		s.Requests++
		c.request(s, f, rec.Number)
	default:
		s.Answers++
		c.answer(s, f, rec.Number)
	}
}

var transports = map[packet.Opcode]string{packet.RC: "RC", packet.UC: "UC", packet.RD: "RD", packet.UD: "UD", packet.XRC: "XRC"}

// stream finds the stream of a packet, nil past the limit.
func (c *capture) stream(f *packet.Frame, number int) *stream {
	src, dst, _, _, _ := f.IP()
	k := streamKey{hosts: hosts{src, dst}, qp: f.BTH.QP(), v1: f.GRH != nil && f.LRH == nil, tunnel: f.Tunnel}
	if f.LRH != nil && f.GRH == nil {
		k.lids = lids{f.LRH.Src(), f.LRH.Dst()}
	}
	s := c.streams[k]
	if s == nil {
		if len(c.order) >= MaxStreams {
			c.out.Past++
			return nil
		}
		s = &stream{Stream: evidence.Stream{Src: evidence.End{Address: src}, Dst: evidence.End{Address: dst}, QP: k.qp, V1: k.v1, Native: f.LRH != nil, Tunnel: k.tunnel, From: c.f.At(number)}}
		s.Src.LID, s.Dst.LID = int(k.lids.src), int(k.lids.dst)
		c.streams[k] = s
		c.order = append(c.order, s)
		c.between[ends{k.hosts, k.lids}] = append(c.between[ends{k.hosts, k.lids}], s)
	}
	return s
}

// count adds a frame to a tally.
func (c *capture) count(t *evidence.Tally, number int) {
	if t.Count == 0 {
		t.At = c.f.At(number)
	}
	t.Count++
}

// integrity checks the ICRC; false means that it is wrong.
func (c *capture) integrity(s *stream, f *packet.Frame, number int) bool {
	right, known := f.Check()
	if !known {
		return true
	}
	s.Checked++
	if !right {
		c.count(&s.Corrupt, number)
	}
	return right
}

func (c *capture) class(s *stream, f *packet.Frame, dscp, number int) {
	priority := -1
	if f.VLAN != nil {
		priority = int(f.VLAN.Priority())
	}
	for i := range s.Classes {
		if s.Classes[i].DSCP == dscp && s.Classes[i].Priority == priority {
			s.Classes[i].Count++
			return
		}
	}
	if len(s.Classes) < maxClasses {
		s.Classes = append(s.Classes, evidence.Class{DSCP: dscp, Priority: priority, Tally: evidence.Tally{Count: 1, At: c.f.At(number)}})
	}
}

// port counts a source port that was not seen before.
func (s *stream) port(p uint16) {
	if s.Ports < maxPorts && !slices.Contains(s.ports[:s.Ports], p) {
		s.ports[s.Ports] = p
		s.Ports++
	}
}

func (c *capture) finish(dropped uint64) {
	c.out.From, c.out.Dropped = evidence.Source{File: c.f.File}, dropped
	if c.timed {
		c.out.Span = picoseconds(c.now - c.start)
	}
	for _, s := range c.order {
		s.Missing = s.sequence.missing() + s.response.missing
		slices.SortStableFunc(s.Classes, func(a, b evidence.Class) int { return cmp.Compare(b.Count, a.Count) })
		c.out.Streams = append(c.out.Streams, s.Stream)
	}
	for _, p := range c.held {
		c.out.Pauses = append(c.out.Pauses, p.finish())
	}
	c.f.Inv.Captures = append(c.f.Inv.Captures, c.out)
	c.flows.Finish(c.f, c.start)
	if past := c.out.Past + c.flows.Past; past > 0 {
		c.f.Inv.Unreadable = append(c.f.Inv.Unreadable, evidence.Unreadable{From: evidence.Source{File: c.f.File},
			Why: fmt.Sprintf("%d packets of streams or flows past the limits of %d and %d were counted and not looked into", past, MaxStreams, fragment.MaxFlows)})
	}
}

// picoseconds turns nanoseconds into a duration, at most the 106 days it can hold.
func picoseconds(ns int64) units.Duration {
	return units.Duration(min(max(ns, 0), (1<<63-1)/1000)) * units.Nanosecond
}
