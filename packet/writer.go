package packet

import (
	"encoding/binary"
	"io"

	"github.com/shunt-network/shunt/units"
)

// Format is a format of captures.
type Format uint8

// Formats that NewWriter writes.
const (
	PCAP   Format = iota // with nanoseconds
	PCAPNG               // with nanoseconds, and the speed of the link where it is known
)

// Writer writes a capture of one interface.
type Writer struct {
	w      io.Writer
	format Format
	buf    []byte
}

// NewWriter writes the head of a capture. A speed of 0 is not written.
func NewWriter(w io.Writer, format Format, link Link, speed units.Rate) (*Writer, error) {
	c := &Writer{w: w, format: format}
	le := binary.LittleEndian
	var b []byte
	if format == PCAP {
		b = le.AppendUint32(b, magicNano)
		b = le.AppendUint16(b, 2) // version 2.4
		b = le.AppendUint16(b, 4)
		b = append(b, make([]byte, 8)...)
		b = le.AppendUint32(b, MaxRecord)
		b = le.AppendUint32(b, uint32(link))
	} else {
		var section []byte
		section = le.AppendUint32(section, magicOrder)
		section = le.AppendUint32(section, 1)          // version 1.0
		section = le.AppendUint64(section, ^uint64(0)) // length not told
		b = appendBlock(b, magicSection, section)
		var body []byte
		body = le.AppendUint16(body, uint16(link))
		body = le.AppendUint16(body, 0)
		body = le.AppendUint32(body, MaxRecord)
		body = appendOption(body, optionResolution, []byte{9})
		if speed > 0 {
			body = appendOption(body, optionSpeed, le.AppendUint64(nil, uint64(speed)))
		}
		body = appendOption(body, optionEnd, nil)
		b = appendBlock(b, blockInterface, body)
	}
	_, err := w.Write(b)
	return c, err
}

func appendBlock(b []byte, kind uint32, body []byte) []byte {
	total := uint32(len(body) + 12)
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, total)
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, total)
}

func appendOption(b []byte, code uint16, v []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(v)))
	b = append(b, v...)
	return append(b, make([]byte, -len(v)&3)...)
}

// Write adds a frame that was seen that many nanoseconds after 1970 and had length bytes on the wire. A time before
// 1970 or beyond 2106 does not fit pcap.
func (c *Writer) Write(ns int64, data []byte, length int) error {
	le := binary.LittleEndian
	b := c.buf[:0]
	if c.format == PCAP {
		b = le.AppendUint32(b, uint32(ns/1e9))
		b = le.AppendUint32(b, uint32(ns%1e9))
		b = le.AppendUint32(b, uint32(len(data)))
		b = le.AppendUint32(b, uint32(length))
		b = append(b, data...)
	} else {
		pad := -len(data) & 3
		total := uint32(len(data) + pad + 32)
		b = le.AppendUint32(b, blockEnhanced)
		b = le.AppendUint32(b, total)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, uint32(uint64(ns)>>32))
		b = le.AppendUint32(b, uint32(ns))
		b = le.AppendUint32(b, uint32(len(data)))
		b = le.AppendUint32(b, uint32(length))
		b = append(append(b, data...), make([]byte, pad)...)
		b = le.AppendUint32(b, total)
	}
	c.buf = b
	_, err := c.w.Write(b)
	return err
}
