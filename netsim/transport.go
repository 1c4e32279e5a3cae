package netsim

import "math/bits"

// transport is Transport for the hot path.
type transport uint8

const (
	tGoBackN transport = iota
	tPlace
	tIRN
	tUEC
)

// configureTransport takes over what a QP needs of the configuration, and makes the state that the transport keeps by QP.
func (n *Network) configureTransport(c NICConfig) {
	n.ackPriority = uint8(c.AckPriority)
	n.shortRTO = n.rto
	n.irnHigh, n.irnFew = int64(c.IRN.RTOHigh), uint64(c.IRN.Few)
	n.lossFactor = int64(c.UEC.LossFactor * (1 << 16))
	n.lossDistance = uint64(c.LossDistance)
	reach := uint64(c.UEC.Reach)
	switch c.Transport {
	case Place, PPCID:
		n.transport, n.missing = tPlace, []missing{}
		reach = n.lossDistance * 4 // room for what arrives while the lost packet is sent again
	case IRN:
		n.transport, n.shortRTO = tIRN, int64(c.IRN.RTOLow)
	case UEC:
		n.transport, n.shortRTO = tUEC, int64(c.UEC.RTO)
	}
	n.reach = int64(max(64, uint64(1)<<bits.Len64(reach-1)))
	if n.transport == tIRN || n.transport == tUEC {
		n.flights, n.sacks = []flight{}, []sack{}
	}
}

// openTransport makes the state of a new QP from endpoint a to b.
func (n *Network) openTransport(a, b uint32) {
	switch n.transport {
	case tPlace:
		n.missing = append(n.missing, missing{})
	case tIRN:
		n.flights = append(n.flights, flight{window: n.irnWindow(a, b)})
	case tUEC:
		w := n.uecWindow(a, b)
		n.flights = append(n.flights, flight{window: w, most: w})
	}
	n.held = append(n.held, arrivals{})
}

// canSendAny is canSend where a packet that was sent before may be due.
func (n *Network) canSendAny(q uint32, s *sender) bool {
	switch n.transport {
	case tIRN:
		return n.irnCanSend(q, s)
	case tUEC:
		return n.uecCanSend(q, s)
	}
	return n.missing[q].any() || n.canSendNew(s)
}
