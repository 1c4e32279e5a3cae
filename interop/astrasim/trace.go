package astrasim

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/source"
)

// Types of node in a trace (NodeType in et_def.proto).
const (
	nodeInvalid  = 0
	nodeMetadata = 1
	nodeLoad     = 2
	nodeStore    = 3
	nodeCompute  = 4
	nodeSend     = 5
	nodeRecv     = 6
	nodeCall     = 7
)

// traceNode is a node of a trace with the attributes that matter here.
type traceNode struct {
	id, kind, micros      uint64
	deps                  []uint64
	offset                int64  // of the node in its file
	comm, size            uint64 // comm_type, comm_size
	src, dst, tag         uint64
	priority              uint64
	operations, tensor    uint64 // num_ops, tensor_size
	group                 string // pg_name
	dims                  []bool // involved_dim
	cpu, hasSrc, hasGroup bool
}

// Trace is the execution trace of one rank.
type Trace struct {
	Rank    int
	Version string
	Report  *source.Report

	nodes []traceNode
}

// maxMessage bounds a node. Those of real traces are some hundred bytes, more where they list tensors.
const maxMessage = 64 << 20

// ReadTrace reads the trace of a rank: protobuf messages with their lengths in front, metadata first and then nodes. The
// trace is nil when the error, a spec.Problems, is not; its problems tell the byte instead of line and column.
func ReadTrace(file string, in io.Reader, rank int) (*Trace, error) {
	t := &Trace{Rank: rank, Report: &source.Report{File: file}}
	r := traceReader{in: bufio.NewReaderSize(in, 64<<10), t: t}
	for first := true; ; first = false {
		message, offset, ok := r.message()
		if !ok {
			break
		}
		if err := r.take(message, offset, first); err != nil {
			r.wrong(offset, "%v", err)
			break
		}
		if len(t.nodes) > dataflow.MaxNodes {
			r.wrong(offset, "the trace has more than the %d nodes that can be run", dataflow.MaxNodes)
			break
		}
	}
	if t.Report.OK() && len(t.nodes) == 0 {
		r.wrong(r.at, "the trace has no node; a Chakra trace is metadata and then nodes")
	}
	if err := t.Report.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

type traceReader struct {
	in  *bufio.Reader
	t   *Trace
	at  int64
	buf []byte
}

func (r *traceReader) wrong(offset int64, format string, args ...any) {
	r.t.Report.Wrong(source.Place{}, "byte %d: %s", offset, fmt.Sprintf(format, args...))
}

// ReadByte lets binary.ReadUvarint count what it reads.
func (r *traceReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.at++
	}
	return b, err
}

// message reads the next message. It is valid until the next one is read.
func (r *traceReader) message() (message []byte, offset int64, ok bool) {
	begin := r.at
	size, err := binary.ReadUvarint(r)
	switch {
	case errors.Is(err, io.EOF) && r.at == begin:
		return nil, 0, false
	case err != nil:
		r.wrong(begin, "the file ends, or is damaged, where the length of a message should stand")
		return nil, 0, false
	case size > maxMessage:
		r.wrong(begin, "a message of %d bytes; none has more than %d: this is no Chakra trace", size, maxMessage)
		return nil, 0, false
	}
	r.buf = r.buf[:0]
	for len(r.buf) < int(size) { // a length can claim anything
		n := min(int(size)-len(r.buf), 1<<20)
		r.buf = append(r.buf, make([]byte, n)...)
		if _, err := io.ReadFull(r.in, r.buf[len(r.buf)-n:]); err != nil {
			r.wrong(begin, "the file ends within a message of %d bytes; it was cut", size)
			return nil, 0, false
		}
	}
	r.at += int64(size)
	return r.buf, begin, true
}

// take reads a message: the metadata first, then nodes.
func (r *traceReader) take(message []byte, offset int64, first bool) error {
	if first {
		return fields(message, func(f field) error {
			if f.number == 1 {
				if f.wire != wireBytes {
					return errors.New("the file does not begin with the metadata of a Chakra trace")
				}
				r.t.Version = string(f.bytes)
			}
			return nil
		})
	}
	n := traceNode{offset: offset}
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			n.id = f.value
		case 3:
			n.kind = f.value
		case 4, 5: // ctrl_deps, data_deps
			return varints(f, func(v uint64) { n.deps = append(n.deps, v) })
		case 7:
			n.micros = f.value
		case 10:
			return n.attribute(f.bytes)
		}
		return nil
	})
	r.t.nodes = append(r.t.nodes, n)
	return err
}

// attribute reads an AttributeProto: a name, and a value in the field of its type.
func (n *traceNode) attribute(message []byte) error {
	name, value, text := "", uint64(0), ""
	var flags []bool
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2: // doc_string
		case 3: // double
			value = whole(math.Float64frombits(f.value))
		case 5: // float
			value = whole(float64(math.Float32frombits(uint32(f.value))))
		case 7, 9, 11, 13, 19, 21, 23, 25, 27: // int32, int64, uint32, uint64, the fixed ones, bool
			value = f.value
		case 15, 17: // sint32, sint64: zigzag
			value = uint64(int64(f.value>>1) ^ -int64(f.value&1))
		case 28: // BoolList
			return fields(f.bytes, func(f field) error {
				if f.number == 1 {
					return varints(f, func(v uint64) { flags = append(flags, v != 0) })
				}
				return nil
			})
		case 29:
			text = string(f.bytes)
		}
		return nil
	})
	switch name {
	case "is_cpu_op":
		n.cpu = value != 0
	case "comm_type":
		n.comm = value
	case "comm_size":
		n.size = value
	case "comm_src":
		n.src, n.hasSrc = value, true
	case "comm_dst":
		n.dst = value
	case "comm_tag":
		n.tag = value
	case "comm_priority":
		n.priority = value
	case "num_ops":
		n.operations = value
	case "tensor_size":
		n.tensor = value
	case "pg_name":
		n.group, n.hasGroup = text, text != ""
	case "involved_dim":
		n.dims = flags
	}
	return err
}

// whole is a number without its fraction; out of range, or none, is 0.
func whole(v float64) uint64 {
	if !(v >= 0 && v < 1<<63) {
		return 0
	}
	return uint64(v)
}
