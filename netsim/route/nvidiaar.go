package route

import "github.com/shunt-network/shunt/units"

// ARSelection is how a switch with NVIDIA's adaptive routing picks among equally good ports.
type ARSelection string

// Selections (ar.psm 0 and 1).
const (
	RandomPort ARSelection = "random"
	TurnPort   ARSelection = "round-robin"
)

// Choices lists the selections.
func (ARSelection) Choices() []string { return []string{string(RandomPort), string(TurnPort)} }

// NVIDIAARConfig is what can be set of NVIDIA's adaptive routing, as Cumulus Linux's ar_profile_custom.conf has it.
type NVIDIAARConfig struct {
	Cell        units.Bytes    `yaml:"cell" min:"1B" example:"192B" doc:"size of a buffer cell of the switch"`
	Low         int            `yaml:"low" min:"0" max:"16777215" doc:"cells queued from which a port is of the second grade (ar.ctl)"`
	Medium      int            `yaml:"medium" min:"0" max:"16777215" doc:"of the third grade (ar.ctm)"`
	High        int            `yaml:"high" min:"0" max:"16777215" doc:"of the fourth grade (ar.cth)"`
	Free        int            `yaml:"free" min:"0" max:"7" doc:"grades that count: those above are alike (ar.p.frt)"`
	Utilisation units.Fraction `yaml:"utilisation" doc:"utilisation above which a port is a grade worse; 0: not looked at (link-utilization-threshold)"`
	Select      ARSelection    `yaml:"select" doc:"among the best: random or round-robin (ar.psm)"`
	Small       units.Bytes    `yaml:"small" doc:"packets below this size keep the path of their hash"`
}

// NVIDIAARDefaults are the sample profile of NVIDIA's documentation; packets under 100 bytes stay on the hash as in htsim's model. The cell
// size is uncertain: public drivers read it from the device.
func NVIDIAARDefaults(c NVIDIAARConfig) NVIDIAARConfig {
	c.Cell = or(c.Cell, 192)
	c.Low = or(c.Low, 500)
	c.Medium = or(c.Medium, 1000)
	c.High = or(c.High, 2500)
	c.Free = or(c.Free, 4)
	c.Select = or(c.Select, RandomPort)
	c.Small = or(c.Small, 100)
	return c
}

// Grades turns queues into grades and picks among the best (NVIDIA, Cumulus Linux user guide, "Adaptive Routing"): a switch sees its own queues
// alone, now, and nothing of what lies behind them.
type Grades struct {
	at    [3]int64 // thresholds in bytes
	free  int
	turn  bool
	next  []uint16 // by member of the table, the first of a set's is used: where the turn is
	best  []uint16
	grade int
}

// NewGrades prepares c.
func NewGrades(c NVIDIAARConfig) Grades {
	g := Grades{free: c.Free, turn: c.Select == TurnPort, best: make([]uint16, 0, 1<<countBits)}
	for i, cells := range [...]int{c.Low, c.Medium, c.High} {
		g.at[i] = int64(cells) * int64(c.Cell)
	}
	return g
}

// Begin forgets the ports of the packet before.
func (g *Grades) Begin() { g.best, g.grade = g.best[:0], len(g.at)+2 }

// Offer adds a port: what waits for it, and whether it is used beyond the threshold.
func (g *Grades) Offer(port uint32, queued int64, busy bool) {
	grade := 0
	for _, at := range g.at {
		if queued >= at {
			grade++
		}
	}
	if busy {
		grade++
	}
	grade = min(grade, g.free)
	if grade < g.grade {
		g.grade = grade
		g.best = g.best[:0]
	}
	if grade == g.grade {
		g.best = append(g.best, uint16(port))
	}
}

// Pick is one of the best of the n ports of the set that begins at member first.
func (g *Grades) Pick(first, n uint32, s *Stream) uint32 {
	if !g.turn {
		return uint32(g.best[s.Below(uint32(len(g.best)))])
	}
	if need := int(first + n); need > len(g.next) {
		g.next = append(g.next, make([]uint16, need-len(g.next))...)
	}
	from := g.next[first]
	pick := g.best[0]
	for _, p := range g.best { // the first at or after the turn
		if p >= from {
			pick = p
			break
		}
	}
	g.next[first] = uint16((uint32(pick) + 1) % n)
	return uint32(pick)
}
