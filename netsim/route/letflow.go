package route

import "github.com/shunt-network/shunt/units"

// LetFlowConfig is what can be set of LetFlow.
type LetFlowConfig struct {
	Gap   units.Duration `yaml:"gap" min:"1ns" example:"100us" doc:"idle time after which a flow may take another path"`
	Slots int            `yaml:"slots" min:"1" max:"1048576" doc:"flowlet table of a switch; flows that share a slot share a path"`
}

// LetFlowDefaults fills in what c leaves unset: the gap of the ns-3 model of ConWeave; how many slots a switch has is uncertain.
func LetFlowDefaults(c LetFlowConfig) LetFlowConfig {
	c.Gap = or(c.Gap, 100*units.Microsecond)
	c.Slots = or(c.Slots, 16384)
	return c
}

// Flowlets is the flowlet table of one switch (Vanini et al., Let it Flow, NSDI 2017): packets of a flow keep a path while they
// follow each other within the gap. After a longer pause those in front have left the network, and another path cannot reorder.
type Flowlets struct {
	gap   int64
	slots []flowlet
}

type flowlet struct {
	last  int64  // when its last packet came
	ports uint16 // how many there were to choose from, 0 for none yet
	port  uint16 // which was chosen
}

// NewFlowlets makes an empty table.
func NewFlowlets(gap units.Duration, slots int) Flowlets {
	return Flowlets{gap: int64(gap), slots: make([]flowlet, slots)}
}

// Running tells which of n ports the flow's flowlet uses; ok is false when a new one begins and a port must be chosen.
func (t *Flowlets) Running(flow, n uint32, now units.Instant) (port uint32, ok bool) {
	s := t.slot(flow)
	ok = uint32(s.ports) == n && now.PS()-s.last <= t.gap
	s.last = now.PS()
	return uint32(s.port), ok
}

// Begin notes the port of a new flowlet.
func (t *Flowlets) Begin(flow, n, port uint32) {
	s := t.slot(flow)
	s.ports, s.port = uint16(n), uint16(port)
}

func (t *Flowlets) slot(flow uint32) *flowlet {
	return &t.slots[uint64(flow*0x9e3779b1)*uint64(len(t.slots))>>32] // Fibonacci hashing spreads hashes that differ in low bits
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
