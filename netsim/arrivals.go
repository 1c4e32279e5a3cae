package netsim

// ring is a set of sequence numbers that lie within reach of each other: one bit for each, at its number modulo the reach. Its
// bitmap is there only while the set holds something, so that an undisturbed QP has none.
type ring struct {
	words []uint64
	n     int
}

func (r *ring) has(seq uint64) bool {
	return r.n > 0 && r.words[seq/64&uint64(len(r.words)-1)]>>(seq%64)&1 != 0
}

// put adds a number that the set does not hold.
func (n *Network) put(r *ring, seq uint64) {
	if r.words == nil {
		r.words = n.bitmap()
	}
	r.words[seq/64&uint64(len(r.words)-1)] |= 1 << (seq % 64)
	r.n++
}

// cut removes a number that the set holds.
func (n *Network) cut(r *ring, seq uint64) {
	r.words[seq/64&uint64(len(r.words)-1)] &^= 1 << (seq % 64)
	if r.n--; r.n == 0 {
		n.bitmaps = append(n.bitmaps, r.words)
		r.words = nil
	}
}

// word is the membership of the 64 numbers from seq on.
func (r *ring) word(seq uint64) uint64 {
	if r.n == 0 {
		return 0
	}
	mask := uint64(len(r.words) - 1)
	low := r.words[seq/64&mask] >> (seq % 64)
	if seq%64 == 0 {
		return low
	}
	return low | r.words[(seq/64+1)&mask]<<(64-seq%64)
}

// bitmap returns an empty bitmap, one given back if there is one.
func (n *Network) bitmap() []uint64 {
	if l := len(n.bitmaps); l > 0 {
		b := n.bitmaps[l-1]
		n.bitmaps = n.bitmaps[:l-1]
		return b
	}
	return make([]uint64, n.reach/64)
}

// arrivals is what a receiver knows of packets beyond the expected one. A go-back-N receiver has none of them, and only remembers how far they went.
type arrivals struct {
	held  ring
	top   uint64 // after the newest that came out of order; the expected one may have passed it
	asked uint64 // place: gaps before it were asked for
}

// What a packet is to such a receiver.
type arrival uint8

const (
	inOrder   arrival = iota // the expected one
	ahead                    // beyond a gap
	duplicate                // it was there
	tooFar                   // beyond what the state of the receiver can hold
)

// arrived takes the packet seq, which is d after the expected one, into what receiver q at endpoint ep has.
func (n *Network) arrived(ep, q uint32, seq uint64, d int64) arrival {
	r, a := &n.rcv[q], &n.held[q]
	switch {
	case d < 0 || d > 0 && d < n.reach && a.held.has(seq):
		return duplicate
	case d >= n.reach:
		return tooFar
	case d > 0:
		n.put(&a.held, seq)
		n.reordering[ep].hold(seq + 1 - r.epsn)
		return ahead
	}
	r.epsn++
	if a.held.n == 0 {
		return inOrder
	}
	before := a.held.n
	for a.held.has(r.epsn) {
		n.cut(&a.held, r.epsn)
		r.epsn++
	}
	n.reordering[ep].held -= before - a.held.n
	return inOrder
}
