package spray

import (
	"math"
	"math/rand/v2"

	"github.com/shunt-network/shunt/units"
)

// LinkStateConfig says how loads become scores and how old they may get.
type LinkStateConfig struct {
	Refresh units.Duration `yaml:"refresh" min:"1ns" doc:"time between two readings of the ports (the articles have 200 ms)"`
	Jitter  units.Duration `yaml:"jitter" min:"0ns" doc:"most that a reading comes late; each is late by a time drawn evenly from zero to this"`
	// PauseFeedback makes a paused port count as dead at once, until its pause ends.
	PauseFeedback bool `yaml:"pause_feedback" doc:"tell the sprayer of PFC pauses at once instead of at the next reading"`

	Utilisation float64 `yaml:"utilisation_weight" min:"0" max:"255" doc:"score points that a fully utilised port loses"`
	Queue       float64 `yaml:"queue_weight" min:"0" max:"255" doc:"score points that a port with a full queue loses"`
	Errors      float64 `yaml:"errors_weight" min:"0" max:"255" doc:"score points that a port loses all of whose packets are broken"`
}

// Defaults fills in what is unset: the articles' refresh of 200 ms (S0.3), and scores by utilisation and queue alike. The
// weights are ours: the articles name the inputs of a score, not what they weigh.
func (c LinkStateConfig) Defaults() LinkStateConfig {
	if c.Refresh == 0 {
		c.Refresh = 200 * units.Millisecond
	}
	if c.Utilisation == 0 && c.Queue == 0 && c.Errors == 0 {
		c.Utilisation, c.Queue, c.Errors = 255, 255, 255
	}
	return c
}

// Load is what a reading of one port found, each a share from 0 to 1.
type Load struct {
	Utilisation float64 // of the time since the last reading that the port was sending, at its present rate
	Queue       float64 // of the queue length that counts as full
	Errors      float64 // of the error rate that counts as unusable
	Down        bool
}

// Worst is the load of a path over two links: a path is as good as its worst link. Tables with a view of whole paths combine the links of
// each with it.
func (l Load) Worst(m Load) Load {
	return Load{max(l.Utilisation, m.Utilisation), max(l.Queue, m.Queue), max(l.Errors, m.Errors), l.Down || m.Down}
}

// Score is the 8-bit health of a load: 255 less the weighted load. Only a port that is down scores 0; one that is merely full keeps 1, because 0
// means that nothing may be sent there.
func (c LinkStateConfig) Score(l Load) uint8 {
	if l.Down {
		return 0
	}
	// The conversions keep every machine at the same bits: without them a product may be added with one rounding instead of two.
	s := math.Round(255 - float64(c.Utilisation*share(l.Utilisation)) - float64(c.Queue*share(l.Queue)) - float64(c.Errors*share(l.Errors)))
	if !(s >= 1) { // weights that are no numbers as well
		return 1
	}
	return uint8(min(255, s))
}

// share keeps a reading within 0 and 1; what is no number counts as full.
func share(v float64) float64 {
	if !(v <= 1) {
		return 1
	}
	return max(v, 0)
}

// LinkState is the Link State Table: a score per port (or path), and when it was read.
type LinkState struct {
	config LinkStateConfig
	pcg    rand.PCG
	scores []uint8 // as the sprayer sees them
	read   []uint8 // as they were read
	paused []bool
	at     []units.Instant
	known  []bool
	turn   int64
}

// NewLinkState makes a table of ports that have not been read yet: they score 255 and have no age. seed and entity start its chance.
func NewLinkState(ports int, c LinkStateConfig, seed, entity uint64) *LinkState {
	l := &LinkState{
		config: c, scores: make([]uint8, ports), read: make([]uint8, ports), paused: make([]bool, ports),
		at: make([]units.Instant, ports), known: make([]bool, ports),
	}
	l.pcg.Seed(seed, entity)
	for p := range l.read {
		l.read[p], l.scores[p] = 255, 255
	}
	return l
}

// Next is when the ports are to be read next. Readings keep to multiples of the period, each late by its own jitter, and come in order.
func (l *LinkState) Next(now units.Instant) units.Instant {
	l.turn++
	at := units.At(l.turn * int64(l.config.Refresh))
	if l.config.Jitter > 0 {
		at = at.Add(units.Duration(l.pcg.Uint64() % uint64(l.config.Jitter+1)))
	}
	if !at.After(now) {
		at = now.Add(1)
	}
	return at
}

// Read takes a reading of one port that was made at a time, which is before now where the reading took long to arrive: from a switch further on,
// or through an interrupt on a processor that had other things to do (S0.14). A reading older than the one that is there is dropped.
func (l *LinkState) Read(port int, at units.Instant, load Load) {
	if l.known[port] && at.Before(l.at[port]) {
		return
	}
	l.read[port] = l.config.Score(load)
	l.at[port], l.known[port] = at, true
	l.publish(port)
}

// Pause tells that the far end of a port has paused or released it. Without pause feedback that is not looked at, and the next reading of a paused
// port may even find it idle, because it sends nothing: only its queue tells (S0.13).
func (l *LinkState) Pause(port int, paused bool) (changed bool) {
	if !l.config.PauseFeedback || l.paused[port] == paused {
		return false
	}
	l.paused[port] = paused
	l.publish(port)
	return true
}

func (l *LinkState) publish(port int) {
	l.scores[port] = l.read[port]
	if l.paused[port] {
		l.scores[port] = 0
	}
}

// Scores are the scores of all ports, for Table.Reweigh. The slice is shared: do not change it.
func (l *LinkState) Scores() []uint8 { return l.scores }

// Age is how old the score of a port is; ok is false when the port has never been read.
func (l *LinkState) Age(port int, now units.Instant) (age units.Duration, ok bool) {
	return now.Sub(l.at[port]), l.known[port]
}
