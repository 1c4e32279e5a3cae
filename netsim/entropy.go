package netsim

import (
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// Here the sender chooses the path: it gives each packet an entropy value, switches hash it, and what acknowledgements tell of the packets that had
// it decides which is used again. The rules are in netsim/route.

// entropies is the state of the schemes of the sender by QP; only those of the run's scheme are kept.
type entropies struct {
	count uint32
	reps  []route.REPS
	walks []route.Penalties // of oblivious too, which has none
	bad   []uint8           // count for each QP
	plb   []route.PLB

	repsConfig route.REPSConfig
	plbConfig  route.PLBConfig
}

func (n *Network) buildEntropies(c PathConfig) {
	n.entropies = entropies{count: uint32(c.Entropies), repsConfig: c.REPS, plbConfig: c.PLB}
}

// openEntropy makes the state of a new QP.
func (n *Network) openEntropy() {
	x := &n.entropies
	switch n.choice.scheme {
	case route.ByREPS:
		x.reps = append(x.reps, route.REPS{})
	case route.ByOblivious:
		x.walks = append(x.walks, route.Penalties{})
	case route.ByMixed:
		x.reps = append(x.reps, route.REPS{})
		x.openPenalties()
	case route.ByBitmap:
		x.openPenalties()
	case route.ByPLB:
		x.plb = append(x.plb, route.PLB{})
	}
}

func (x *entropies) openPenalties() {
	x.walks = append(x.walks, route.Penalties{})
	x.bad = append(x.bad, make([]uint8, x.count)...)
}

func (x *entropies) penalties(q uint32) []uint8 { return x.bad[q*x.count : (q+1)*x.count] }

// entropy is the entropy value of the next packet of a QP.
func (n *Network) entropy(q uint32, s *sender) route.EV {
	x := &n.entropies
	rng := &n.rngs[n.nics[s.src].port].Stream
	switch n.choice.scheme {
	case route.ByOblivious:
		return x.walks[q].Even(x.count, rng)
	case route.ByREPS:
		return x.reps[q].Next(x.count, units.At(n.now), rng)
	case route.ByBitmap:
		return x.walks[q].Next(x.penalties(q), rng)
	case route.ByMixed:
		if r := &x.reps[q]; r.Recycles() {
			return r.Next(x.count, units.At(n.now), rng)
		}
		return x.walks[q].Next(x.penalties(q), rng)
	case route.ByPLB:
		return x.plb[q].Next(x.count, s.nxt == s.una, &x.plbConfig, rng)
	}
	return route.EV(rng.Below(x.count))
}

// fateOf is what an acknowledgement tells of the packet that it answers. Only uec's NAK is about that packet itself; others name one that is missing, whose
// entropy value the sender has forgotten.
func fateOf(lost, isMarked bool) route.Fate {
	switch {
	case lost:
		return route.Missing
	case isMarked:
		return route.Marked
	}
	return route.Delivered
}

// entropyHeard is what became of a packet, known from an acknowledgement.
func (n *Network) entropyHeard(q uint32, s *sender, ev route.EV, f route.Fate) {
	x := &n.entropies
	switch n.choice.scheme {
	case route.ByREPS:
		x.reps[q].Heard(ev, f != route.Delivered)
	case route.ByBitmap:
		x.walks[q].Heard(x.penalties(q), ev, f)
	case route.ByMixed:
		x.reps[q].Heard(ev, f != route.Delivered)
		x.walks[q].Heard(x.penalties(q), ev, f)
	case route.ByPLB:
		x.plb[q].Heard(f != route.Delivered, s.una, s.nxt, x.count, &x.plbConfig, &n.rngs[n.nics[s.src].port].Stream)
	}
}

// entropyTimedOut is a retransmission timeout: a path has lost packets without a word. Which one is not known.
func (n *Network) entropyTimedOut(q uint32, s *sender) {
	x := &n.entropies
	switch n.choice.scheme {
	case route.ByREPS, route.ByMixed:
		x.reps[q].TimedOut(units.At(n.now), &x.repsConfig)
	case route.ByPLB:
		x.plb[q].TimedOut(x.count, &n.rngs[n.nics[s.src].port].Stream)
	}
}
