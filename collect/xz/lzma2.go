package xz

import (
	"fmt"
	"io"
)

// MaxWindow is how far back a file may refer. xz -9, its largest preset, has 64 MiB (xz(1), --lzma2=dict). A file that
// asks for more is read as long as it does not use it.
const MaxWindow = 64 << 20

// slack is how much more than the window is held before it is moved to the front: the more, the less often.
const slack = 8 << 20

var errWindow = fmt.Errorf("an xz file that refers back by more than %d MiB: unpack it first", MaxWindow>>20)

// lzma2 unpacks the chunks of a block. The format is described in the comments of xz-embedded's xz_dec_lzma2.c and in
// lzma-specification.txt of the LZMA SDK.
type lzma2 struct {
	window []byte // the end of what was unpacked since the last reset
	taken  int    // how much of it was handed out
	total  uint64 // bytes since the last reset: its low bits choose probabilities

	needDict, needProps, needState bool // what the next chunk has to bring

	model  model
	packed [1 << 16]byte
}

// begin forgets the block before.
func (l *lzma2) begin() {
	l.reset()
	l.needDict, l.needProps, l.needState = true, true, true
}

// reset empties the window. What was not handed out was, before the next chunk is asked for.
func (l *lzma2) reset() { l.window, l.taken, l.total = l.window[:0], 0, 0 }

// take hands out what was unpacked.
func (l *lzma2) take(p []byte) int {
	n := copy(p, l.window[l.taken:])
	l.taken += n
	return n
}

// chunk unpacks one chunk; false at the end of the block.
func (l *lzma2) chunk(in *counted) (more bool, err error) {
	control, err := in.ReadByte()
	if err != nil {
		return false, cut(err)
	}
	if control == 0 {
		return false, nil
	}
	const dictReset, plain, packed = 1, 2, 0x80
	if control > plain && control < packed {
		return false, damaged("unknown kind of chunk")
	}
	if control == dictReset || control >= packed+3<<5 {
		l.reset()
		l.needDict, l.needProps = false, true
	} else if l.needDict {
		return false, damaged("the first chunk does not begin anew")
	}
	var head [5]byte
	if control <= plain {
		if err := in.full(head[:2]); err != nil {
			return false, err
		}
		size := int(head[0])<<8 + int(head[1]) + 1
		l.move(size)
		at := len(l.window)
		l.window = append(l.window, l.packed[:size]...) // makes room
		l.total += uint64(size)
		n, err := in.fill(l.window[at:])
		l.window = l.window[:at+n]
		return true, err
	}
	if err := in.full(head[:4]); err != nil {
		return false, err
	}
	size := int(control&0x1f)<<16 + int(head[0])<<8 + int(head[1]) + 1
	compressed := int(head[2])<<8 + int(head[3]) + 1
	switch reset := control >> 5 & 3; {
	case reset >= 2:
		props, err := in.ReadByte()
		if err != nil {
			return false, cut(err)
		}
		if !l.model.properties(props) {
			return false, damaged("properties of LZMA")
		}
		l.needProps = false
		fallthrough
	case reset == 1:
		l.model.reset()
		l.needState = false
	}
	if l.needProps || l.needState {
		return false, damaged("a chunk rests on one that is not there")
	}
	n, err := in.fill(l.packed[:compressed])
	l.move(size)
	if bad := l.unpack(l.packed[:n], size); err == nil {
		err = bad
	}
	return true, err
}

// move makes room for more bytes, by dropping what is too old to be referred to.
func (l *lzma2) move(more int) {
	if len(l.window)+more <= MaxWindow+slack {
		return
	}
	n := copy(l.window, l.window[len(l.window)-MaxWindow:])
	l.window, l.taken = l.window[:n], n
}

// unpack decodes one chunk of LZMA. Of one that is cut off it decodes what is there.
func (l *lzma2) unpack(packed []byte, size int) error {
	r, err := newCoder(packed)
	if err != nil {
		return err
	}
	m := &l.model
	end := len(l.window) + size
	for before := len(l.window); before < end; before = len(l.window) {
		at := uint32(l.total) & m.posMask
		if r.bit(&m.isMatch[m.state][at]) == 0 {
			l.literal(&r)
			if r.over {
				l.window = l.window[:before]
				return io.ErrUnexpectedEOF
			}
			continue
		}
		length, err := m.match(&r, at)
		switch {
		case r.over:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case length > end-len(l.window):
			return damaged("a match is longer than its chunk")
		case uint64(m.reps[0]) >= l.total:
			return damaged("a match refers to what is not there")
		case m.reps[0] >= MaxWindow:
			return errWindow
		}
		l.again(int(m.reps[0])+1, length)
	}
	return r.end()
}

// literal decodes one byte.
func (l *lzma2) literal(r *coder) {
	m := &l.model
	var before byte
	if n := len(l.window); n > 0 {
		before = l.window[n-1]
	}
	probs := m.literals[(uint32(l.total)&m.literalMask)<<m.lc+uint32(before)>>(8-m.lc)][:]
	symbol := uint32(1)
	if m.state >= 7 && int(m.reps[0]) < len(l.window) { // behind a match: the byte is another than the match's next
		matched := uint32(l.window[len(l.window)-1-int(m.reps[0])])
		offset := uint32(0x100)
		for symbol < 0x100 {
			matched <<= 1
			bit := matched & offset
			if r.bit(&probs[offset+bit+symbol]) != 0 {
				symbol = symbol<<1 | 1
				offset &= bit
			} else {
				symbol <<= 1
				offset &^= bit
			}
		}
	} else {
		for symbol < 0x100 {
			symbol = symbol<<1 | r.bit(&probs[symbol])
		}
	}
	l.window = append(l.window, byte(symbol))
	l.total++
	switch {
	case m.state < 4:
		m.state = 0
	case m.state < 10:
		m.state -= 3
	default:
		m.state -= 6
	}
}

// again appends length bytes from distance back; the two may overlap.
func (l *lzma2) again(distance, length int) {
	l.total += uint64(length)
	for length > 0 {
		from := len(l.window) - distance
		n := min(length, distance)
		l.window = append(l.window, l.window[from:from+n]...)
		length -= n
	}
}

// coder is the range decoder, over one chunk.
type coder struct {
	in         []byte
	width, low uint32
	over       bool // more was read than is there
}

func newCoder(in []byte) (coder, error) {
	if len(in) < 5 || in[0] != 0 {
		return coder{}, damaged("start of a chunk")
	}
	low := uint32(in[1])<<24 | uint32(in[2])<<16 | uint32(in[3])<<8 | uint32(in[4])
	return coder{in: in[5:], width: 0xffffffff, low: low}, nil
}

func (r *coder) normalize() {
	if r.width < 1<<24 {
		r.more()
	}
}

func (r *coder) more() {
	var b byte
	if len(r.in) > 0 {
		b, r.in = r.in[0], r.in[1:]
	} else {
		r.over = true
	}
	r.width, r.low = r.width<<8, r.low<<8|uint32(b)
}

// Probabilities have 11 bits and move by a 32nd part (lzma-specification.txt, "The bit decoding").
const (
	probBits = 11
	moveBits = 5
)

// bit decodes one bit with its probability.
func (r *coder) bit(p *uint16) uint32 {
	r.normalize()
	v := uint32(*p)
	bound := r.width >> probBits * v
	if r.low < bound {
		r.width = bound
		*p = uint16(v + (1<<probBits-v)>>moveBits)
		return 0
	}
	r.width -= bound
	r.low -= bound
	*p = uint16(v - v>>moveBits)
	return 1
}

// direct decodes bits that have no probability.
func (r *coder) direct(n uint32) (v uint32) {
	for range n {
		r.normalize()
		r.width >>= 1
		v <<= 1
		if r.low >= r.width {
			r.low -= r.width
			v |= 1
		}
	}
	return v
}

// tree decodes n bits, the highest first.
func (r *coder) tree(probs []uint16, n uint32) uint32 {
	symbol := uint32(1)
	for range n {
		symbol = symbol<<1 | r.bit(&probs[symbol])
	}
	return symbol - 1<<n
}

// reverse decodes n bits, the lowest first.
func (r *coder) reverse(probs []uint16, n uint32) (v uint32) {
	symbol := uint32(1)
	for i := range n {
		bit := r.bit(&probs[symbol])
		symbol = symbol<<1 | bit
		v |= bit << i
	}
	return v
}

// end tells whether the chunk held as much as was decoded.
func (r *coder) end() error {
	r.normalize()
	if r.over || len(r.in) != 0 || r.low != 0 {
		return damaged("a chunk is longer or shorter than it says")
	}
	return nil
}
