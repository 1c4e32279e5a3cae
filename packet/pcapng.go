package packet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// Blocks of pcapng that are read; all others are passed over (draft-ietf-opsawg-pcapng section 4).
const (
	blockInterface  = 1
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6
)

// Options of blocks.
const (
	optionEnd        = 0
	optionResolution = 9 // if_tsresol
	optionSpeed      = 8 // if_speed
	optionOffset     = 14
	optionIfDrop     = 5 // isb_ifdrop
	optionOSDrop     = 7 // isb_osdrop
)

// captureInterface is an interface of a section.
type captureInterface struct {
	link   Link
	snap   uint32
	unit   uint8 // if_tsresol: a power of ten, or of two with the high bit set
	offset int64 // seconds
	speed  units.Rate
}

// nextBlock reads blocks until one holds a frame.
func (c *Reader) nextBlock() (Record, error) {
	for {
		head, err := c.r.Peek(8)
		if len(head) == 0 && err == io.EOF {
			return Record{}, io.EOF
		}
		if len(head) < 8 {
			return Record{}, fmt.Errorf("packet: block after frame %d: %w", c.number, cutOff(err))
		}
		if binary.LittleEndian.Uint32(head) == magicSection {
			if err := c.section(); err != nil {
				return Record{}, err
			}
		}
		kind, total := c.order.Uint32(head), c.order.Uint32(head[4:])
		if total < 12 || total%4 != 0 {
			return Record{}, fmt.Errorf("packet: block after frame %d: its length %d cannot be: the file is damaged", c.number, total)
		}
		switch kind {
		case blockInterface, blockSimple, blockStatistics, blockEnhanced:
		default:
			if _, err := io.CopyN(io.Discard, c.r, int64(total)); err != nil {
				return Record{}, fmt.Errorf("packet: block after frame %d: %w", c.number, cutOff(err))
			}
			continue
		}
		if total > maxBlock {
			return Record{}, fmt.Errorf("packet: block after frame %d: %d bytes are more than a frame can have: the file is damaged", c.number, total)
		}
		block, err := c.take(int(total))
		if err != nil {
			return Record{}, err
		}
		body := block[8 : total-4]
		switch kind {
		case blockInterface:
			err = c.described(body)
		case blockStatistics:
			c.statistics(body)
		case blockSimple:
			return c.simple(body)
		default:
			return c.enhanced(body)
		}
		if err != nil {
			return Record{}, err
		}
	}
}

// section begins a section: byte order and interfaces are its own. The block itself is then passed over as any other.
func (c *Reader) section() error {
	head, err := c.r.Peek(12)
	if err != nil {
		return fmt.Errorf("packet: section header: %w", cutOff(err))
	}
	switch uint32(magicOrder) {
	case binary.LittleEndian.Uint32(head[8:]):
		c.order = binary.LittleEndian
	case binary.BigEndian.Uint32(head[8:]):
		c.order = binary.BigEndian
	default:
		return fmt.Errorf("packet: section after frame %d has no byte order: the file is damaged", c.number)
	}
	c.interfaces = c.interfaces[:0]
	return nil
}

func (c *Reader) described(b []byte) error {
	if len(b) < 8 {
		return fmt.Errorf("packet: interface after frame %d: too short", c.number)
	}
	if len(c.interfaces) >= maxInterfaces {
		return fmt.Errorf("packet: more than %d interfaces", maxInterfaces)
	}
	i := captureInterface{link: Link(c.order.Uint16(b)), snap: c.order.Uint32(b[4:]), unit: 6}
	c.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == optionResolution && len(v) >= 1:
			i.unit = v[0]
		case code == optionOffset && len(v) >= 8:
			i.offset = int64(c.order.Uint64(v))
		case code == optionSpeed && len(v) >= 8:
			if s := c.order.Uint64(v); s < 1<<50 { // a petabit is no speed
				i.speed = units.Rate(s)
			}
		}
	})
	c.interfaces = append(c.interfaces, i)
	return nil
}

// options calls f for each option of a block.
func (c *Reader) options(b []byte, f func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := c.order.Uint16(b), int(c.order.Uint16(b[2:]))
		b = b[4:]
		if code == optionEnd || n > len(b) {
			return
		}
		f(code, b[:n])
		b = b[min(len(b), (n+3)&^3):]
	}
}

func (c *Reader) statistics(b []byte) {
	if len(b) < 12 {
		return
	}
	id := int(c.order.Uint32(b))
	if id >= len(c.interfaces) {
		return
	}
	total := uint64(0)
	c.options(b[12:], func(code uint16, v []byte) {
		if (code == optionIfDrop || code == optionOSDrop) && len(v) >= 8 {
			total += c.order.Uint64(v)
		}
	})
	c.dropped[id] = total // each block tells the total so far
}

func (c *Reader) enhanced(b []byte) (Record, error) {
	c.number++
	if len(b) < 20 {
		return Record{}, fmt.Errorf("packet: frame %d: too short", c.number)
	}
	id, kept := int(c.order.Uint32(b)), c.order.Uint32(b[12:])
	if id >= len(c.interfaces) {
		return Record{}, fmt.Errorf("packet: frame %d: its interface %d is not described", c.number, id)
	}
	if uint64(kept) > uint64(len(b)-20) {
		return Record{}, fmt.Errorf("packet: frame %d: longer than its block", c.number)
	}
	i := c.interfaces[id]
	ticks := uint64(c.order.Uint32(b[4:]))<<32 | uint64(c.order.Uint32(b[8:]))
	at, ok := i.time(ticks)
	data := b[20 : 20+kept]
	return Record{Number: c.number, Time: at, Timed: ok, Length: max(int(c.order.Uint32(b[16:])&0x7fffffff), len(data)), Data: data, Link: i.link, Speed: i.speed}, nil
}

// simple is a frame without time, of the first interface.
func (c *Reader) simple(b []byte) (Record, error) {
	c.number++
	if len(b) < 4 || len(c.interfaces) == 0 {
		return Record{}, fmt.Errorf("packet: frame %d: too short, or no interface is described", c.number)
	}
	i, length := c.interfaces[0], c.order.Uint32(b)
	kept := min(length, uint32(len(b)-4))
	if i.snap > 0 {
		kept = min(kept, i.snap)
	}
	return Record{Number: c.number, Length: int(length & 0x7fffffff), Data: b[4 : 4+kept], Link: i.link, Speed: i.speed}, nil
}

// time turns ticks into nanoseconds; ok is false where they do not fit.
func (i captureInterface) time(ticks uint64) (ns int64, ok bool) {
	perSecond := uint64(1)
	if n := i.unit & 0x7f; i.unit&0x80 != 0 {
		if n > 62 {
			return 0, false
		}
		perSecond <<= n
	} else {
		if n > 18 {
			return 0, false
		}
		for range n {
			perSecond *= 10
		}
	}
	seconds, rest := ticks/perSecond, ticks%perSecond
	if seconds > 1<<33 || i.offset < 0 || i.offset > 1<<33 { // the year 2242: nanoseconds still fit
		return 0, false
	}
	hi, lo := bits.Mul64(rest, 1e9)
	part, _ := bits.Div64(hi, lo, perSecond)
	if seconds+uint64(i.offset) > 1<<33 {
		return 0, false
	}
	return (int64(seconds)+i.offset)*1e9 + int64(part), true
}
