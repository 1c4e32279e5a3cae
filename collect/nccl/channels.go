package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/evidence"
)

// channel counts the connections of a host by transport (transport/net.cc, p2p.cc, shm.cc):
//
//	Channel 00/0 : 9[1] -> 1[1] [send] via NET/IB/1(8)/GDRDMA        2.18.3 on: CUDA device in brackets
//	Channel 00 : 3[3d000] -> 0[1a000] [receive] via NET/IB/2         2.7 to 2.18.1: PCI address in brackets
//	Ring 00 : 51[3d000] -> 56[1a000] via P2P/IPC                     up to 2.6
//
// "Channel 00/02 : 0 1 2 3" is the order of a ring and no connection. A missing /GDRDMA is the one sign that
// holds for every version that GPU Direct RDMA is not used.
func (l *Log) channel(m *message) {
	via, ok := after(m.msg, " via ")
	if !ok {
		return
	}
	l.connectionForm(m.msg)
	host := m.name
	key := channelKey{host, l.name(transportName(via))}
	l.connection(m, via, key.via)
	i, ok := l.channels[key]
	if !ok {
		if len(l.channels) >= MaxDistinct {
			l.inv.NCCL.Repeated++
			return
		}
		i = len(l.inv.NCCL.Channels)
		l.channels[key] = i
		l.inv.NCCL.Channels = append(l.inv.NCCL.Channels, evidence.ChannelCount{Host: host, Via: key.via, Example: m.at})
	}
	c := &l.inv.NCCL.Channels[i]
	c.Total++
	if bytes.Contains(via, []byte("/GDRDMA")) {
		c.GDR++
	}
}

// transportName is the transport without the device and the way into it: "NET/IB", "NET/Socket", "P2P", "SHM".
func transportName(via []byte) []byte {
	first, rest, _ := bytes.Cut(via, []byte("/"))
	if bytes.Equal(first, []byte("NET")) {
		return via[:len(first)+1+len(before(rest, "/"))]
	}
	if bytes.HasPrefix(first, []byte("direct shared memory")) { // up to 2.13, transport/shm.cc
		return []byte("SHM")
	}
	return bytes.TrimSpace(first)
}

// connectionForm bounds the version by what stands in the brackets behind a rank.
func (l *Log) connectionForm(msg []byte) {
	if l.bounds.channelsSeen {
		return
	}
	l.bounds.channelsSeen = true
	if msg[0] == 'R' {
		l.bounds.below(2, 7, 0)
		return
	}
	open := bytes.IndexByte(msg, '[')
	end := bytes.IndexByte(msg, ']')
	if open < 0 || end < open {
		return
	}
	// A PCI address has at least four hex digits (bus, device, function); a device number at most two.
	if end-open-1 >= 4 {
		l.bounds.below(2, 18, 3)
	} else {
		l.bounds.atLeast(2, 18, 3)
	}
}
