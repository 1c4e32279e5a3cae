package pcap

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// maxPausing limits the addresses and priorities whose pauses are told apart. A capture of one link has two addresses.
const maxPausing = 1 << 12

// slowest is the speed pauses are counted at where the capture does not tell it: the slowest Ethernet that data center
// bridging is built for. A quantum is then 51.2 ns, and what is held is held at most that long.
const slowest = 10 * units.Gbps

type pauseKey struct {
	sender   packet.MAC
	priority int
}

// pausing is the pauses of one address in one priority.
type pausing struct {
	out          evidence.Pauses
	since, until int64 // the hold that runs, in nanoseconds
	holding      bool
	held, most   int64
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
	speed := rec.Speed
	if speed < units.Gbps || !rec.Timed {
		speed, p.out.Exact = slowest, false
	}
	if p.holding && (quanta == 0 || rec.Time > p.until) {
		p.release(min(rec.Time, p.until))
	}
	if quanta == 0 {
		p.out.Resumes++
		return
	}
	c.count(&p.out.Frames, rec.Number)
	p.out.Quanta += uint64(quanta)
	if !p.holding {
		p.since, p.holding = rec.Time, true
	}
	p.until = rec.Time + int64(units.Serialize(units.Bytes(quanta)*packet.QuantumBits/8, speed))/1000
}

func (p *pausing) release(at int64) {
	p.held += max(at-p.since, 0)
	p.most = max(p.most, at-p.since)
	p.holding = false
}

func (p *pausing) finish() evidence.Pauses {
	if p.holding {
		p.release(p.until)
	}
	p.out.Held, p.out.Longest = picoseconds(p.held), picoseconds(p.most)
	return p.out
}
