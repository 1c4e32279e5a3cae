package route

// DRILLConfig is what can be set of DRILL.
type DRILLConfig struct {
	Choices int `yaml:"choices" min:"1" max:"16" doc:"ports drawn at random for each packet"`
	Memory  int `yaml:"memory" min:"1" max:"16" doc:"best ports of earlier packets that compete with them"`
}

// DRILLDefaults are those of the paper: two choices, one remembered.
func DRILLDefaults(c DRILLConfig) DRILLConfig {
	c.Choices = or(c.Choices, 2)
	c.Memory = or(c.Memory, 1)
	return c
}

// DRILL is the memory of all switches (Ghorbani et al., DRILL, SIGCOMM 2017): for each packet, of a few ports drawn at random and the best of
// the last time, the one with the shortest queue. More than a few choices make switches herd to the same port.
type DRILL struct {
	c      DRILLConfig
	memory []uint16 // Memory for each member of the table; the first of a set's are used
	scored []scored
}

type scored struct {
	port uint16
	load int64
}

// NewDRILL starts with port 0 of each set remembered.
func NewDRILL(c DRILLConfig) DRILL { return DRILL{c: c, scored: make([]scored, 0, 32)} }

// Candidates draws the ports to compare among the n of the set that begins at member first, into a buffer of the caller.
func (d *DRILL) Candidates(first, n uint32, s *Stream, into []uint32) []uint32 {
	m := uint32(d.c.Memory)
	if need := int((first + n) * m); need > len(d.memory) {
		d.memory = append(d.memory, make([]uint16, need-len(d.memory))...)
	}
	into = into[:0]
	for _, p := range d.memory[first*m : first*m+m] {
		if uint32(p) < n {
			into = append(into, uint32(p))
		}
	}
	for range d.c.Choices {
		into = append(into, s.Below(n))
	}
	return into
}

// Remember keeps the best of the candidates, whose loads are in the same order, and returns the best of all. Of equals the first wins, so
// a remembered port stays.
func (d *DRILL) Remember(first uint32, candidates []uint32, loads []int64) uint32 {
	d.scored = d.scored[:0]
	for i, c := range candidates {
		at := len(d.scored)
		known := false
		for _, s := range d.scored {
			known = known || uint32(s.port) == c
		}
		if known {
			continue
		}
		d.scored = append(d.scored, scored{})
		for at > 0 && d.scored[at-1].load > loads[i] {
			d.scored[at] = d.scored[at-1]
			at--
		}
		d.scored[at] = scored{uint16(c), loads[i]}
	}
	m := d.memory[first*uint32(d.c.Memory):][:d.c.Memory]
	for i := range m {
		m[i] = d.scored[min(i, len(d.scored)-1)].port
	}
	return uint32(d.scored[0].port)
}
