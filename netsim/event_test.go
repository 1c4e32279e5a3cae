package netsim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Events come out by time, and those of one time in the order in which they went in, whatever is pushed in between.
func TestEventOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var q eventQueue
	type key struct {
		at  int64
		seq uint32
	}
	var want, got []key
	seq, now := uint32(0), int64(0)
	push := func() {
		at := now + rng.Int64N(1<<rng.UintN(40))&^0xf // coarse times, so that many are equal
		at = max(at, now)
		q.push(newEvent(at, evOp, seq))
		want = append(want, key{at, seq})
		seq++
	}
	for range 1000 {
		push()
	}
	for q.n > 0 {
		limit := now + rng.Int64N(1<<30)
		e, ok := q.pop(limit)
		if !ok {
			now = limit // a run that stopped here and is split goes on from here
			continue
		}
		if e.at > limit || e.at < now {
			t.Fatalf("event at %d, asked for %d..%d", e.at, now, limit)
		}
		now = e.at
		got = append(got, key{e.at, e.arg()})
		if seq < 20_000 {
			push()
		}
	}
	slices.SortStableFunc(want, func(a, b key) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return int(a.seq) - int(b.seq)
	})
	if !slices.Equal(got, want) {
		t.Error("events came out of order")
	}
}

func BenchmarkEventQueue(b *testing.B) { // hold model: 1e5 events, delays of a busy 400G network
	rng := rand.New(rand.NewPCG(1, 1))
	var q eventQueue
	delays := make([]int64, 1<<16)
	for i := range delays {
		switch r := rng.UintN(100); {
		case r < 55:
			delays[i] = full
		case r < 90:
			delays[i] = 500_000 + rng.Int64N(500_000)
		default:
			delays[i] = 5_000_000 + rng.Int64N(50_000_000)
		}
	}
	for i := range 100_000 {
		q.push(event{at: delays[i&0xffff]})
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		e, _ := q.pop(never)
		i++
		e.at += delays[i&0xffff]
		q.push(e)
	}
}
