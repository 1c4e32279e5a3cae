package xz

// model holds the probabilities of LZMA (lzma-specification.txt, "LZMA Decoder").
type model struct {
	lc          uint32 // bits of the byte before that choose the probabilities of a literal
	literalMask uint32
	posMask     uint32

	state uint32
	reps  [4]uint32 // the last distances, less one

	isMatch    [12][16]uint16
	isRep      [12]uint16
	isRep0     [12]uint16 // the names of the SDK: isRepG0, ...
	isRep1     [12]uint16
	isRep2     [12]uint16
	isRep0Long [12][16]uint16
	slots      [4][64]uint16
	special    [1 + 128 - 14]uint16
	align      [16]uint16
	matches    lengths
	repeats    lengths
	literals   [16][0x300]uint16 // LZMA2 allows lc + lp of 4
}

// lengths decodes how long a match is.
type lengths struct {
	choice, choice2 uint16
	low, mid        [16][8]uint16
	high            [256]uint16
}

// properties sets lc, lp and pb from their byte.
func (m *model) properties(b byte) bool {
	if b >= 9*5*5 {
		return false
	}
	lc, lp, pb := uint32(b%9), uint32(b/9%5), uint32(b/45)
	m.lc, m.literalMask, m.posMask = lc, 1<<lp-1, 1<<pb-1
	return lc+lp <= 4
}

// reset makes every bit as likely as its opposite.
func (m *model) reset() {
	const even = 1 << (probBits - 1)
	m.state, m.reps = 0, [4]uint32{}
	fill := func(probs []uint16) {
		for i := range probs {
			probs[i] = even
		}
	}
	for i := range m.isMatch {
		fill(m.isMatch[i][:])
		fill(m.isRep0Long[i][:])
	}
	for _, p := range []*[12]uint16{&m.isRep, &m.isRep0, &m.isRep1, &m.isRep2} {
		fill(p[:])
	}
	for i := range m.slots {
		fill(m.slots[i][:])
	}
	fill(m.special[:])
	fill(m.align[:])
	for _, l := range []*lengths{&m.matches, &m.repeats} {
		l.choice, l.choice2 = even, even
		for i := range l.low {
			fill(l.low[i][:])
			fill(l.mid[i][:])
		}
		fill(l.high[:])
	}
	for i := range m.literals {
		fill(m.literals[i][:])
	}
}

// match decodes what follows a set match bit: how many bytes come again, from reps[0] + 1 back.
func (m *model) match(r *coder, at uint32) (length int, err error) {
	after := func(early uint32) { // states 7 and up follow a match
		if m.state < 7 {
			m.state = early
		} else if early == 7 {
			m.state = 10
		} else {
			m.state = 11
		}
	}
	if r.bit(&m.isRep[m.state]) == 0 {
		m.reps = [4]uint32{0, m.reps[0], m.reps[1], m.reps[2]}
		after(7)
		length := m.matches.decode(r, at)
		m.reps[0] = m.distance(r, length)
		if m.reps[0] == 0xffffffff {
			return 0, damaged("an end marker within a chunk")
		}
		return int(length) + 2, nil
	}
	if r.bit(&m.isRep0[m.state]) == 0 {
		if r.bit(&m.isRep0Long[m.state][at]) == 0 {
			after(9)
			return 1, nil
		}
	} else {
		var d uint32
		if r.bit(&m.isRep1[m.state]) == 0 {
			d = m.reps[1]
		} else {
			if r.bit(&m.isRep2[m.state]) == 0 {
				d = m.reps[2]
			} else {
				d = m.reps[3]
				m.reps[3] = m.reps[2]
			}
			m.reps[2] = m.reps[1]
		}
		m.reps[1] = m.reps[0]
		m.reps[0] = d
	}
	after(8)
	return int(m.repeats.decode(r, at)) + 2, nil
}

// decode gives a length less two.
func (l *lengths) decode(r *coder, at uint32) uint32 {
	if r.bit(&l.choice) == 0 {
		return r.tree(l.low[at][:], 3)
	}
	if r.bit(&l.choice2) == 0 {
		return 8 + r.tree(l.mid[at][:], 3)
	}
	return 16 + r.tree(l.high[:], 8)
}

// distance decodes how far back a match of that length is, less one.
func (m *model) distance(r *coder, length uint32) uint32 {
	slot := r.tree(m.slots[min(length, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	low := slot>>1 - 1 // bits below the two that the slot gives
	d := (2 | slot&1) << low
	if slot < 14 {
		return d + r.reverse(m.special[d-slot:], low)
	}
	d += r.direct(low-4) << 4
	return d + r.reverse(m.align[:], 4)
}
