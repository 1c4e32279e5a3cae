package nccl

import (
	"bytes"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// MaxConnections is how many connections are kept: 128 hosts of 8 GPUs with 64 channels, each end once, twice over. Those beyond are counted.
const MaxConnections = 1 << 18

var (
	netWord     = []byte("NET/")
	sendWord    = []byte("[send]")
	receiveWord = []byte("[receive]")
)

// connection keeps one end of a connection over the network (the forms are those of channel). A large job has nothing more often in its log, so
// the line is read once from left to right, and what is not needed to tell ends apart is left to those who look at them.
func (l *Log) connection(m *message, via []byte, transport string) {
	if !l.ends || !bytes.HasPrefix(via, netWord) {
		return
	}
	if len(l.inv.NCCL.Connections) >= MaxConnections {
		l.inv.NCCL.MoreConnections++
		return
	}
	c := evidence.Connection{Host: m.name, Via: transport, Device: -1, From: m.at}
	rest := m.msg[max(0, bytes.IndexByte(m.msg, ' ')):] // behind "Channel", or "Ring"
	var ok bool
	if c.Channel, rest, ok = number(rest); !ok {
		return
	}
	if len(rest) > 0 && rest[0] == '/' {
		if c.Index, rest, ok = number(rest[1:]); !ok {
			return
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(" : ")); !ok {
		return
	}
	if c.Src, rest, ok = rank(rest); !ok {
		return
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(" -> ")); !ok {
		return
	}
	if c.Dst, rest, ok = rank(rest); !ok || !small(c.Src) || !small(c.Dst) || !small(c.Channel) || !small(c.Index) {
		return
	}
	rest = bytes.TrimLeft(rest, " ")
	if c.Send = bytes.HasPrefix(rest, sendWord); !c.Send && !bytes.HasPrefix(rest, receiveWord) {
		return // up to NCCL 2.6 some lines do not tell the direction
	}
	if d := via[len(transport):]; len(d) > 0 && d[0] == '/' {
		if n, _, ok := number(d[1:]); ok && small(n) {
			c.Device = n
		}
	}
	list := &l.inv.NCCL.Connections
	if len(*list) == cap(*list) { // append grows by a quarter, which copies a long list four times
		*list = slices.Grow(*list, max(64, len(*list)))
	}
	*list = append(*list, c)
}

// rank reads a rank and the device in brackets behind it: "9[1]", "3[3d000]".
func rank(b []byte) (n int, rest []byte, ok bool) {
	n, rest, ok = number(b)
	if !ok || len(rest) == 0 || rest[0] != '[' {
		return n, rest, ok
	}
	i := bytes.IndexByte(rest, ']')
	return n, rest[i+1:], i > 0
}

// small tells whether a number can be a rank, a channel or a device.
func small(n int) bool { return n >= 0 && n < 1<<30 }
