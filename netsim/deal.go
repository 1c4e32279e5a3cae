package netsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// A GPU with a NIC on each of several planes deals its messages over them: in turn, or by weights that follow the state of its NICs (S0.14). The host
// reads each NIC's byte counter now and then. Where the interrupts of a NIC are handled by another CPU than the one that keeps the link
// state, its readings become known late, so that a decision may compare one NIC as it is with another as it was. Nothing here prefers
// a NIC: a split leans only where the state of the two differs.

// DealBy is how a host deals messages over its NICs.
type DealBy string

// Ways to deal.
const (
	DealInTurn      DealBy = "turn"       // the next message to the next NIC
	DealByLinkState DealBy = "link-state" // by weights that follow the load of the NICs
)

// Choices lists the ways to deal.
func (DealBy) Choices() []string { return []string{string(DealInTurn), string(DealByLinkState)} }

// DealConfig is how hosts with several NICs for a GPU use them.
type DealConfig struct {
	By        DealBy         `yaml:"by" doc:"how messages are dealt over the NICs of a GPU: in turn, or by the state of their links"`
	Refresh   units.Duration `yaml:"refresh" min:"1ns" example:"200ms" doc:"link-state: how often the host reads the load of its NICs"`
	Staleness units.Duration `yaml:"staleness" min:"0ns" example:"1ms" doc:"link-state: how late a reading of a late NIC becomes known"`
	Jitter    units.Duration `yaml:"jitter" min:"0ns" example:"200us" doc:"link-state: it may be later by up to this, by chance"`
	Late      []LateNIC      `yaml:"late" doc:"NICs whose interrupts another CPU handles than the one that keeps the link state"`
}

// LateNIC is a NIC port of a host.
type LateNIC struct {
	Host string `yaml:"host" required:"true" doc:"its host"`
	NIC  int    `yaml:"nic" min:"0" doc:"which of its NIC ports, from 0"`
}

// dealDefaults fills in what c leaves unset: the 200 ms of article 000.
func dealDefaults(c DealConfig) DealConfig {
	c.By = or(c.By, DealInTurn)
	c.Refresh = or(c.Refresh, 200*units.Millisecond)
	return c
}

// maxLateReadings bounds the readings of a NIC that are on their way.
const maxLateReadings = 1024

func (c DealConfig) validate(wrong func(bad bool, format string, args ...any)) {
	wrong(!slices.Contains(c.By.Choices(), string(c.By)), "nic deal by %q: must be one of %s", c.By, strings.Join(c.By.Choices(), ", "))
	wrong(c.Refresh < units.Nanosecond, "nic deal refresh %v: must be at least 1ns", c.Refresh)
	wrong(c.Staleness < 0 || c.Jitter < 0, "nic deal staleness, jitter: must not be negative")
	wrong(c.Refresh > 0 && (c.Staleness+c.Jitter)/c.Refresh >= maxLateReadings, "nic deal staleness, jitter: at most %d readings may be late at once", maxLateReadings)
}

// dealBuckets is the table that messages are dealt by; 64 as at switches.
const dealBuckets = 64

// dealing is the state of all hosts that deal by link state; nil nics mean that they deal in turn.
type dealing struct {
	c     DealConfig
	score spray.LinkStateConfig
	nics  []dealtNIC // by endpoint
	gpus  []dealtGPU
}

// dealtNIC is what a host knows of one of its NICs.
type dealtNIC struct {
	late   bool
	due    bool // a reading is scheduled
	sent   uint64
	readAt int64
	score  uint8 // of the newest reading that is known
	knows  int64 // when that was made
	oldest int64
	coming []lateReading
	dealt  uint64 // messages, or parts of them
}

// lateReading is a reading that is not known yet.
type lateReading struct {
	at, known int64
	score     uint8
}

// dealtGPU is the table of a GPU with several NICs.
type dealtGPU struct {
	table  *spray.Table
	turn   uint32
	scores []uint8
}

func (n *Network) buildDealing(c DealConfig) error {
	if c.By != DealByLinkState {
		return nil
	}
	x := &n.deal
	*x = dealing{c: c, score: spray.LinkStateConfig{Utilisation: 255}.Defaults(), nics: make([]dealtNIC, len(n.nics)), gpus: make([]dealtGPU, len(n.f.GPUs))}
	for i := range x.nics {
		x.nics[i].score = 255
	}
	for _, l := range c.Late {
		id, ok := n.f.NodeByName(l.Host)
		if !ok || n.f.Nodes[id].Role != fabric.Host || l.NIC < 0 || l.NIC >= n.f.Nodes[id].NumPorts {
			return fmt.Errorf("netsim: nic deal late: no NIC %d of a host %q", l.NIC, l.Host)
		}
		x.nics[n.f.Ports[n.f.Nodes[id].FirstPort+fabric.PortID(l.NIC)].Endpoint].late = true
	}
	return nil
}

// dealt is the NIC of a GPU, by its number among them, that takes the next message.
func (n *Network) dealt(g fabric.GPUID) int {
	x := &n.deal
	t := &x.gpus[g]
	ports := n.f.GPUs[g].NICs
	if t.table == nil {
		t.table, t.scores = spray.NewTable(dealBuckets, len(ports)), make([]uint8, len(ports))
	}
	for i, p := range ports {
		ep := uint32(n.f.Ports[p].Endpoint)
		n.learn(ep)
		t.scores[i] = x.nics[ep].score
		x.nics[ep].oldest = max(x.nics[ep].oldest, n.now-x.nics[ep].knows)
	}
	t.table.Reweigh(t.scores, spray.TableConfig{Buckets: dealBuckets, Curve: spray.CurveHeadroom, Hysteresis: 1, MaxStep: dealBuckets})
	i := t.table.Owner(int(t.turn * dealStride % dealBuckets))
	t.turn++
	x.nics[n.f.Ports[ports[i]].Endpoint].dealt++
	return i
}

// dealStride walks through the buckets so that neighbours, which may belong to one NIC, are far apart in time: it has no factor in common with their
// number, and is next to 64 over the golden ratio.
const dealStride = 39

// learn brings what a host knows of a NIC up to the present.
func (n *Network) learn(ep uint32) {
	x := &n.deal
	s := &x.nics[ep]
	rested := int64(-1)
	if !s.due { // the last reading found it at rest, and so would have those since
		period := int64(x.c.Refresh)
		delay := int64(0)
		if s.late {
			delay = int64(x.c.Staleness + x.c.Jitter)
		}
		if known := (n.now - delay) / period * period; known > s.readAt {
			rested = known
		}
		s.readAt = max(s.readAt, n.now/period*period)
		s.sent = n.sentBy(n.nics[ep].port) // acknowledgements alone
		n.scheduleNICReading(ep)
	}
	kept := s.coming[:0]
	for _, r := range s.coming {
		switch {
		case r.known > n.now:
			kept = append(kept, r)
		case r.at > s.knows:
			s.score, s.knows = r.score, r.at
		}
	}
	s.coming = kept
	if rested >= 0 {
		s.knows, s.score = max(s.knows, rested), x.score.Score(spray.Load{Down: n.ports[n.nics[ep].port].down})
	}
}

// heardOf takes a reading of what a NIC sent since the one before.
func (n *Network) heardOf(s *dealtNIC, ep uint32, at int64) {
	x := &n.deal
	p := &n.ports[n.nics[ep].port]
	sent := n.sentBy(n.nics[ep].port)
	full := mulDiv(int64(x.c.Refresh), int64(p.rate), 8*int64(units.Second))
	score := x.score.Score(spray.Load{Utilisation: float64(sent-s.sent) / float64(max(1, full)), Down: p.down})
	s.sent = sent
	if !s.late {
		s.score, s.knows = score, at
		return
	}
	known := at + int64(x.c.Staleness)
	if x.c.Jitter > 0 {
		known += int64(n.rngs[n.nics[ep].port].Uint64() % uint64(x.c.Jitter+1))
	}
	s.coming = append(s.coming, lateReading{at: at, known: known, score: score})
	if len(s.coming) > maxLateReadings {
		s.coming = s.coming[1:]
	}
}

func (n *Network) sentBy(pi uint32) (sent uint64) {
	for _, e := range n.egress[class(pi, 0):class(pi+1, 0)] {
		sent += e.txBytes
	}
	return sent
}

func (n *Network) scheduleNICReading(ep uint32) {
	x := &n.deal
	period := int64(x.c.Refresh)
	x.nics[ep].due = true
	n.queue.idle++
	n.queue.push(newEvent((n.now/period+1)*period, evReadNIC, ep))
}

// readNIC is evReadNIC: a host reads the load of one of its NICs, and goes on doing so while that sends.
func (n *Network) readNIC(ep uint32) {
	n.queue.idle--
	s := &n.deal.nics[ep]
	s.due = false
	before := s.sent
	n.heardOf(s, ep, n.now)
	s.readAt = n.now
	if s.sent != before {
		n.scheduleNICReading(ep)
	}
}

// DealState is what a host knows of one of its NICs, over which it deals messages by link state.
type DealState struct {
	Buckets     int   // of dealBuckets
	Score       uint8 // of the newest reading that is known
	Messages    uint64
	Age, Oldest units.Duration // of the state that the last decision rested on, at most
	Refresh     units.Duration
}

// DealBuckets is how many buckets the table of a GPU has.
const DealBuckets = dealBuckets

// Dealing tells what a GPU's host knows of its NICs, in the order of GPU.NICs; nil where it deals in turn, or has not dealt yet.
func (n *Network) Dealing(g fabric.GPUID) []DealState {
	x := &n.deal
	if x.nics == nil || x.gpus[g].table == nil {
		return nil
	}
	var out []DealState
	for i, p := range n.f.GPUs[g].NICs {
		s := &x.nics[n.f.Ports[p].Endpoint]
		out = append(out, DealState{
			Buckets: x.gpus[g].table.Buckets(i), Score: s.score, Messages: s.dealt, Refresh: x.c.Refresh,
			Age: units.Duration(min(n.now-s.knows, s.oldest)), Oldest: units.Duration(s.oldest),
		})
	}
	return out
}
