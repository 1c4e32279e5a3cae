package pcap

import "github.com/shunt-network/shunt/packet"

// sequence follows the packet sequence numbers of the requests of one stream (InfiniBand section 9.7).
//
// A number that is skipped opens a hole. A packet that falls into a hole came late: it was overtaken, or it is the
// first of those a sender repeats after a loss; what comes next tells, since a sender that goes back repeats what was
// seen before as well. A packet that is in no hole and lies behind was seen before.
type sequence struct {
	started bool
	next    uint32 // the number that should come
	upTo    uint32 // behind a read request: the last number that may, since its answers take numbers as well
	holes   []hole
	lost    int // numbers of holes that were forgotten

	late int    // packets in a row that filled holes, and may turn out to be repeated
	then uint32 // the number after them
}

// hole is numbers that were skipped, from and to included.
type hole struct{ from, to uint32 }

const (
	// maxHoles is how many holes of one stream are remembered; the oldest is then given up as missing.
	maxHoles = 64
	// window is how far a number may lie from the one that is due. What is farther is a queue pair that began anew: at
	// the smallest MTU of 256 bytes 65 536 packets are 16 MB, and no sender has more out (the bandwidth of 800 Gb/s
	// times 100 us is 10 MB).
	window = 1 << 16
)

// step is what a packet is.
type step uint8

const (
	inOrder step = iota
	skipped      // numbers before it are missing
	overtaken
	again
	againAll // seen before, and so were those that looked overtaken just now
)

// see takes the number of a request.
func (q *sequence) see(psn uint32) step {
	d := packet.Distance(psn, q.next)
	if !q.started || d > window || d < -window {
		q.started, q.next, q.upTo = true, (psn+1)&mask, (psn+1)&mask
		q.holes, q.late = q.holes[:0], 0
		return inOrder
	}
	switch {
	case d >= 0 && packet.Distance(psn, q.upTo) <= 0: // the number that is due, or one that follows a read
		q.advance(psn)
		return inOrder
	case d > 0:
		if len(q.holes) == maxHoles {
			q.lost += q.holes[0].size()
			q.holes = append(q.holes[:0], q.holes[1:]...)
		}
		q.holes = append(q.holes, hole{q.upTo, (psn - 1) & mask})
		q.advance(psn)
		return skipped
	}
	if q.fill(psn) {
		if q.late == 0 || psn != q.then {
			q.late = 0
		}
		q.late, q.then = q.late+1, (psn+1)&mask
		return overtaken
	}
	if q.late > 0 && psn == q.then {
		return againAll
	}
	q.late = 0
	return again
}

const mask = 1<<24 - 1

func (q *sequence) advance(psn uint32) {
	q.next, q.upTo, q.late = (psn+1)&mask, (psn+1)&mask, 0
}

// read lets the numbers of the answers to a read pass: between those of the largest and of the smallest MTU.
func (q *sequence) read(psn, bytes uint32) {
	const smallest, largest = 256, 4096 // InfiniBand section 9.7: path MTUs
	least, most := max(1, (bytes+largest-1)/largest), max(1, bytes/smallest+1)
	if packet.Distance((psn+1)&mask, q.next) != 0 || most >= 1<<23 {
		return
	}
	q.next, q.upTo = (psn+least)&mask, (psn+most)&mask
}

func (h hole) size() int { return int(packet.Distance(h.to, h.from)) + 1 }

// in tells whether a number is missing so far.
func (q *sequence) in(psn uint32) bool {
	for _, h := range q.holes {
		if packet.Distance(psn, h.from) >= 0 && packet.Distance(psn, h.to) <= 0 {
			return true
		}
	}
	return false
}

// fill takes a number out of its hole; false means that it is in none.
func (q *sequence) fill(psn uint32) bool {
	for i, h := range q.holes {
		if packet.Distance(psn, h.from) < 0 || packet.Distance(psn, h.to) > 0 {
			continue
		}
		switch {
		case h.from == h.to:
			q.holes = append(q.holes[:i], q.holes[i+1:]...)
		case psn == h.from:
			q.holes[i].from = (psn + 1) & mask
		case psn == h.to:
			q.holes[i].to = (psn - 1) & mask
		default:
			q.holes[i].to = (psn - 1) & mask
			if len(q.holes) < maxHoles {
				q.holes = append(q.holes, hole{(psn + 1) & mask, h.to})
			} else {
				q.lost += hole{(psn + 1) & mask, h.to}.size()
			}
		}
		return true
	}
	return false
}

// missing is how many numbers were never seen.
func (q *sequence) missing() int {
	n := q.lost
	for _, h := range q.holes {
		n += h.size()
	}
	return n
}

// response follows the numbers of read responses, which count up from the number of the request.
type response struct {
	open    bool
	next    uint32
	missing int
}

// see takes a response; skipped is how many before it are missing.
func (r *response) see(op packet.Opcode, psn uint32) (skipped int) {
	first := op == packet.ReadResponseFirst || op == packet.ReadResponseOnly
	if d := packet.Distance(psn, r.next); r.open && !first && d > 0 && d < window {
		skipped = int(d)
		r.missing += skipped
	}
	r.open, r.next = op == packet.ReadResponseFirst || op == packet.ReadResponseMiddle, (psn+1)&mask
	return skipped
}
