package scenario

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
)

// MaxLog limits the entries of a log: at a hundred bytes each a kept run stays within what an editor opens.
const MaxLog = 1 << 20

// Log is what happened at single moments of a run. What can be counted is a series; this is for what needs its moment.
type Log struct {
	Entries []Entry
	Dropped uint64 // entries beyond MaxLog
}

// Entry is one thing that happened.
type Entry struct {
	At       units.Instant
	Kind     string // "pause", "resume", "drop", "link-down", "link-up", "storm", "storm-over", "retry-exceeded"
	Object   string // the port
	Peer     string // retry-exceeded: the port at the other end of the QP
	Priority int8   // pause, resume, storm, storm-over: the class; else -1
	Why      string // drop: the reason
}

func (l *Log) add(e Entry) {
	if len(l.Entries) >= MaxLog {
		l.Dropped++
		return
	}
	l.Entries = append(l.Entries, e)
}

// watch fills the fields of a probe.
func (l *Log) watch(f *fabric.Fabric, p *netsim.Probe) {
	names := make([]string, len(f.Ports))
	for i := range names {
		names[i] = f.PortName(fabric.PortID(i))
	}
	p.Pause = func(port fabric.PortID, priority uint8, on bool, at units.Instant) {
		kind := "resume"
		if on {
			kind = "pause"
		}
		l.add(Entry{At: at, Kind: kind, Object: names[port], Priority: int8(priority)})
	}
	p.Drop = func(port fabric.PortID, why netsim.DropReason, at units.Instant) {
		l.add(Entry{At: at, Kind: "drop", Object: names[port], Priority: -1, Why: why.String()})
	}
	p.Link = func(port fabric.PortID, up bool, at units.Instant) {
		kind := "link-down"
		if up {
			kind = "link-up"
		}
		l.add(Entry{At: at, Kind: kind, Object: names[port], Priority: -1})
	}
	p.Storm = func(port fabric.PortID, priority uint8, begins bool, at units.Instant) {
		kind := "storm-over"
		if begins {
			kind = "storm"
		}
		l.add(Entry{At: at, Kind: kind, Object: names[port], Priority: int8(priority)})
	}
	p.RetryExceeded = func(src, dst fabric.PortID, at units.Instant) {
		l.add(Entry{At: at, Kind: "retry-exceeded", Object: names[src], Peer: names[dst], Priority: -1})
	}
}
