package astrasim

import (
	"encoding/binary"
	"errors"
	"math"
)

// errWire is a message that is not as protobuf's wire format has it.
var errWire = errors.New("the bytes are no protobuf message: cut, damaged, or of another format")

// Wire types of protobuf (protobuf.dev, "Encoding"). Groups (3, 4) are deprecated and not in Chakra's schema.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field is a field of a message: a number for varints and fixed widths, else bytes, which are part of the message.
type field struct {
	number int
	wire   int
	value  uint64
	bytes  []byte
}

// fields calls each with every field of a message.
func fields(message []byte, each func(f field) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return errWire
		}
		message = message[n:]
		f := field{number: int(tag >> 3), wire: int(tag & 7)}
		switch f.wire {
		case wireVarint:
			if f.value, n = binary.Uvarint(message); n <= 0 {
				return errWire
			}
		case wire64:
			if n = 8; len(message) < n {
				return errWire
			}
			f.value = binary.LittleEndian.Uint64(message)
		case wire32:
			if n = 4; len(message) < n {
				return errWire
			}
			f.value = uint64(binary.LittleEndian.Uint32(message))
		case wireBytes:
			size, k := binary.Uvarint(message)
			if k <= 0 || size > uint64(len(message)-k) {
				return errWire
			}
			n = k + int(size)
			f.bytes = message[k:n]
		default:
			return errWire
		}
		message = message[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// varints calls each with every value of a repeated field, which is packed or given one at a time.
func varints(f field, each func(v uint64)) error {
	if f.wire == wireVarint {
		each(f.value)
		return nil
	}
	for packed := f.bytes; len(packed) > 0; {
		v, n := binary.Uvarint(packed)
		if n <= 0 {
			return errWire
		}
		each(v)
		packed = packed[n:]
	}
	return nil
}
