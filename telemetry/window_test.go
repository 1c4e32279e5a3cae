package telemetry

import (
	"testing"

	"github.com/shunt-network/shunt/units"
)

func counter(values ...uint64) (*Window, Key) {
	w, k := NewWindow(units.At(0), units.At(int64(units.Second))), Key{NICTxBytes, "host0/mlx5_0", 3}
	for i, v := range values {
		w.Add(k, Sample{At: units.At(int64(i) * int64(units.Second)), Count: v}, 1, "test", false)
	}
	return w, k
}

func TestDelta(t *testing.T) {
	for _, c := range []struct {
		values []uint64
		want   float64
		ok     bool
	}{
		{nil, 0, false},
		{[]uint64{7}, 0, false},
		{[]uint64{7, 7}, 0, true},
		{[]uint64{7, 10, 30}, 23, true},
		{[]uint64{100, 110, 4}, 14, true}, // reset: 10 before it, 4 since
		{[]uint64{1 << 60, 1<<60 + 3}, 3, true},
	} {
		w, k := counter(c.values...)
		if got, ok := w.Delta(k); got != c.want || ok != c.ok {
			t.Errorf("Delta of %v = %v, %v; want %v, %v", c.values, got, ok, c.want, c.ok)
		}
	}
}

func TestRateNeedsTimes(t *testing.T) {
	w, k := counter(0, 10, 40)
	if r, ok := w.Rate(k); !ok || r != 20 {
		t.Errorf("Rate = %v, %v; want 20 a second", r, ok)
	}
	untimed, key := NewWindow(units.At(0), units.At(0)), k
	untimed.Add(key, Sample{Count: 1}, 1, "before.txt", true)
	untimed.Add(key, Sample{Count: 9}, 1, "after.txt", true)
	if _, ok := untimed.Rate(key); ok {
		t.Error("samples without times gave a rate")
	}
	if d, ok := untimed.Delta(key); !ok || d != 8 {
		t.Errorf("Delta = %v, %v; want 8: the order is known", d, ok)
	}
}

func TestOnset(t *testing.T) {
	w, k := counter(5, 5, 5, 6, 105)
	if at, ok := w.Onset(k, 0.01); !ok || at != units.At(int64(3*units.Second)) {
		t.Errorf("Onset = %v, %v; want 3 s, when the first of a hundred came", at, ok)
	}
	if _, ok := w.Onset(k, 0.01); !ok {
		t.Error("no onset")
	}
	flat, k2 := counter(5, 5)
	if _, ok := flat.Onset(k2, 0.01); ok {
		t.Error("a counter that did not grow has an onset")
	}
}
