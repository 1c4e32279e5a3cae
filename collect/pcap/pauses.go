package pcap

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// maxPausing limits the addresses and priorities whose pauses are told apart. A capture of one link has two addresses.
const maxPausing = 1 << 12

// slowest and fastest are the speeds pauses are counted at where the capture does not tell it: the slowest Ethernet that
// RDMA is built for, with quanta of 51.2 ns, and the fastest that is standardised (IEEE 802.3dj), with 0.32 ns.
const (
	slowest = 10 * units.Gbps
	fastest = 1600 * units.Gbps
)

type pauseKey struct {
	sender   packet.MAC
	priority int
}

// pausing is the pauses of one address in one priority, counted at the speed of the link, or at the slowest and the
// fastest it may have.
type pausing struct {
	out         evidence.Pauses
	most, least hold
}

func (c *capture) pause(f *packet.Frame, rec packet.Record) {
	if f.Pause.Global() {
		c.paused(pauseKey{f.Ethernet.Src(), -1}, f.Pause.Quanta(), rec)
		return
	}
	for i := range evidence.Priorities {
		if q, ok := f.Pause.Priority(i); ok {
			c.paused(pauseKey{f.Ethernet.Src(), i}, q, rec)
		}
	}
}

func (c *capture) paused(k pauseKey, quanta uint16, rec packet.Record) {
	p := c.pauses[k]
	if p == nil {
		if len(c.held) >= maxPausing {
			c.out.Past++
			return
		}
		m := k.sender
		p = &pausing{out: evidence.Pauses{Sender: fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]), Priority: k.priority, Exact: true}}
		c.pauses[k] = p
		c.held = append(c.held, p)
	}
	most, least := rec.Speed, rec.Speed
	if rec.Speed < units.Gbps || !rec.Timed {
		most, least, p.out.Exact = slowest, fastest, false
	}
	p.most.see(rec.Time, quanta, most)
	p.least.see(rec.Time, quanta, least)
	if quanta == 0 {
		p.out.Resumes++
		return
	}
	c.count(&p.out.Frames, rec.Number)
	p.out.Quanta += uint64(quanta)
}

func (p *pausing) finish() evidence.Pauses {
	p.most.release(p.most.until)
	p.least.release(p.least.until)
	p.out.Held, p.out.Longest = picoseconds(p.most.sum), picoseconds(p.most.longest)
	p.out.HeldLeast, p.out.LongestLeast = picoseconds(p.least.sum), picoseconds(p.least.longest)
	return p.out
}

// hold adds up the time a link is held, in nanoseconds.
type hold struct {
	on           bool
	since, until int64
	sum, longest int64
}

// see takes a pause: one that comes before the last has run out goes on with it, and one of no quanta lets go.
func (h *hold) see(at int64, quanta uint16, speed units.Rate) {
	if quanta == 0 || at > h.until {
		h.release(min(at, h.until))
	}
	if quanta == 0 {
		return
	}
	if !h.on {
		h.since, h.on = at, true
	}
	h.until = at + int64(units.Serialize(units.Bytes(quanta)*packet.QuantumBits/8, speed))/1000
}

func (h *hold) release(at int64) {
	if h.on {
		h.sum += max(at-h.since, 0)
		h.longest = max(h.longest, at-h.since)
		h.on = false
	}
}
