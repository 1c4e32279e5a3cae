package goal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Magic begins a binary schedule, as 64 bits in the byte order of the machine that made it (MAGIC_COOKIE in Parser.hpp).
const Magic = 4223

// Types of operation in a binary schedule (OPTYPE_ in Parser.hpp).
const (
	opSend = 1
	opRecv = 2
	opCalc = 3
)

// binaryReader reads a binary schedule from front to back:
//
//	magic u64, ranks u32, largest processor u8, largest NIC u8
//	for each rank: begin u64, end u64, counted from behind the magic
//	for each rank: nodes u32, roots u32, the roots u32 each,
//	  for each node: dependencies u32, type u8, peer u32, size u64, tag u32, processor u8, NIC u8,
//	                 dependants u32, their place u32, dependants on the start u32, their place u32
//	  all dependants u32 each
type binaryReader struct {
	in   *bufio.Reader
	s    *Schedule
	at   int64 // bytes read
	buf  [nodeBytes]byte
	fail bool
}

// nodeBytes is the size of a node, without padding.
const nodeBytes = 39

// ReadBinary reads a schedule in txt2bin's form, little-endian. The schedule is nil when the error, a spec.Problems, is not;
// its problems tell the byte instead of line and column.
func ReadBinary(file string, in io.Reader) (*Schedule, error) {
	b := binaryReader{in: bufio.NewReaderSize(in, 64<<10), s: &Schedule{Report: &source.Report{File: file}}}
	b.read()
	if err := b.s.Report.Err(); err != nil {
		return nil, err
	}
	return b.s, nil
}

func (b *binaryReader) wrong(format string, args ...any) {
	if !b.fail {
		b.s.Report.Wrong(source.Place{}, "byte %d: %s", b.at, fmt.Sprintf(format, args...))
	}
	b.fail = true
}

// take reads the next n bytes, n <= nodeBytes.
func (b *binaryReader) take(n int, what string) []byte {
	if b.fail {
		return b.buf[:n]
	}
	if _, err := io.ReadFull(b.in, b.buf[:n]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			b.wrong("the file ends where %s should stand; it was cut, or written by another version of txt2bin", what)
		} else {
			b.wrong("cannot read on: %v", err)
		}
		clear(b.buf[:])
		return b.buf[:n]
	}
	b.at += int64(n)
	return b.buf[:n]
}

func (b *binaryReader) u32(what string) uint32 { return binary.LittleEndian.Uint32(b.take(4, what)) }
func (b *binaryReader) u64(what string) uint64 { return binary.LittleEndian.Uint64(b.take(8, what)) }

func (b *binaryReader) read() {
	switch magic := b.u64("the magic number"); {
	case b.fail:
		return
	case binary.BigEndian.Uint64(b.buf[:8]) == Magic:
		b.wrong("the schedule was made on a big-endian machine; make it again with txt2bin on this one")
		return
	case magic != Magic:
		b.wrong("the magic number is %d; a binary GOAL schedule begins with %d", magic, Magic)
		return
	}
	ranks := b.u32("the number of ranks")
	if !b.fail && (ranks == 0 || ranks > fabric.MaxHosts) {
		b.wrong("the schedule has %d ranks; there are 1 to %d", ranks, fabric.MaxHosts)
	}
	b.take(2, "the largest processor and NIC")
	if b.fail {
		return
	}
	b.s.Ranks = int(ranks)
	const behindMagic = 8
	var begins []int64
	for range ranks {
		begins = append(begins, int64(b.u64("the table of ranks")+behindMagic))
		b.u64("the table of ranks")
		if b.fail {
			return
		}
	}
	for rank, begin := range begins {
		if begin != b.at {
			b.wrong("rank %d begins at byte %d by the table; ranks follow each other without gaps", rank, begin)
		}
		if b.fail {
			return
		}
		b.rank(int32(rank))
	}
}

// span is the dependants of a node, in the list behind all nodes of the rank.
type span struct {
	node    int32
	at, len uint32
	start   bool
}

// rank reads a rank.
func (b *binaryReader) rank(rank int32) {
	nodes, roots := b.u32("the number of operations"), b.u32("the number of operations that wait for nothing")
	if !b.fail && len(b.s.Graph.Nodes)+int(nodes) > dataflow.MaxNodes {
		b.wrong("the schedule has more than the %d operations that can be run; simulate a shorter one", dataflow.MaxNodes)
	}
	if !b.fail && roots > nodes {
		b.wrong("rank %d has %d operations of which %d wait for nothing; the file is damaged", rank, nodes, roots)
	}
	for i := uint32(0); i < roots && !b.fail; i++ {
		b.u32("an operation that waits for nothing")
	}
	first := int32(len(b.s.Graph.Nodes))
	var spans []span
	total := uint32(0)
	add := func(node int32, n, at uint32, start bool) {
		if n == 0 || b.fail {
			return // txt2bin leaves the place undefined then
		}
		if at != total || n > math.MaxInt32-total {
			b.wrong("the dependants of operation %d of rank %d are at %d, and those before end at %d; the file is damaged", node-first, rank, at, total)
			return
		}
		total += n
		spans = append(spans, span{node, at, n, start})
	}
	for i := uint32(0); i < nodes && !b.fail; i++ {
		p := b.take(nodeBytes, "an operation")
		if b.fail {
			return
		}
		id := b.node(rank, p)
		le := binary.LittleEndian
		add(id, le.Uint32(p[23:]), le.Uint32(p[27:]), false)
		add(id, le.Uint32(p[31:]), le.Uint32(p[35:]), true)
	}
	for _, s := range spans {
		for i := uint32(0); i < s.len && !b.fail; i++ {
			to := b.u32("an operation that depends on another")
			switch {
			case b.fail:
			case to >= nodes:
				b.wrong("operation %d of rank %d depends on another, and the rank has %d; the file is damaged", to, rank, nodes)
			case s.start:
				b.s.Graph.WithStart(first+int32(to), s.node)
			default:
				b.s.Graph.After(first+int32(to), s.node)
			}
		}
	}
}

// node adds the operation in p.
func (b *binaryReader) node(rank int32, p []byte) int32 {
	le := binary.LittleEndian
	peer, size, tag, processor, nic := le.Uint32(p[5:]), le.Uint64(p[9:]), le.Uint32(p[17:]), p[21], p[22]
	n := dataflow.Node{Rank: rank, Peer: int32(peer), Tag: int64(tag), Channel: uint16(nic)}
	switch p[4] {
	case opSend:
		n.Kind, n.Bytes = dataflow.Send, units.Bytes(size)
	case opRecv:
		n.Kind, n.Bytes = dataflow.Recv, units.Bytes(size)
		if peer == math.MaxUint32 {
			n.Peer = dataflow.Any
		}
		if tag == math.MaxUint32 {
			n.Tag = dataflow.Any
		}
	case opCalc:
		n.Kind, n.Peer, n.Tag = dataflow.Compute, 0, 0
		n.Time = units.Duration(min(size, uint64(longest))) * units.Nanosecond
		if size > uint64(longest) {
			b.wrong("rank %d calculates for %d ns; at most %d can be run", rank, size, longest)
		}
	default:
		b.wrong("an operation of rank %d is of type %d; there are 1 (send), 2 (recv) and 3 (calc)", rank, p[4])
	}
	if n.Kind != dataflow.Compute && size > 1<<50 {
		b.wrong("rank %d sends or receives %d bytes; at most 2^50 can be", rank, size)
	}
	if !b.fail && n.Peer != dataflow.Any && (n.Peer < 0 || int(n.Peer) >= b.s.Ranks) {
		b.wrong("rank %d sends to or receives from rank %d; ranks are 0 to %d", rank, peer, b.s.Ranks-1)
	}
	if processor > 0 && b.s.processors == nil {
		b.s.processors = source.Place{}
	}
	id := b.s.Graph.Add(n)
	b.s.noteAny(id)
	return id
}
