// Package sflow owns reading sFlow version 5 (sflow_version_5.txt of sFlow.org): what switches sample of the packets
// they forward, and the counters of their ports. Samples become flows, scaled by their rate; counters become series of
// the agent's ports, which it knows by number alone: "192.0.2.9/if12".
//
// A datagram says of each part how long it is, so that parts of other vendors, and records that are not read here, are
// passed over and what follows them still counts.
package sflow

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// Limits on one datagram. It comes in one UDP datagram, so it has at most 64 KiB, and a part at least 8 bytes.
const (
	maxDatagram = 1 << 16
	maxParts    = maxDatagram / 8
	// maxScaled is what one sample may stand for: a frame of 9000 bytes in 2^36 of them. More is damage, and would overflow.
	maxScaled = 1 << 49
)

// Reader reads the datagrams of one input.
type Reader struct {
	f        *fragment.Fragment
	counters fragment.Counters
	flows    fragment.Flows
	first    int64
	begun    bool

	Datagrams int // that were read
	Damaged   int // such as ended before what they announced
}

// New makes a reader of one input.
func New(f *fragment.Fragment) *Reader {
	return &Reader{f: f, counters: fragment.Index(telemetry.SFlow)}
}

// ErrNotSFlow says that bytes are no datagram of version 5.
var ErrNotSFlow = errors.New("sflow: no datagram of version 5")

var errShort = errors.New("sflow: the datagram ends before what it announces")

// Formats of samples and records, of the enterprise 0.
const (
	sampleFlow             = 1
	sampleCounters         = 2
	sampleFlowExpanded     = 3
	sampleCountersExpanded = 4

	recordHeader    = 1
	recordSwitch    = 1001
	recordInterface = 1
	headerEthernet  = 1 // header_protocol
	headerIPv4      = 11
	headerIPv6      = 12
	interfaceRecord = 88 // bytes of if_counters
	addressIPv4     = 1
	addressIPv6     = 2
)

// Starts tells whether bytes begin as a datagram: version 5, a kind of address, and a number of samples that fits.
func Starts(b []byte) bool {
	c := cursor{b: b}
	_, _, samples, ok := c.head()
	return ok && samples > 0 && samples <= maxParts && len(c.b) >= 8 && binary.BigEndian.Uint32(c.b[4:]) <= maxDatagram
}

// cursor takes 32-bit words off a datagram.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) word() uint32 {
	if len(c.b) < 4 {
		c.b, c.short = nil, true
		return 0
	}
	v := binary.BigEndian.Uint32(c.b)
	c.b = c.b[4:]
	return v
}

func (c *cursor) take(n uint32) []byte {
	if uint64(n) > uint64(len(c.b)) {
		c.b, c.short = nil, true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// head reads the head of a datagram: the agent, its uptime in milliseconds and the number of samples.
func (c *cursor) head() (agent netip.Addr, uptime, samples uint32, ok bool) {
	if c.word() != 5 {
		return agent, 0, 0, false
	}
	switch c.word() {
	case addressIPv4:
		agent, _ = netip.AddrFromSlice(c.take(4))
	case addressIPv6:
		agent, _ = netip.AddrFromSlice(c.take(16))
	default:
		return agent, 0, 0, false
	}
	c.take(8) // which process of the agent, and sequence number
	uptime, samples = c.word(), c.word()
	return agent, uptime, samples, !c.short && agent.IsValid()
}

// Datagram reads one datagram; line is what sources show, the number of its frame or its own.
func (r *Reader) Datagram(b []byte, line int) error {
	_, err := r.datagram(b, line)
	return err
}

func (r *Reader) datagram(b []byte, line int) (size int, err error) {
	c := cursor{b: b}
	agent, uptime, samples, ok := c.head()
	if !ok {
		return 0, ErrNotSFlow
	}
	at := int64(uptime) * 1e6
	if !r.begun {
		r.first, r.begun = at, true
	}
	r.first = min(r.first, at)
	r.f.Now, r.f.Timed = at, true // an agent's counters are compared with each other alone
	defer func() { r.f.Timed = false }()
	r.Datagrams++
	for range min(samples, maxParts) {
		kind, n := c.word(), c.word()
		part := c.take(n)
		if c.short {
			r.Damaged++
			return len(b), errShort
		}
		s := cursor{b: part}
		switch kind {
		case sampleFlow:
			s.take(8) // sequence number and source
			r.sampled(&s, 2, at, line)
		case sampleFlowExpanded:
			s.take(12)
			r.sampled(&s, 4, at, line)
		case sampleCounters:
			s.take(8)
			r.counted(&s, agent, line)
		case sampleCountersExpanded:
			s.take(12)
			r.counted(&s, agent, line)
		}
	}
	return len(b) - len(c.b), nil
}

// sampled reads a flow sample behind its source; the interfaces take that many words.
func (r *Reader) sampled(s *cursor, interfaces uint32, at int64, line int) {
	rate := s.word()
	s.take(8 + 4*interfaces) // pool, drops, interfaces
	priority, length := int8(-1), uint32(0)
	var frame packet.Frame
	have := false
	for range min(s.word(), maxParts) {
		kind, n := s.word(), s.word()
		rec := cursor{b: s.take(n)}
		if s.short {
			return
		}
		switch kind {
		case recordHeader:
			protocol := rec.word()
			length = rec.word()
			rec.take(4) // what was stripped off the end
			header := rec.take(rec.word())
			switch protocol {
			case headerEthernet:
				frame, have = packet.Decode(packet.LinkEthernet, header), !rec.short
			case headerIPv4, headerIPv6:
				frame, have = packet.Decode(packet.LinkRaw, header), !rec.short
			}
		case recordSwitch:
			rec.take(4)
			if p := rec.word(); !rec.short && p >= 1 && p <= 7 { // 0 is what agents say that do not know
				priority = int8(p)
			}
		}
	}
	if have && rate > 0 {
		r.flows.Add(&frame, priority, units.Bytes(min(uint64(length)*uint64(rate), maxScaled)), at, line)
	}
}

// counted reads a counter sample behind its source.
func (r *Reader) counted(s *cursor, agent netip.Addr, line int) {
	for range min(s.word(), maxParts) {
		kind, n := s.word(), s.word()
		b := s.take(n)
		if s.short {
			return
		}
		if kind == recordInterface && len(b) >= interfaceRecord {
			r.port(b, agent, line)
		}
	}
}

// interfaceCounters are the fields of if_counters (RFC 2233 names), and where they stand.
var interfaceCounters = []struct {
	name string
	at   int
	wide bool
}{
	{"ifSpeed", 8, true}, {"ifInOctets", 24, true}, {"ifInDiscards", 44, false}, {"ifInErrors", 48, false},
	{"ifOutOctets", 56, true}, {"ifOutUcastPkts", 64, false}, {"ifOutDiscards", 76, false},
}

func (r *Reader) port(b []byte, agent netip.Addr, line int) {
	before := r.f.Host
	r.f.Host = agent.String()
	device := fmt.Sprintf("if%d", binary.BigEndian.Uint32(b))
	for _, c := range interfaceCounters {
		m, ok := r.counters[c.name]
		if !ok {
			continue
		}
		v, unknown := uint64(binary.BigEndian.Uint32(b[c.at:])), uint64(1<<32-1)
		if c.wide {
			v, unknown = binary.BigEndian.Uint64(b[c.at:]), ^uint64(0)
		}
		if v != unknown { // all ones is a counter the agent does not have (section 5.3)
			r.f.Count(m, c.name, device, 0, v, line)
		}
	}
	r.f.Host = before
}

// Finish adds the flows to the inventory.
func (r *Reader) Finish() {
	past := r.flows.Past
	r.flows.Finish(r.f, r.first)
	if past > 0 || r.Damaged > 0 {
		r.f.Inv.Unreadable = append(r.f.Inv.Unreadable, evidence.Unreadable{From: evidence.Source{File: r.f.File},
			Why: fmt.Sprintf("sFlow: %d datagrams were cut off, %d samples were of flows past the limit of %d", r.Damaged, past, fragment.MaxFlows)})
	}
}

// Dump reads datagrams that stand one behind the other, as a collector may write what it receives.
func (r *Reader) Dump(in io.Reader) error {
	br := bufio.NewReaderSize(in, maxDatagram)
	for line := 1; ; line++ {
		b, err := br.Peek(maxDatagram)
		if len(b) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		n, err := r.datagram(b, line)
		if err != nil {
			return fmt.Errorf("datagram %d: %w", line, err)
		}
		if _, err := br.Discard(n); err != nil {
			return err
		}
	}
}
