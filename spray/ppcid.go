package spray

import (
	"errors"
	"fmt"
)

// A per-packet context id (PPCID, S0.4) goes with every packet, so that a receiver can put packets that took several paths
// back into order, and an observer can tell the paths. What article 000 does not say: the BTH already carries a sequence
// number of 24 bits, which no layout of sixteen comes near. The sequence bits of a PPCID add nothing for a receiver that
// reads the BTH; they serve one that may not look behind the UDP header. What a receiver needs in order to accept packets
// out of order is a place to put them, which is a property of the NIC and not of a mark.

// Errors of reading a PPCID.
var (
	// ErrAbsent is the id 0: the sender writes no id, as RoCEv2 has it. A layout without a version makes the id 0 itself now and
	// then (AbsentShare); such a packet loses its mark.
	ErrAbsent = errors.New("spray: no context id")
	// ErrLayout is an id of another version.
	ErrLayout = errors.New("spray: context id of another layout")
)

// Context is what a PPCID is made of, or what is left of it once it was read: then each value has only the bits that its
// layout gives it.
type Context struct {
	QP       uint32 // number of the queue pair at the destination; read: its hash
	Sequence uint32 // packet sequence number; read: its low bits
	Path     uint32
	Time     uint32 // ticks since the sender's last update of its link state (Ticks); read: their hash
	Epoch    uint32 // of the key
	Tag      uint32
}

// place is where a field is. The masks on the shifts spare the code for shifts past the end of a word.
type place struct {
	mask        uint16 // of the value; 0 for a field that is not there
	shift, bits uint8
}

func (p place) put(v uint32) uint16  { return uint16(v) & p.mask << (p.shift & 15) }
func (p place) get(id uint16) uint32 { return uint32(id >> (p.shift & 15) & p.mask) }

// Codec writes and reads the ids of one layout. It allocates nothing.
type Codec struct {
	layout  Layout
	version uint16
	at      [parts]place
}

// NewCodec makes the codec of a layout.
func NewCodec(l Layout) (Codec, error) {
	s := l.spec()
	if s == nil {
		return Codec{}, fmt.Errorf("spray: no layout %q; there are %v", l, l.Choices())
	}
	c, shift := Codec{layout: l, version: s.version}, ppcidBits
	for _, f := range s.fields {
		shift -= f.Bits
		c.at[f.Part] = place{1<<f.Bits - 1, uint8(shift), uint8(f.Bits)}
	}
	return c, nil
}

// Layout is the layout.
func (c *Codec) Layout() Layout { return c.layout }

// Encode makes the id of a packet. QP and time are hashed to their bits, the sequence number is cut to its low bits, and so is
// a path that the layout has no bits for: Layout.Paths tells beforehand.
func (c *Codec) Encode(x Context) uint16 {
	return c.at[PartVersion].put(uint32(c.version)) |
		c.at[PartQP].put(squeeze(x.QP, c.at[PartQP].bits)) |
		c.at[PartSequence].put(x.Sequence) |
		c.at[PartPath].put(x.Path) |
		c.at[PartTime].put(squeeze(x.Time, c.at[PartTime].bits)) |
		c.at[PartEpoch].put(x.Epoch) |
		c.at[PartTag].put(x.Tag)
}

// Decode reads an id. An id of another version is an error; where the layout has no version, it is read as if it were one of its
// own, and Misread tells what comes of that.
func (c *Codec) Decode(id uint16) (Context, error) {
	if id == 0 {
		return Context{}, ErrAbsent
	}
	if c.version != 0 && c.at[PartVersion].get(id) != uint32(c.version) {
		return Context{}, ErrLayout
	}
	return c.read(id), nil
}

func (c *Codec) read(id uint16) Context {
	return Context{
		QP:       c.at[PartQP].get(id),
		Sequence: c.at[PartSequence].get(id),
		Path:     c.at[PartPath].get(id),
		Time:     c.at[PartTime].get(id),
		Epoch:    c.at[PartEpoch].get(id),
		Tag:      c.at[PartTag].get(id),
	}
}

// Hashed is what Decode gives of a context that Encode was given: what a receiver that knows a QP's number compares with.
func (c *Codec) Hashed(x Context) Context {
	return c.read(c.Encode(x))
}

// squeeze hashes a value to a number of bits: Fibonacci hashing, whose multiplier is 2^32 divided by the golden ratio (Knuth, The
// Art of Computer Programming, volume 3, section 6.4). Numbers in a row come out far apart.
func squeeze(v uint32, bits uint8) uint32 {
	return uint32(uint64(v*2654435769) << (bits & 31) >> 32)
}

// Unwrap gives a packet its whole sequence number: the one next to a reference whose low bits these are. The reference is the
// oldest packet that is still missing. The answer is right as long as the packet is from no more than Layout.Window before it
// to less than that after it; beyond, it is wrong without a sign.
func (c *Codec) Unwrap(low, reference uint32) uint32 {
	const psn = 24 // bits of a packet sequence number (InfiniBand section 9.2)
	n := c.at[PartSequence].bits
	if n == 0 {
		return reference
	}
	d := int32((low-reference)<<(32-n)) >> (32 - n)
	return (reference + uint32(d)) & (1<<psn - 1)
}

// AbsentShare is the share of a layout's ids that are 0 and cannot be told from no id, all ids being as likely.
func (l Layout) AbsentShare() float64 {
	if s := l.spec(); s == nil || s.version != 0 || l == LayoutKeyed { // epochs of keys are never 0
		return 0
	}
	return 1.0 / (1 << ppcidBits)
}

// Reading is what a receiver of one layout makes of the ids of another.
type Reading struct {
	Writer   Layout  `json:"writer"`
	Reader   Layout  `json:"reader"`
	Rejected float64 `json:"rejected"` // share of the ids that the reader does not accept
	// Wrong lists the parts that the reader takes from other bits than the writer put them into, in the reader's order.
	Wrong []Part `json:"wrong"`
	// Right lists the parts that both have in the same bits.
	Right []Part `json:"right"`
}

// Silent tells whether wrong values are taken for good: some ids are accepted, and not all of their parts are right.
func (r *Reading) Silent() bool { return r.Rejected < 1 && len(r.Wrong) > 0 }

// Misread compares a writer's layout with a reader's. The rejected share is counted over all ids that the writer can
// make; for a reader that verifies tags it is what is to be expected.
func Misread(writer, reader Layout) (Reading, error) {
	w, err := NewCodec(writer)
	if err != nil {
		return Reading{}, err
	}
	r, err := NewCodec(reader)
	if err != nil {
		return Reading{}, err
	}
	result := Reading{Writer: writer, Reader: reader, Wrong: []Part{}, Right: []Part{}}
	made, rejected := 0, 0
	for id := range 1 << ppcidBits {
		if w.version != 0 && w.at[PartVersion].get(uint16(id)) != uint32(w.version) || writer == LayoutKeyed && w.at[PartEpoch].get(uint16(id)) == 0 {
			continue // the writer never makes it
		}
		made++
		if r.version != 0 && r.at[PartVersion].get(uint16(id)) != uint32(r.version) || reader == LayoutKeyed && r.at[PartEpoch].get(uint16(id)) == 0 {
			rejected++
		}
	}
	result.Rejected = float64(rejected) / float64(made)
	if reader == LayoutKeyed && writer != reader { // what another layout puts there is a right tag by chance alone
		result.Rejected = 1 - (1-result.Rejected)/float64(uint(1)<<r.at[PartTag].bits)
	}
	for _, f := range reader.Fields() {
		if w.at[f.Part] == r.at[f.Part] && (f.Part != PartVersion || w.version == r.version) {
			result.Right = append(result.Right, f.Part)
		} else {
			result.Wrong = append(result.Wrong, f.Part)
		}
	}
	return result, nil
}
