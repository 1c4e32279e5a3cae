package packet

import "encoding/binary"

// Extended headers follow the base transport header, which of them the opcode says (InfiniBand table 39).

// RETH is a view of the RDMA header of writes and read requests.
type RETH []byte

const rethLen = 16

// Address is the virtual address at the destination.
func (h RETH) Address() uint64 { return binary.BigEndian.Uint64(h) }

// Key is the remote key.
func (h RETH) Key() uint32 { return binary.BigEndian.Uint32(h[8:]) }

// Length is the length of the whole operation.
func (h RETH) Length() uint32 { return binary.BigEndian.Uint32(h[12:]) }

// AppendRETH appends an RDMA header.
func AppendRETH(b []byte, address uint64, key, length uint32) []byte {
	b = binary.BigEndian.AppendUint64(b, address)
	b = binary.BigEndian.AppendUint32(b, key)
	return binary.BigEndian.AppendUint32(b, length)
}

// AETH is a view of the header of acknowledgements and of first, last and only read responses.
type AETH []byte

const aethLen = 4

// Syndrome is the answer: see NAK and NotReady.
func (h AETH) Syndrome() uint8 { return h[0] }

// MSN is the number of messages the responder has completed.
func (h AETH) MSN() uint32 { return binary.BigEndian.Uint32(h) & psnMask }

// NAKCode says why a responder refuses (InfiniBand table 45).
type NAKCode uint8

// Reasons to refuse.
const (
	NAKSequence  NAKCode = iota // a packet before this one is missing
	NAKInvalid                  // the request is not valid
	NAKAccess                   // the memory is not granted
	NAKOperation                // the responder could not do it
	NAKInvalidRD
)

// NAK tells whether the answer is a refusal, and why.
func (h AETH) NAK() (NAKCode, bool) { return NAKCode(h[0] & 0x1f), h[0]&0x60 == 0x60 }

// NotReady tells whether the answer is that no buffer was posted (RNR NAK), and the code of the time to wait.
func (h AETH) NotReady() (timer uint8, ok bool) { return h[0] & 0x1f, h[0]&0x60 == 0x20 }

// Syndromes that AppendAETH takes.
const (
	SyndromeACK      uint8 = 0x1f // no credit limit
	SyndromeNotReady uint8 = 0x20 // plus the timer
	SyndromeNAK      uint8 = 0x60 // plus a NAKCode
)

// AppendAETH appends an acknowledgement header.
func AppendAETH(b []byte, syndrome uint8, msn uint32) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(syndrome)<<24|msn&psnMask)
}

// DETH is a view of the datagram header: unreliable datagrams name their source queue pair.
type DETH []byte

const dethLen = 8

// QueueKey is the Q_Key.
func (h DETH) QueueKey() uint32 { return binary.BigEndian.Uint32(h) }

// SrcQP is the queue pair at the source.
func (h DETH) SrcQP() uint32 { return binary.BigEndian.Uint32(h[4:]) & psnMask }

// AppendDETH appends a datagram header.
func AppendDETH(b []byte, key, srcQP uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, key)
	return binary.BigEndian.AppendUint32(b, srcQP&psnMask)
}

// ImmDt is a view of immediate data.
type ImmDt []byte

const (
	immLen    = 4
	iethLen   = 4
	atomicLen = 28
	answerLen = 8
	xrcLen    = 4
)

// Value is the immediate data.
func (d ImmDt) Value() uint32 { return binary.BigEndian.Uint32(d) }

// AppendImmDt appends immediate data.
func AppendImmDt(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

// Extended are the extended headers of one packet; one that is not there is nil.
type Extended struct {
	DETH    DETH
	RETH    RETH
	AETH    AETH
	ImmDt   ImmDt
	Payload []byte // with padding, without the ICRC
}

// headers says which extended headers an opcode has, in their order.
func headers(o Opcode) (deth, reth, atomic, aeth, answer, imm, ieth bool) {
	switch op := o.Operation(); op {
	case WriteFirst, WriteOnly, WriteOnlyImm, ReadRequest:
		reth = true
		imm = op == WriteOnlyImm
	case SendLastImm, SendOnlyImm, WriteLastImm:
		imm = true
	case ReadResponseFirst, ReadResponseLast, ReadResponseOnly, Acknowledge:
		aeth = true
	case AtomicAcknowledge:
		aeth, answer = true, true
	case CompareSwap, FetchAdd:
		atomic = true
	case SendLastInvalidate, SendOnlyInvalidate:
		ieth = true
	}
	return o.Transport() == UD || o.Transport() == RD, reth, atomic, aeth, answer, imm, ieth
}

// DecodeExtended finds the extended headers in what follows a base transport header, without the ICRC. ok is false
// where a header is cut off; those before it are told all the same.
func DecodeExtended(o Opcode, b []byte) (x Extended, ok bool) {
	if o == CNP {
		x.Payload = b
		return x, len(b) >= cnpPadding
	}
	deth, reth, atomic, aeth, answer, imm, ieth := headers(o)
	take := func(has bool, n int) (h []byte) {
		if !has || !ok {
			return nil
		}
		if len(b) < n {
			ok = false
			return nil
		}
		h, b = b[:n:n], b[n:]
		return h
	}
	ok = true
	if o.Transport() == RD {
		take(true, 4) // RDETH: reliable datagrams are in no product
	}
	x.DETH = take(deth, dethLen)
	take(o.Transport() == XRC && o.Request(), xrcLen)
	x.RETH = take(reth, rethLen)
	take(atomic, atomicLen)
	x.AETH = take(aeth, aethLen)
	take(answer, answerLen)
	x.ImmDt = take(imm, immLen)
	take(ieth, iethLen)
	if ok {
		x.Payload = b
	}
	return x, ok
}
