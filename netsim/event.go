package netsim

import "math/bits"

// eventKind is what happens when an event is due; arg of the event names the one it happens to.
type eventKind uint8

const (
	evArrive       eventKind = iota // the head of what flies out of port arg reaches the far end
	evSend                          // the wire of port arg is free for the next packet
	evPause                         // a pause or resume frame for class prio reaches port arg
	evOp                            // the earliest start of operation arg has come
	evOpEnd                         // operation arg (compute, or a copy within a host) is over
	evPost                          // message arg reaches its QP
	evPace                          // QP arg may send again under its rate
	evTimeout                       // the retransmission timer of QP arg
	evDrain                         // NIC arg has drained a packet of its receive buffer
	evFault                         // fault arg begins
	evHeal                          // fault arg ends
	evDetect                        // the switches learn of fault arg, or of its end
	evPauseEnd                      // the pause of class arg runs out
	evRefresh                       // the pause that class arg has sent is repeated
	evAdd                           // a switch has read packet arg of a reduction
	evConverted                     // worker arg has converted its next chunk
	evChunkTimeout                  // the chunks of worker arg that are late are sent again
	evWatch                         // the PFC watchdog looks at the queues
	evSample                        // switch arg takes the quality of its ports
	evReadNIC                       // the host of NIC arg reads its load
	evLinkState                     // switch arg reads the state of its links, or (generation 1) its buckets follow what it has read
)

// event is two words without pointers: a struct of small fields would be written in pieces and read as a whole, which the processor
// cannot forward from its store buffer. what holds, from the low bits: kind 8, class of a pause frame 8, generation 16, arg 32.
type event struct {
	at   int64 // picoseconds
	what uint64
}

func newEvent(at int64, kind eventKind, arg uint32) event {
	return event{at: at, what: uint64(arg)<<32 | uint64(kind)}
}

// of adds the generation of a port or a NIC and a class, for events that may be void when they are due.
func (e event) of(gen uint16, prio uint8) event {
	e.what |= uint64(gen)<<16 | uint64(prio)<<8
	return e
}

func (e event) kind() eventKind { return eventKind(e.what) }
func (e event) prio() uint8     { return uint8(e.what >> 8) }
func (e event) gen() uint16     { return uint16(e.what >> 16) }
func (e event) arg() uint32     { return uint32(e.what >> 32) }

// eventQueue is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: Faster algorithms for the shortest path problem,
// JACM 1990): bucket b holds the events whose time differs from last first in bit b-1. It needs that nothing is
// scheduled before the last event taken, which holds in a simulation, and then events of equal time come
// out in the order of their scheduling without a sequence number: those in one bucket keep their order
// whenever it is dealt out again.
type eventQueue struct {
	last    int64
	n       int    // events held
	idle    int    // of them, those that only repeat a fault, keep a pause up or look at queues
	full    uint64 // bit b: bucket b holds something
	head    int    // first event of bucket 0 not taken yet
	buckets [64][]event
}

func (q *eventQueue) push(e event) {
	b := bits.Len64(uint64(e.at^q.last)) & 63
	q.buckets[b] = append(q.buckets[b], e)
	q.full |= 1 << b
	q.n++
}

// pop takes the first event, unless it lies after limit or only idle ones are left: then the caller has to know whether they may change anything,
// and takes them by popIdle.
func (q *eventQueue) pop(limit int64) (event, bool) {
	if q.full&1 == 0 {
		if q.full == 0 || q.n == q.idle {
			return event{}, false
		}
		b := bits.TrailingZeros64(q.full) & 63
		from := q.buckets[b]
		first, at := from[0].at, 0
		for i := 1; i < len(from); i++ {
			if from[i].at < first {
				first, at = from[i].at, i
			}
		}
		if first > limit {
			return event{}, false
		}
		q.last = first
		full := q.full &^ (1 << b)
		q.buckets[b] = from[:0]
		for i, e := range from { // every one lands in a lower bucket, so from is not written to meanwhile
			if i == at {
				continue // it is the one that is taken
			}
			to := bits.Len64(uint64(e.at^first)) & 63
			q.buckets[to] = append(q.buckets[to], e)
			full |= 1 << to
		}
		q.full = full
		q.n--
		return from[at], true
	}
	zero := q.buckets[0]
	e := zero[q.head]
	if e.at > limit {
		return event{}, false
	}
	q.head++
	q.n--
	if q.head == len(zero) {
		q.buckets[0] = zero[:0]
		q.head = 0
		q.full &^= 1
	}
	return e, true
}

// popIdle is pop of an idle event.
func (q *eventQueue) popIdle(limit int64) (event, bool) {
	idle := q.idle
	q.idle = -1
	e, ok := q.pop(limit)
	q.idle = idle
	return e, ok
}
