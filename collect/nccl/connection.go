package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/evidence"
)

// MaxConnections is how many connections are kept: 128 hosts of 8 GPUs with 64 channels, each end once, twice over. Those beyond are counted.
const MaxConnections = 1 << 18

// connectionKey tells the ends of connections apart that differ in more than the communicator.
type connectionKey struct {
	host                     string
	src, dst, channel, index int32
	send                     bool
}

// connection keeps one end of a connection over the network (the forms are those of channel).
func (l *Log) connection(m *message, via []byte) {
	if !bytes.HasPrefix(via, []byte("NET/")) {
		return
	}
	head := m.msg[:bytes.Index(m.msg, []byte(" via "))]
	_, rest, _ := bytes.Cut(head, []byte(" ")) // "Channel", or "Ring"
	c := evidence.Connection{Host: m.name, Send: bytes.Contains(head, []byte("[send]")), Device: -1, From: m.at}
	if !c.Send && !bytes.Contains(head, []byte("[receive]")) {
		return // up to NCCL 2.6 some lines do not tell the direction
	}
	var ok bool
	if c.Channel, rest, ok = number(rest); !ok {
		return
	}
	if len(rest) > 0 && rest[0] == '/' {
		if c.Index, rest, ok = number(rest[1:]); !ok {
			return
		}
	}
	if rest, ok = after(rest, " : "); !ok {
		return
	}
	if c.Src, rest, ok = number(rest); !ok {
		return
	}
	if rest, ok = after(rest, " -> "); !ok {
		return
	}
	if c.Dst, _, ok = number(rest); !ok || !small(c.Src) || !small(c.Dst) || !small(c.Channel) || !small(c.Index) {
		return
	}
	name := transportName(via)
	c.Via = l.name(name)
	if d, ok := bytes.CutPrefix(via[len(name):], []byte("/")); ok {
		if n, _, ok := number(d); ok && small(n) {
			c.Device = n
		}
	}
	if len(l.inv.NCCL.Connections) >= MaxConnections {
		l.inv.NCCL.MoreConnections++
		return
	}
	k := connectionKey{c.Host, int32(c.Src), int32(c.Dst), int32(c.Channel), int32(c.Index), c.Send}
	c.Occurrence = l.connections[k]
	l.connections[k]++
	l.inv.NCCL.Connections = append(l.inv.NCCL.Connections, c)
}

// small tells whether a number can be a rank, a channel or a device.
func small(n int) bool { return n >= 0 && n < 1<<30 }
