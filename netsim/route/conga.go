package route

import "github.com/shunt-network/shunt/units"

// CONGAConfig is what can be set of CONGA.
type CONGAConfig struct {
	Gap    units.Duration `yaml:"gap" min:"1ns" example:"500us" doc:"idle time after which a flow may take another path"`
	Slots  int            `yaml:"slots" min:"1" max:"1048576" doc:"flowlet table of a leaf"`
	Period units.Duration `yaml:"period" min:"1ns" example:"50us" doc:"period of the rate estimator"`
	Decay  units.Fraction `yaml:"decay" doc:"share it forgets every period"`
	Age    units.Duration `yaml:"age" min:"1ns" example:"500us" doc:"a remote metric that was not renewed for this long counts as 0"`
}

// CONGADefaults are the constants of the ns-3 model of ConWeave, the flowlet gap included: the paper's 500 us belong to TCP at 10 Gbit/s.
func CONGADefaults(c CONGAConfig) CONGAConfig {
	c.Gap = or(c.Gap, 100*units.Microsecond)
	c.Slots = or(c.Slots, 16384)
	c.Period = or(c.Period, 50*units.Microsecond)
	c.Decay = or(c.Decay, 0.2)
	c.Age = or(c.Age, 500*units.Microsecond)
	return c
}

// CONGAParams are the constants in the form that the packet path needs.
type CONGAParams struct {
	period, decay, age int64
	horizon            float64 // seconds of line rate that a full estimator holds: period / decay
}

// NewCONGAParams prepares c.
func NewCONGAParams(c CONGAConfig) CONGAParams {
	return CONGAParams{
		period: int64(c.Period), decay: fixed(c.Decay), age: int64(c.Age),
		horizon: c.Period.Seconds() / float64(c.Decay),
	}
}

// Tag is what CONGA carries in a packet from leaf to leaf: the uplink it took and the worst utilisation on its way, and the same of an
// earlier packet the other way.
type Tag struct {
	leaf, way, back   uint16
	metric, feedback  uint8
	tagged, backValid bool
}

// Meet raises the tag's metric to that of a port the packet goes out through.
func (t *Tag) Meet(level uint8) { t.metric = max(t.metric, level) }

// CONGA is the congestion tables of all leaves: for every pair of leaves and uplink ("way") the metric of the path.
type CONGA struct {
	c            CONGAParams
	leaves, ways uint32
	to           []remote // what the other leaf told of the paths to it
	from         []remote // what arrived from it, to be told
	turn         []uint16 // which of them is told next
}

// remote is a metric and when it came: time<<3 | metric, 0 for none.
type remote uint64

// NewCONGA makes tables for leaves that have up to ways ports.
func NewCONGA(c CONGAParams, leaves, ways int) CONGA {
	pairs := leaves * leaves
	return CONGA{
		c: c, leaves: uint32(leaves), ways: uint32(ways),
		to: make([]remote, pairs*ways), from: make([]remote, pairs*ways), turn: make([]uint16, pairs),
	}
}

// Metric is what leaf knows of the path to another leaf through a way.
func (t *CONGA) Metric(leaf, other, way uint32, now units.Instant) uint8 {
	return t.value(t.to[(leaf*t.leaves+other)*t.ways+way], now)
}

func (t *CONGA) value(r remote, now units.Instant) uint8 {
	if r == 0 || now.PS()-int64(r>>3) > t.c.age {
		return 0
	}
	return uint8(r & (levels - 1))
}

// Depart tags a packet at its source leaf: its way, and the next metric that the other leaf should hear of.
func (t *CONGA) Depart(leaf, other, way uint32, now units.Instant) Tag {
	tag := Tag{leaf: uint16(leaf), way: uint16(way), tagged: true}
	pair := leaf*t.leaves + other
	from := t.from[pair*t.ways:][:t.ways]
	for range from {
		i := t.turn[pair]
		t.turn[pair] = uint16((uint32(i) + 1) % t.ways)
		if from[i] != 0 {
			tag.back, tag.feedback, tag.backValid = i, t.value(from[i], now), true
			break
		}
	}
	return tag
}

// Arrive reads the tag of a packet at its destination leaf.
func (t *CONGA) Arrive(leaf uint32, tag Tag, now units.Instant) {
	if !tag.tagged {
		return
	}
	pair := (leaf*t.leaves + uint32(tag.leaf)) * t.ways
	stamp := remote(now.PS()+1) << 3 // never 0
	t.from[pair+uint32(tag.way)] = stamp | remote(tag.metric)
	if tag.backValid {
		t.to[pair+uint32(tag.back)] = stamp | remote(tag.feedback)
	}
}
