package netsim

// none is the absent index: no packet, no QP, no message.
const none = ^uint32(0)

// Wire sizes. A RoCEv2 packet carries Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 and FCS 4 = 62 bytes around its
// payload (InfiniBand Architecture Specification volume 1, annex A17); a WRITE adds RETH 16 to the first packet of a
// message, an ACK carries AETH 4. One figure for every packet, as the other packet simulators of these networks use
// it, keeps the results comparable. Preamble and gap (20 bytes) are not counted, as no counter shows them.
const (
	headerBytes  = 64
	controlBytes = 64 // ACK, NAK and CNP: the smallest Ethernet frame
	pauseBytes   = 64 // PFC frame (IEEE 802.1Q, 36.1.3.3)
)

// psnBits is the width of a packet sequence number (InfiniBand Architecture Specification, 9.7.1).
const (
	psnBits = 24
	psnMask = 1<<psnBits - 1
)

// What a packet is, in packet.flags: two bits of kind, then flags.
const (
	data uint8 = iota
	ack        // everything up to psn has arrived
	nak        // go-back-N: psn was expected and another came; place, uec: psn is missing; irn: as ack, and a later packet has come
	cnp        // the receiver saw congestion (RoCEv2 annex A17.9.3)

	kindMask uint8 = 3

	marked  uint8 = 1 << 2 // ECN congestion experienced
	corrupt uint8 = 1 << 3 // a bit went wrong on the last link
	asksAck uint8 = 1 << 4 // the sender wants an acknowledgement (BTH AckReq)
	isProbe uint8 = 1 << 5 // sent by the retransmission timer; with an ack: psn is the newest packet that has arrived
	trimmed uint8 = 1 << 6 // data that has lost its payload to a full queue
	resent  uint8 = 1 << 7 // data that was sent before
)

// packet is one packet in motion, named by its index in the pool. It is owned by exactly one of: an egress queue,
// the link it flies on, or a NIC (N4); next chains it to the one behind it there. Two share a cache line.
type packet struct {
	at    int64 // flying: when it reaches the far end; queued in a switch: the ingress class that is charged for it
	next  uint32
	qp    uint32
	psn   uint32 // 24 bits
	hash  uint32 // of the 5-tuple, made by the NIC once
	dst   uint32 // endpoint
	size  uint16 // bytes on the wire
	prio  uint8
	flags uint8 // kind and flags
}

func (p *packet) kind() uint8 { return p.flags & kindMask }

// pool hands out packets; the one given back last goes out first, because it is still in the cache.
type pool struct {
	packets []packet
	free    uint32
}

// take returns a packet with every field but the link fields undefined. It may move the pool: no *packet survives it.
func (n *Network) take() uint32 {
	p := &n.pool
	if p.free == none {
		n.growPool()
	}
	k := p.free
	p.free = p.packets[k].next
	return k
}

// growPool adds a free packet, and what lies beside it.
func (n *Network) growPool() {
	n.pool.packets = append(n.pool.packets, packet{next: none})
	if n.sacks != nil {
		n.sacks = append(n.sacks, sack{})
	}
	if n.addends != nil {
		n.addends = append(n.addends, addend{})
	}
	n.growSides()
	n.pool.free = uint32(len(n.pool.packets) - 1)
}

// swap exchanges two packets but for their places: each keeps the one behind it.
func (n *Network) swap(a, b uint32) {
	x, y := &n.pool.packets[a], &n.pool.packets[b]
	x.next, y.next = y.next, x.next
	*x, *y = *y, *x
	n.swapSides(a, b)
}

func (n *Network) give(k uint32) {
	n.pool.packets[k].next = n.pool.free
	n.pool.free = k
}
