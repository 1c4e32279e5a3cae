package route

import "github.com/shunt-network/shunt/units"

// PLBConfig is what can be set of PLB, under the names of the Linux kernel (net/ipv4/tcp_plb.c).
type PLBConfig struct {
	Threshold  units.Fraction `yaml:"threshold" doc:"share of marked acknowledgements that makes a round congested (tcp_plb_cong_thresh)"`
	Rounds     int            `yaml:"rounds" min:"1" max:"31" doc:"congested rounds in a row after which the path is changed (tcp_plb_rehash_rounds)"`
	IdleRounds int            `yaml:"idle_rounds" min:"1" max:"31" doc:"the same while nothing is in flight (tcp_plb_idle_rehash_rounds)"`
}

// PLBDefaults are the kernel's.
func PLBDefaults(c PLBConfig) PLBConfig {
	c.Threshold = or(c.Threshold, 0.5)
	c.Rounds = or(c.Rounds, 12)
	c.IdleRounds = or(c.IdleRounds, 3)
	return c
}

// PLB keeps a QP on one path until that has been congested for several round trips (Qureshi et al., PLB, SIGCOMM 2022): it reorders rarely and
// needs nothing of the receiver.
type PLB struct {
	ev          EV
	started     bool
	bad         uint8  // congested rounds in a row
	acks, marks uint32 // of the round under way
	roundEnd    uint64 // the round is over when this sequence number is acknowledged
}

// Next is the entropy value of the next packet, below n. idle tells that nothing is in flight.
func (p *PLB) Next(n uint32, idle bool, c *PLBConfig, s *Stream) EV {
	if !p.started || idle && int(p.bad) >= c.IdleRounds {
		p.move(n, s)
	}
	return p.ev
}

func (p *PLB) move(n uint32, s *Stream) {
	p.ev, p.started, p.bad = EV(s.Below(n)), true, 0
}

// Heard is an acknowledgement: up to where, and what has been sent.
func (p *PLB) Heard(marked bool, acked, sent uint64, n uint32, c *PLBConfig, s *Stream) {
	if p.roundEnd == 0 {
		p.roundEnd = sent
	}
	p.acks++
	if marked {
		p.marks++
	}
	if acked < p.roundEnd {
		return
	}
	if int64(p.marks)<<shareBits >= int64(p.acks)*fixed(c.Threshold) {
		p.bad++
	} else {
		p.bad = 0
	}
	p.acks, p.marks, p.roundEnd = 0, 0, sent
	if int(p.bad) >= c.Rounds {
		p.move(n, s)
	}
}

// TimedOut is a retransmission timeout: the path may be dead.
func (p *PLB) TimedOut(n uint32, s *Stream) { p.move(n, s) }
