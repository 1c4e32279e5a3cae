package flowsim

// Two kinds of thing happen next: an event, which stays when it was scheduled for, and the end of what a flow is sending, which
// moves with every change of its rate. The first wait in a heap by (time, order of scheduling), the second in a heap that knows
// where each flow stands in it.

type eventKind uint8

const (
	evOp     eventKind = iota // arg: operation, its earliest start has come
	evOpEnd                   // arg: operation
	evPost                    // arg: message
	evArrive                  // arg: operation, a part of it has arrived
	evFault                   // arg: fault
	evHeal                    // arg: fault
	evDetect
)

type event struct {
	at   int64
	seq  uint32
	arg  uint32
	kind eventKind
}

// events is a binary heap by time and then order of scheduling.
type events struct {
	list []event
	seq  uint32
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && int32(e.seq-o.seq) < 0 // seq may wrap; no two of one time are 2^31 apart
}

func (h *events) push(at int64, kind eventKind, arg uint32) {
	h.list = append(h.list, event{at: at, seq: h.seq, kind: kind, arg: arg})
	h.seq++
	l := h.list
	for i := len(l) - 1; i > 0; {
		up := (i - 1) / 2
		if !l[i].before(&l[up]) {
			return
		}
		l[i], l[up] = l[up], l[i]
		i = up
	}
}

func (h *events) pop() event {
	l := h.list
	top := l[0]
	last := len(l) - 1
	l[0] = l[last]
	h.list = l[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && l[down+1].before(&l[down]) {
			down++
		}
		if !l[down].before(&l[i]) {
			return top
		}
		l[i], l[down] = l[down], l[i]
		i = down
	}
}

// ends is a binary heap of flows by the time at which what they send is out, then by number.
type ends struct {
	heap []uint32
	at   []int64 // by flow
	pos  []int32 // by flow, -1 when it is not in the heap
}

func (h *ends) grow(n int) {
	for len(h.at) < n {
		h.at = append(h.at, 0)
		h.pos = append(h.pos, -1)
	}
}

func (h *ends) before(a, b uint32) bool { return h.at[a] < h.at[b] || h.at[a] == h.at[b] && a < b }

// set moves a flow to a time.
func (h *ends) set(id uint32, at int64) {
	h.at[id] = at
	if h.pos[id] < 0 {
		h.pos[id] = int32(len(h.heap))
		h.heap = append(h.heap, id)
	}
	h.down(h.up(h.pos[id]))
}

// drop takes a flow out.
func (h *ends) drop(id uint32) {
	i := h.pos[id]
	if i < 0 {
		return
	}
	last := int32(len(h.heap) - 1)
	h.put(i, h.heap[last])
	h.heap = h.heap[:last]
	h.pos[id] = -1
	if i < last {
		h.down(h.up(i))
	}
}

func (h *ends) put(i int32, id uint32) { h.heap[i], h.pos[id] = id, i }

func (h *ends) up(i int32) int32 {
	id := h.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(id, h.heap[parent]) {
			break
		}
		h.put(i, h.heap[parent])
		i = parent
	}
	h.put(i, id)
	return i
}

func (h *ends) down(i int32) {
	id, n := h.heap[i], int32(len(h.heap))
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.before(h.heap[child+1], h.heap[child]) {
			child++
		}
		if !h.before(h.heap[child], id) {
			break
		}
		h.put(i, h.heap[child])
		i = child
	}
	h.put(i, id)
}

// minHeap is a binary heap of numbered keys; equal keys come out by number.
type minHeap struct{ items []keyed }

type keyed struct {
	key float64
	id  uint32
}

func (a keyed) before(b keyed) bool { return a.key < b.key || a.key == b.key && a.id < b.id }

func (h *minHeap) reset()   { h.items = h.items[:0] }
func (h *minHeap) len() int { return len(h.items) }

// push appends without order; heapify follows.
func (h *minHeap) push(key float64, id uint32) { h.items = append(h.items, keyed{key, id}) }

func (h *minHeap) heapify() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *minHeap) pop() {
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	h.down(0)
}

// replace gives the top a new key.
func (h *minHeap) replace(key float64) {
	h.items[0].key = key
	h.down(0)
}

func (h *minHeap) down(i int) {
	l := h.items
	for {
		child := 2*i + 1
		if child >= len(l) {
			return
		}
		if child+1 < len(l) && l[child+1].before(l[child]) {
			child++
		}
		if !l[child].before(l[i]) {
			return
		}
		l[i], l[child] = l[child], l[i]
		i = child
	}
}
