// Package netflow owns reading flow records that switches and routers export: NetFlow version 5 (Cisco), version 9 (RFC
// 3954) and IPFIX (RFC 7011). They become flows, scaled where the record itself tells by how much it was sampled.
//
// Read netflow.go (version 5, what a datagram is) and templates.go (version 9 and IPFIX).
package netflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Ports of UDP that exporters send to: NetFlow has none of its own, and these are what collectors listen on by default;
// 4739 is IPFIX's (IANA).
var ports = map[uint16]bool{2055: true, 9995: true, 9996: true, 4739: true}

// maxScaled is what one record may stand for, an exabyte in 2^10. More is damage, and would overflow.
const maxScaled = 1 << 50

// Reader reads the datagrams of one input.
type Reader struct {
	f         *fragment.Fragment
	flows     fragment.Flows
	templates map[templateKey][]field
	first     int64
	begun     bool

	Datagrams int // that were read
	Untold    int // sets of records whose template was not seen
}

// New makes a reader of one input.
func New(f *fragment.Fragment) *Reader {
	return &Reader{f: f, templates: map[templateKey][]field{}}
}

// ErrNotFlows says that bytes are no datagram of flow records.
var ErrNotFlows = errors.New("netflow: no datagram of version 5, 9 or 10")

// Port tells whether flow records are sent to a port.
func Port(port uint16) bool { return ports[port] }

// Datagram reads one datagram of an exporter; line is the number of its frame. Nothing of a datagram that is damaged counts.
func (r *Reader) Datagram(from netip.Addr, b []byte, line int) error {
	if len(b) < 4 {
		return ErrNotFlows
	}
	var err error
	switch binary.BigEndian.Uint16(b) {
	case 5:
		err = r.five(b, line)
	case 9:
		err = r.nine(from, b, line)
	case 10:
		err = r.ipfix(from, b, line)
	default:
		return ErrNotFlows
	}
	if err == nil {
		r.Datagrams++
	}
	return err
}

// Lengths of version 5 (Cisco, NetFlow Services Solutions Guide, tables B-3 and B-4).
const (
	fiveHead   = 24
	fiveRecord = 48
	fiveMost   = 30
)

func (r *Reader) five(b []byte, line int) error {
	count := int(binary.BigEndian.Uint16(b[2:]))
	if count == 0 || count > fiveMost || len(b) != fiveHead+count*fiveRecord {
		return ErrNotFlows
	}
	uptime := int64(binary.BigEndian.Uint32(b[4:]))
	now := int64(binary.BigEndian.Uint32(b[8:]))*1e9 + int64(binary.BigEndian.Uint32(b[12:]))
	sampled := max(uint64(binary.BigEndian.Uint16(b[22:])&0x3fff), 1) // one of so many packets
	for i := range count {
		rec := b[fiveHead+i*fiveRecord:]
		at := func(offset int) int64 { // times are milliseconds since the exporter started
			return now - (uptime-int64(binary.BigEndian.Uint32(rec[offset:])))*1e6
		}
		r.record(fragment.Record{
			Src: netip.AddrFrom4([4]byte(rec[0:4])), Dst: netip.AddrFrom4([4]byte(rec[4:8])), Protocol: rec[38], DSCP: rec[39] >> 2,
			SrcPort: binary.BigEndian.Uint16(rec[32:]), DstPort: binary.BigEndian.Uint16(rec[34:]), First: at(24), Last: at(28),
		}, uint64(binary.BigEndian.Uint32(rec[20:])), sampled, line)
	}
	return nil
}

// record adds one flow of so many bytes, each standing for so many.
func (r *Reader) record(rec fragment.Record, bytes, sampled uint64, line int) {
	if !rec.Src.IsValid() || !rec.Dst.IsValid() || bytes == 0 {
		return
	}
	if bytes > maxScaled/sampled {
		bytes, sampled = maxScaled, 1
	}
	rec.Bytes = units.Bytes(bytes * sampled)
	if !r.begun || rec.First < r.first {
		r.first, r.begun = rec.First, true
	}
	r.flows.AddRecord(rec, line)
}

// Finish adds the flows to the inventory.
func (r *Reader) Finish() {
	past := r.flows.Past
	r.flows.Finish(r.f, r.first)
	if past > 0 || r.Untold > 0 {
		r.f.Inv.Unreadable = append(r.f.Inv.Unreadable, evidence.Unreadable{From: evidence.Source{File: r.f.File},
			Why: fmt.Sprintf("flow records: %d sets came without their template, which exporters repeat every few minutes; %d records were of flows past the limit of %d", r.Untold, past, fragment.MaxFlows)})
	}
}
