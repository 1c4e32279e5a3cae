package netflow

import (
	"encoding/binary"
	"net/netip"

	"github.com/shunt-network/shunt/collect/fragment"
)

// Limits on templates. An exporter has a few, of some tens of fields.
const (
	maxTemplates = 1 << 10
	maxFields    = 256
)

// templateKey tells templates apart: an exporter numbers its own, in each of its observation domains.
type templateKey struct {
	from   netip.Addr
	domain uint32
	id     uint16
}

// field is one field of a template: the number of its information element, 0 for one of a vendor, and its length.
type field struct {
	element uint16
	length  uint16 // variable: the record says
}

const variable = 65535 // RFC 7011, section 7

// Information elements that are read (IANA, IPFIX; those of version 9 have the same numbers).
const (
	octets        = 1
	protocol      = 4
	typeOfService = 5
	sourcePort    = 7
	sourceIPv4    = 8
	destPort      = 11
	destIPv4      = 12
	lastUptime    = 21
	firstUptime   = 22
	sourceIPv6    = 27
	destIPv6      = 28
	interval      = 34 // one of so many packets
	firstMillis   = 152
	lastMillis    = 153
)

// Sets of templates and the first number of sets of records.
const (
	nineTemplates  = 0
	ipfixTemplates = 2
	firstRecords   = 256
)

// nine reads a datagram of version 9: uptime, seconds since 1970, sequence, domain, then sets.
func (r *Reader) nine(from netip.Addr, b []byte, line int) error {
	const head = 20
	if len(b) < head {
		return ErrNotFlows
	}
	c := clock{uptime: int64(binary.BigEndian.Uint32(b[4:])), now: int64(binary.BigEndian.Uint32(b[8:])) * 1e9}
	return r.sets(from, binary.BigEndian.Uint32(b[16:]), b[head:], c, nineTemplates, line)
}

// ipfix reads a message of IPFIX: length, seconds since 1970, sequence, domain, then sets.
func (r *Reader) ipfix(from netip.Addr, b []byte, line int) error {
	const head = 16
	if len(b) < head || int(binary.BigEndian.Uint16(b[2:])) != len(b) {
		return ErrNotFlows
	}
	c := clock{now: int64(binary.BigEndian.Uint32(b[4:])) * 1e9}
	return r.sets(from, binary.BigEndian.Uint32(b[12:]), b[head:], c, ipfixTemplates, line)
}

// clock is the exporter's, in nanoseconds since 1970, and in milliseconds since it started.
type clock struct{ now, uptime int64 }

// sets reads sets: each has a number and a length. Their lengths are looked at first, so that of a damaged datagram
// nothing is read.
func (r *Reader) sets(from netip.Addr, domain uint32, b []byte, c clock, templates uint16, line int) error {
	for rest := b; len(rest) > 0; {
		if len(rest) < 4 {
			return ErrNotFlows
		}
		n := int(binary.BigEndian.Uint16(rest[2:]))
		if n < 4 || n > len(rest) {
			return ErrNotFlows
		}
		rest = rest[n:]
	}
	for len(b) > 0 {
		id, n := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		set := b[4:n]
		b = b[n:]
		switch {
		case id == templates:
			r.template(from, domain, set, templates == ipfixTemplates)
		case id >= firstRecords:
			fields, ok := r.templates[templateKey{from, domain, id}]
			if !ok {
				r.Untold++
				continue
			}
			r.records(fields, set, c, line)
		}
	}
	return nil
}

// template reads a set of templates: number, count, then the fields; in IPFIX those of vendors have the high bit set, and
// the vendor's number behind.
func (r *Reader) template(from netip.Addr, domain uint32, b []byte, vendors bool) {
	for len(b) >= 4 {
		id, count := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		b = b[4:]
		if id < firstRecords || count > maxFields {
			return
		}
		fields := make([]field, 0, count)
		for range count {
			if len(b) < 4 {
				return
			}
			f := field{binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])}
			b = b[4:]
			if vendors && f.element&0x8000 != 0 {
				if len(b) < 4 {
					return
				}
				f.element, b = 0, b[4:]
			}
			fields = append(fields, f)
		}
		k := templateKey{from, domain, id}
		if _, have := r.templates[k]; have || len(r.templates) < maxTemplates {
			r.templates[k] = fields
		}
	}
}

// records reads a set of records; what is left at its end fills it up.
func (r *Reader) records(fields []field, b []byte, c clock, line int) {
	for len(b) > 0 {
		rec, bytes, sampled := fragment.Record{First: c.now, Last: c.now}, uint64(0), uint64(1)
		begin := len(b)
		for _, f := range fields {
			value, rest, ok := take(b, f.length)
			if !ok {
				return
			}
			b = rest
			n := whole(value)
			switch f.element {
			case octets:
				bytes = n
			case protocol:
				rec.Protocol = uint8(n)
			case typeOfService:
				rec.DSCP = uint8(n) >> 2
			case sourcePort:
				rec.SrcPort = uint16(n)
			case destPort:
				rec.DstPort = uint16(n)
			case sourceIPv4, sourceIPv6:
				setAddress(&rec.Src, value)
			case destIPv4, destIPv6:
				setAddress(&rec.Dst, value)
			case interval:
				sampled = max(n, 1)
			case firstMillis:
				rec.First = millis(n)
			case lastMillis:
				rec.Last = millis(n)
			case firstUptime:
				rec.First = c.at(n)
			case lastUptime:
				rec.Last = c.at(n)
			}
		}
		if len(b) == begin {
			return // a template without fields
		}
		r.record(rec, bytes, sampled, line)
	}
}

// take takes one value off; one of variable length has it in front (RFC 7011, section 7).
func take(b []byte, length uint16) (value, rest []byte, ok bool) {
	n := int(length)
	if length == variable {
		if len(b) < 1 {
			return nil, nil, false
		}
		n, b = int(b[0]), b[1:]
		if n == 255 {
			if len(b) < 2 {
				return nil, nil, false
			}
			n, b = int(binary.BigEndian.Uint16(b)), b[2:]
		}
	}
	if n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// whole is a number of up to eight bytes; exporters may send fewer than an element has.
func whole(b []byte) (n uint64) {
	if len(b) > 8 {
		return 0
	}
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// setAddress sets an address; a record that has both kinds leaves the other one zero.
func setAddress(to *netip.Addr, b []byte) {
	if a, ok := netip.AddrFromSlice(b); ok && !a.IsUnspecified() {
		*to = a.Unmap()
	}
}

// millis is a time in nanoseconds; what no clock shows is taken for none.
func millis(n uint64) int64 {
	if n > 1<<42 { // the year 2109
		return 0
	}
	return int64(n) * 1e6
}

// at is the time of an uptime.
func (c clock) at(uptime uint64) int64 {
	if uptime > 1<<32 {
		return c.now
	}
	return c.now - (c.uptime-int64(uptime))*1e6
}
