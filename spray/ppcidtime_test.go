package spray

import (
	"math/rand/v2"
	"testing"

	"github.com/shunt-network/shunt/units"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		refresh units.Duration
		bits    int
	}{{200 * units.Millisecond, 25}, {10 * units.Millisecond, 20}, {units.Millisecond, 17}, {100 * units.Microsecond, 14}, {2 * units.Second, 28}} {
		if got := TickBits(c.refresh); got != c.bits {
			t.Errorf("%s: %d bits, want %d", c.refresh, got, c.bits)
		}
	}
	if Ticks(-1) != 0 || Ticks(25*units.Nanosecond) != 2 {
		t.Error("ticks")
	}
}

// What the limits promise is tried on pairs of packets of one sender: inside the limits every answer is right; outside, some are
// wrong or there is none. A hash never gives an answer.
func TestLimitsOfTime(t *testing.T) {
	const refresh = 200 * units.Millisecond
	rng := rand.New(rand.NewPCG(2, 3))
	for _, r := range []TimeReading{TimeLow, TimeHigh, TimeHash} {
		for _, n := range []int{2, 3, 8, 16} {
			l, err := LimitsOfTime(r, n, refresh)
			if err != nil {
				t.Fatal(err)
			}
			var inside, outside, failed int
			for range 20000 {
				d := Tick << rng.IntN(24)
				a := units.Duration(rng.Int64N(int64(refresh - min(d, refresh-1))))
				if a+d >= refresh {
					continue
				}
				first, known := r.Before(Ticks(a), Ticks(a+d), n, l.Needed)
				switch {
				case d >= l.From && d <= l.To && l.To > 0:
					inside++
					if !known || !first {
						t.Fatalf("%s with %d bits: %s and %s: first %t, known %t, within %s to %s", r, n, a, a+d, first, known, l.From, l.To)
					}
				default:
					outside++
					if !known || !first {
						failed++
					}
				}
			}
			if r == TimeHash && (inside > 0 || failed != outside) {
				t.Errorf("a hash ordered packets: %d inside, %d of %d failed", inside, failed, outside)
			}
			if r != TimeHash && (inside == 0 || failed < outside/4) {
				t.Errorf("%s with %d bits: %d inside, %d of %d outside failed", r, n, inside, failed, outside)
			}
		}
	}
	// The article's 8 bits: 78125 counts of a refresh share each value; the low bits order packets up to 1.27 us apart, which at
	// 400 Gbit/s are 15 packets.
	l, err := LimitsOfTime(TimeLow, 8, refresh)
	if err != nil || l.Alike != 78125 || l.To != 1270*units.Nanosecond || l.Needed != 25 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, bad := range []struct {
		r TimeReading
		n int
	}{{TimeLow, 0}, {TimeLow, 17}, {"middle", 4}} {
		if _, err := LimitsOfTime(bad.r, bad.n, refresh); err == nil {
			t.Errorf("%s with %d bits", bad.r, bad.n)
		}
	}
}

// A count that starts again cannot order across an update: of pairs 100 ns apart, sent at any time of a refresh of 10 us, one in
// a hundred straddles one, and each of these comes out the wrong way round even with the whole count.
func TestTimeAcrossAnUpdate(t *testing.T) {
	const refresh = 10 * units.Microsecond
	need, wrong, straddling := TickBits(refresh), 0, 0
	for at := units.Duration(0); at < 100*refresh; at += Tick {
		a, b := at%refresh, (at+100*units.Nanosecond)%refresh
		first, known := TimeLow.Before(Ticks(a), Ticks(b), 16, need)
		if b < a {
			straddling++
			if known && !first {
				wrong++
			}
		} else if !known || !first {
			t.Fatalf("%s and %s", a, b)
		}
	}
	if straddling != 1000 || wrong != straddling {
		t.Errorf("%d of %d pairs across an update came out wrong", wrong, straddling)
	}
}
