package route

// EV is an entropy value: what the sender puts into the UDP source port (RoCEv2) or the entropy field (Ultra Ethernet) of a packet, so that
// switches hash it onto one path or another.
type EV = uint16

// Evenly deals the entropy values 0..n-1 to packets in turn (the oblivious spray of the Ultra Ethernet reference model): a counter combined with
// a mask that changes every round, so that senders do not walk in step. n must be a power of two.
type Evenly struct {
	at, mask uint16
}

// Next is the entropy value of the next packet.
func (e *Evenly) Next(n uint32, s *Stream) EV {
	if e.at == 0 {
		e.mask = uint16(s.Uint32())
	}
	ev := (e.at ^ e.mask) & uint16(n-1)
	e.at = (e.at + 1) & uint16(n-1)
	return ev
}
