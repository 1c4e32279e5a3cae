package netsim

import (
	"errors"
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Port returns the counters of a port, with its queue gauges and open pauses brought up to the present.
func (n *Network) Port(p fabric.PortID) PortCounters {
	cold := &n.cold[p]
	c := PortCounters{Drops: cold.drops, CRCErrors: cold.crcErrors, LinkDowns: cold.linkDowns, Rate: n.ports[p].rate}
	if n.ports[p].down {
		c.Rate = 0
	}
	for prio := range uint8(Priorities) {
		i := class(uint32(p), prio)
		e, in, s := &n.egress[i], &n.ingress[i], &n.pauses[i]
		c.TxBytes[prio], c.TxPackets[prio] = e.txBytes, e.txPacket
		c.RxBytes[prio], c.RxPackets[prio] = in.rxBytes, in.rxPacket
		c.ECNMarked[prio] = e.marked
		c.QueueBytes[prio], c.QueuePeak[prio] = uint64(e.bytes), uint64(e.peak)
		c.PauseRx[prio], c.PauseTx[prio] = s.rx, s.tx
		c.PauseRxTime[prio], c.PauseTxTime[prio] = s.rxTime, s.txTime
		c.Storms[prio], c.StormsOver[prio], c.StormDrops[prio] = s.storms, s.stormsOver, s.stormDrops
		if n.ports[p].held>>prio&1 != 0 {
			c.PauseRxTime[prio] += uint64(n.now - s.rxSince)
		}
		if in.xoff {
			c.PauseTxTime[prio] += uint64(n.now - s.txSince)
		}
	}
	return c
}

// ResetPeaks starts the queue watermarks again, as reading a clear-on-read watermark does.
func (n *Network) ResetPeaks() {
	for i := range n.egress {
		n.egress[i].peak = n.egress[i].bytes
	}
}

// NIC returns the counters of the NIC at endpoint ep.
func (n *Network) NIC(ep int32) NICCounters { return n.nicCounters[ep] }

// Summary is what a run came to.
type Summary struct {
	Fingerprint uint64        // hash of every operation's start and end, and of every port's counters
	End         units.Instant // time of the last event
	Events      uint64
	PacketHops  uint64 // packets, data and control, that finished one link
	Drops       [DropReasons]uint64
	Reordering  Reordering
	Deadlocks   []Deadlock
	Reductions  Reductions
	Stalled     bool // operations were left that nothing could finish (a QP gave up, or a deadlock)
}

// Finish ends the run, checks conservation (N1) and says what the run came to. The error names the entity and
// the bytes that are missing.
func (n *Network) Finish() (Summary, error) {
	s := Summary{
		End: units.At(n.ended), Events: n.events, PacketHops: n.hops,
		Stalled: n.Stalled() || n.left > 0 && n.hopeless,
	}
	for i := range n.cold {
		for why, count := range n.cold[i].drops {
			s.Drops[why] += count
		}
	}
	s.Reductions = n.reduced()
	s.Deadlocks = n.Deadlocks()
	s.Reordering = n.reorderingOf(n.reordering)
	s.Fingerprint = n.fingerprint()
	return s, n.conserved()
}

// fingerprint folds everything that can be seen of a run into 64 bits, so that two runs can be told apart by one number.
func (n *Network) fingerprint() uint64 {
	h := uint64(fnvOffset)
	add := func(v uint64) { h = (h ^ v) * fnvPrime; h ^= h >> 29 }
	for _, t := range n.times {
		add(uint64(t.Start.PS()))
		add(uint64(t.End.PS()))
	}
	for p := range n.ports {
		c := n.Port(fabric.PortID(p))
		for _, by := range [...]*[Priorities]uint64{
			&c.TxBytes, &c.TxPackets, &c.RxBytes, &c.RxPackets, &c.ECNMarked, &c.PauseRx, &c.PauseTx,
			&c.PauseRxTime, &c.PauseTxTime, &c.QueueBytes, &c.Storms,
		} {
			for _, v := range by {
				add(v)
			}
		}
		for why, v := range c.Drops {
			if v > 0 || why < int(DropChecksum) { // younger reasons leave the fingerprints of runs that know nothing of them
				add(v)
			}
		}
		add(c.CRCErrors)
		add(c.LinkDowns)
	}
	for _, c := range n.nicCounters {
		for _, v := range [...]uint64{
			c.OutOfSequence, c.DuplicateRequest, c.PacketSeqErr, c.LocalAckTimeout, c.RetryExceeded, c.CNPSent,
			c.CNPHandled, c.ECNMarkedPackets, c.RxDataBytes, c.TxDataBytes, c.RetransmitPackets, c.TrimmedPackets, c.FlushErrors,
		} {
			add(v)
		}
	}
	return h
}

// maxLossReports bounds the errors of one check; the first ones tell where to look.
const maxLossReports = 20

// conserved checks N1 for every link, every switch, the packet pool and every message.
func (n *Network) conserved() error {
	var errs []error
	off := func(what string, got, want uint64) {
		if got != want && len(errs) < maxLossReports {
			errs = append(errs, fmt.Errorf("netsim: conservation: %s: %d bytes, should be %d (%d missing)", what, got, want, int64(want-got)))
		}
	}
	packets := 0
	perSwitch := make([]uint64, len(n.switches)) // bytes in, less out, queued and dropped
	for i := range n.ports {
		p := &n.ports[i]
		name := n.f.PortName(fabric.PortID(i))
		var tx, rx, queued uint64
		flying, count := n.chain(p.head)
		packets += count
		for prio := range uint8(Priorities) {
			c := class(uint32(i), prio)
			tx += n.egress[c].txBytes
			rx += n.ingress[class(p.peer, prio)].rxBytes
			held, count := n.chain(n.egress[c].head)
			packets += count
			queued += held
			off(name+" queue gauge", uint64(n.egress[c].bytes), held)
			if !p.host {
				perSwitch[p.node] += n.ingress[c].rxBytes
			}
		}
		lostThere := n.cold[i].wireLost + n.cold[i].dropBytes[DropSilent] + n.cold[i].dropBytes[DropChecksum] + n.cold[p.peer].dropBytes[DropCorrupt]
		off(name+" link, received, flying or lost", rx+flying+lostThere, tx)
		if !p.host {
			lost := n.cold[i].dropBytes
			inside := lost[DropBufferFull] + lost[DropHeadroomFull] + lost[DropNoRoute] + lost[DropLinkDown] + lost[DropTrimmed] + lost[DropWatchdog] - n.cold[i].wireLost
			perSwitch[p.node] -= tx + queued + inside
		}
	}
	for i := range n.switches {
		perSwitch[i] -= n.books[i].absorbed - n.books[i].made
	}
	packets += n.adding
	for i, rest := range perSwitch {
		off("switch "+n.f.Nodes[n.switches[i].node].Name+", in less out, queued and dropped", rest, 0)
	}
	errs = append(errs, n.buffersConserved()...)
	for ep := range n.nics {
		held, count := n.chain(n.nics[ep].head)
		packets += count
		off(n.f.PortName(n.f.Endpoints[ep])+" receive buffer", uint64(n.nics[ep].bytes), held)
	}
	_, free := n.chain(n.pool.free)
	if packets+free != len(n.pool.packets) {
		errs = append(errs, fmt.Errorf("netsim: conservation: %d packets are somewhere and %d free, there are %d", packets, free, len(n.pool.packets)))
	}
	return errors.Join(errs...)
}

// buffersConserved checks that every switch's buffer accounts add up to what is queued.
func (n *Network) buffersConserved() []error {
	var errs []error
	held := make([]int64, len(n.switches))
	room := make([]int64, len(n.switches))
	charged := make([]int64, len(n.switches))
	for i := range n.ports {
		p := &n.ports[i]
		if p.host {
			continue
		}
		for prio := range uint8(Priorities) {
			c := class(uint32(i), prio)
			held[p.node] += n.egress[c].bytes
			room[p.node] += int64(n.ingress[c].headroom)
			charged[p.node] += n.ingress[c].used
			if n.lossless>>prio&1 != 0 {
				continue
			}
			for k := n.egress[c].head; k != none; k = n.pool.packets[k].next {
				if pk := &n.pool.packets[k]; pk.dst != toReduction {
					charged[p.node] += int64(pk.size)
				}
			}
		}
	}
	for i := range n.switches {
		s := &n.switches[i]
		if s.used != charged[i] || held[i] != s.used+room[i]+n.books[i].sums {
			errs = append(errs, fmt.Errorf("netsim: conservation: switch %s: %d bytes queued, %d charged to the shared buffer (%d by port), %d to headrooms",
				n.f.Nodes[s.node].Name, held[i], s.used, charged[i], room[i]))
		}
	}
	return errs
}

// chain adds up a list of packets.
func (n *Network) chain(k uint32) (bytes uint64, count int) {
	for ; k != none; k = n.pool.packets[k].next {
		bytes += uint64(n.pool.packets[k].size)
		count++
	}
	return bytes, count
}
