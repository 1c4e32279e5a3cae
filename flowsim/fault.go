package flowsim

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
)

// A fault changes what a link can carry. Nothing is lost: a flow over a link that is down stands until the link is back or its
// path is another. With packets the same flow would time out and send again.

// strike begins fault i, and schedules its end and its return.
func (n *Network) strike(i uint32) {
	f := &n.c.Faults[i]
	if n.returned[i] {
		n.recurring--
	}
	if f.For > 0 {
		n.queue.push(n.now+int64(f.For), evHeal, i)
	}
	if f.Every > 0 {
		n.returned[i] = true
		n.recurring++
		n.queue.push(n.now+int64(f.Every), evFault, i)
	}
	p := fabric.PortID(f.Port)
	switch f.Kind {
	case LinkDown:
		if n.down[p] == 0 {
			n.queue.push(n.now+int64(f.Detect), evDetect, i)
		}
		n.setDown(p, 1)
	case RateDegraded:
		n.setRate(p, f.Rate)
	case SlowReceiver:
		down := n.f.Ports[p].Peer
		n.setRate(down, min(f.Rate, n.f.Ports[down].Rate))
	}
}

// mend ends fault i.
func (n *Network) mend(i uint32) {
	f := &n.c.Faults[i]
	p := fabric.PortID(f.Port)
	switch f.Kind {
	case LinkDown:
		if n.setDown(p, ^uint8(0)); n.down[p] == 0 { // one less
			n.queue.push(n.now+int64(f.Detect), evDetect, i)
		}
	case RateDegraded:
		n.setRate(p, n.f.Ports[p].Rate)
	case SlowReceiver:
		down := n.f.Ports[p].Peer
		n.setRate(down, n.f.Ports[down].Rate)
	}
}

// setDown counts a fault upon both directions of a link.
func (n *Network) setDown(p fabric.PortID, by uint8) {
	for _, x := range [2]fabric.PortID{p, n.f.Ports[p].Peer} {
		n.down[x] += by
		if n.down[x] > 0 {
			n.setRate(x, 0)
		} else {
			n.setRate(x, n.f.Ports[x].Rate)
		}
	}
}

// setRate changes what a port carries, and with it what the flows through it could have at the most.
func (n *Network) setRate(p fabric.PortID, r units.Rate) {
	if r > 0 && n.down[p] > 0 {
		return
	}
	n.links.rate[p] = r
	con, _, ok := n.links.of(p)
	if !ok {
		return
	}
	s := &n.share
	c := &s.cons[con]
	c.capacity = n.links.capacity(con)
	for i := c.head; i != none; i = s.entries[i].next {
		id := s.entries[i].flow
		f := &s.flows[id]
		old := f.most
		s.limit(id, n.qps[id].limit)
		for k := f.first; k < f.first+f.n; k++ {
			e := &s.entries[k]
			s.cons[e.con].demand += float64(e.weight * (f.most - old))
		}
	}
	s.seeds = append(s.seeds, con)
}

// reroute is the moment at which the switches have learned which links are up: every path is looked up again.
func (n *Network) reroute() {
	if n.links.table == nil {
		table, err := route.NewTable(n.f)
		if err != nil {
			n.err = err
			return
		}
		n.links.table = table
	}
	down := make([]bool, len(n.f.Ports))
	for p := range down {
		down[p] = n.down[p] > 0
	}
	if err := n.links.table.Exclude(down); err != nil {
		n.err = err
		return
	}
	n.settleAll()
	for p := range n.before {
		if con, factor, ok := n.links.of(fabric.PortID(p)); ok {
			n.before[p] += float64(n.share.cons[con].bytes * factor)
		}
	}
	going := make([]bool, len(n.qps))
	for id := range n.share.flows {
		going[id] = n.share.flows[id].going
	}
	n.share = sharing{}
	n.setConstraints()
	for id := range n.qps {
		q := &n.qps[id]
		if q.head != none {
			q.limit = n.msgs[q.head].limit
		}
		n.join(uint32(id))
		n.ends.drop(uint32(id))
		if going[id] {
			n.share.begin(uint32(id))
		}
	}
}
