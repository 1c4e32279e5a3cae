package route

import "github.com/shunt-network/shunt/units"

// REPSConfig is what can be set of REPS.
type REPSConfig struct {
	Freeze units.Duration `yaml:"freeze" min:"1ns" example:"100us" doc:"how long after a timeout only entropy values that worked are used"`
}

// REPSDefaults freezes for 100 us, some ten round trips of a 400 Gbit/s network. The Ultra Ethernet reference model has 10 ms, which outlasts
// most runs; the figure is ours.
func REPSDefaults(c REPSConfig) REPSConfig {
	c.Freeze = or(c.Freeze, 100*units.Microsecond)
	return c
}

// repsRing is how many entropy values a QP remembers (arXiv 2407.21625: 8, so that the state stays below 25 bytes).
const repsRing = 8

// repsExplore is how many packets explore after a freeze (Ultra Ethernet reference model).
const repsExplore = 16

// REPS recycles entropy values (Bonato et al., REPS: Recycled Entropy Packet Spraying, arXiv 2407.21625): an acknowledgement without congestion
// mark gives back the entropy value of its packet, which then carries one more; when none has come back the next is drawn at
// random. So packets drift to paths that deliver unmarked, without any state by path.
type REPS struct {
	ring    [repsRing]EV
	thawsAt int64
	held    uint8 // how many of the ring were ever filled
	head    uint8 // the next to be overwritten
	fresh   uint8
	read    uint8 // frozen: where the cycle is
	explore uint8
	frozen  bool
}

// Next is the entropy value of the next packet, below n.
func (r *REPS) Next(n uint32, now units.Instant, s *Stream) EV {
	if r.frozen && now.PS() >= r.thawsAt {
		*r = REPS{explore: repsExplore}
	}
	switch {
	case r.explore > 0:
		r.explore--
	case r.frozen && r.held > 0:
		ev := r.ring[r.read]
		r.read = (r.read + 1) % r.held
		return ev
	case r.fresh > 0:
		at := (r.head + repsRing - r.fresh) % repsRing // the oldest of the fresh ones
		r.fresh--
		return r.ring[at]
	}
	return EV(s.Below(n))
}

// Recycles tells whether an entropy value waits to be used again.
func (r *REPS) Recycles() bool { return r.explore == 0 && (r.fresh > 0 || r.frozen && r.held > 0) }

// Heard is an acknowledgement of a packet with entropy value ev.
func (r *REPS) Heard(ev EV, marked bool) {
	if marked {
		return
	}
	r.ring[r.head] = ev
	r.head = (r.head + 1) % repsRing
	r.fresh = min(r.fresh+1, repsRing)
	r.held = min(r.held+1, repsRing)
}

// TimedOut is a retransmission timeout: some path has failed, so for a while only what has worked is used.
func (r *REPS) TimedOut(now units.Instant, c *REPSConfig) {
	if r.frozen || r.explore > 0 {
		return
	}
	r.frozen, r.read = true, 0
	r.thawsAt = now.Add(c.Freeze).PS()
}
