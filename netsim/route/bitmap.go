package route

// Penalties of the Ultra Ethernet reference model: how many times an entropy value is passed over.
const (
	penaltyMark    = 1  // its packet was marked
	penaltyTrim    = 4  // its packet was trimmed or asked for again
	penaltyTimeout = 15 // its packet was lost without a word
	penaltyMost    = 15
)

// Fate is what a sender learned of a packet.
type Fate uint8

// What can happen to a packet.
const (
	Delivered Fate = iota
	Marked
	Missing // trimmed, or reported missing
	TimedOut
)

var penalty = [...]uint8{Delivered: 0, Marked: penaltyMark, Missing: penaltyTrim, TimedOut: penaltyTimeout}

// Penalties walks over the entropy values in turn and passes over those that did badly (the bitmap of the Ultra Ethernet reference model; STrack,
// arXiv 2407.15266, has the same idea). The counts lie outside: one for each entropy value.
type Penalties struct {
	walk Evenly
}

// Even is the entropy value of the next packet when none has penalties.
func (b *Penalties) Even(n uint32, s *Stream) EV { return b.walk.Next(n, s) }

// Next is the entropy value of the next packet. An entropy value with a penalty is passed over and forgiven a little, but only the first on the way, and
// after a whole round of them the last is taken.
func (b *Penalties) Next(counts []uint8, s *Stream) EV {
	n := uint32(len(counts))
	ev := b.walk.Next(n, s)
	for i := uint32(0); counts[ev] > 0 && i < n; i++ {
		if i == 0 {
			counts[ev]--
		}
		ev = b.walk.Next(n, s)
	}
	return ev
}

// Heard is what happened to a packet with entropy value ev.
func (b *Penalties) Heard(counts []uint8, ev EV, f Fate) {
	counts[ev] = min(counts[ev]+penalty[f], penaltyMost)
}
