package nccl

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// qp reads the parameters of a queue pair (transport/net_ib.cc, printed with NCCL_DEBUG_SUBSYS=NET):
//
//	NET/IB: Dev 0 Port 1 qpn 58 mtu 3 GID 3 (0/A10B0A0AFFFF0000)                        up to 2.18
//	NET/IB: IbDev 0 Port 1 qpn 58 mtu 3 query_ece={supported=1, ...} GID 3 (0/A1..)     2.19 on
//	NET/IB: NCCL Dev 0 IbDev 0 Port 1 qp_num 58 mtu 5 LID 12 ...                        InfiniBand
//
// Only the first of each host, device and set of parameters is kept: a job has thousands that differ in number.
func (l *Log) qp(m *message, rest []byte) {
	tail, ok := after(rest, " mtu ")
	if !ok {
		return
	}
	head := rest[:len(rest)-len(tail)]
	enum, tail, ok := number(tail)
	if !ok || enum < 1 || enum > 5 {
		return
	}
	q := evidence.QPSetup{Host: m.name, Device: -1, MTU: 128 << enum, GIDIndex: -1, From: m.at} // ibv_mtu: 1 is 256 bytes, 5 is 4096
	if dev, ok := numberAfter(head, "IbDev "); ok {
		q.Device = dev
	} else if dev, ok := numberAfter(head, "Dev "); ok {
		q.Device = dev
	}
	var options []byte
	if ece, ok := after(tail, "query_ece={supported="); ok {
		l.bounds.atLeast(2, 19, 0)
		q.ECE = len(ece) > 0 && ece[0] == '1'
		tail = ece
		options = before(before(mustAfter(ece, "options="), ","), "}")
	}
	if g, ok := after(tail, " GID "); ok {
		q.GIDIndex, g, _ = number(g)
		if pair, ok := after(g, "("); ok {
			q.GID = gidWords(before(pair, ")"))
		}
	} else if lid, ok := numberAfter(tail, " LID "); ok {
		q.LID = lid
	}
	l.scratch = parameters(l.scratch[:0], &q)
	l.scratch = append(l.scratch, options...)
	if !l.first(familyQP, m.name, l.scratch) {
		return
	}
	q.ECEOptions = string(options)
	// IbDev counts ports before NCCL merges them, so the list tells its name only where nothing was merged.
	if d := l.devices[m.name]; q.Device >= 0 && q.Device < len(d) && !merged(d) {
		q.Name = d[q.Device].Device
	}
	l.inv.NCCL.QPs = append(l.inv.NCCL.QPs, q)
}

func merged(devices []evidence.DeviceUse) bool {
	return slices.ContainsFunc(devices, func(d evidence.DeviceUse) bool { return strings.Contains(d.Device, "+") })
}

// parameters appends what tells a queue pair from those set up otherwise.
func parameters(b []byte, q *evidence.QPSetup) []byte {
	for _, v := range [...]int{q.Device, q.MTU, q.GIDIndex, q.LID} {
		b = binary.AppendVarint(b, int64(v))
	}
	if q.ECE {
		b = append(b, 'e')
	}
	if q.GID.IsValid() {
		g := q.GID.As16()
		b = append(b, g[:]...)
	}
	return b
}

// gidWords decodes "subnet/interface" as NCCL prints them: two 64-bit words in the byte order of the machine, so
// that on the little-endian machines NCCL runs on A10B0A0AFFFF0000 is the bytes 00 00 ff ff 0a 0a 0b a1.
func gidWords(pair []byte) netip.Addr {
	high, low, ok := bytes.Cut(pair, []byte("/"))
	if !ok {
		return netip.Addr{}
	}
	var g [16]byte
	if !word(g[:8], high) || !word(g[8:], low) {
		return netip.Addr{}
	}
	return netip.AddrFrom16(g)
}

func word(to, digits []byte) bool {
	if len(digits) == 0 || len(digits) > 16 {
		return false
	}
	var padded [16]byte
	n := copy(padded[:], "0000000000000000"[:16-len(digits)])
	copy(padded[n:], digits)
	var b [8]byte
	if _, err := hex.Decode(b[:], padded[:]); err != nil {
		return false
	}
	binary.LittleEndian.PutUint64(to, binary.BigEndian.Uint64(b[:]))
	return true
}
