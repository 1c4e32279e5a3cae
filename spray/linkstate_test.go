package spray

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

func TestScore(t *testing.T) {
	c := LinkStateConfig{Utilisation: 200, Queue: 100, Errors: 255}
	for _, tc := range []struct {
		name string
		load Load
		want uint8
	}{
		{"idle", Load{}, 255},
		{"half used", Load{Utilisation: 0.5}, 155},
		{"half used, queue a quarter", Load{Utilisation: 0.5, Queue: 0.25}, 130},
		{"full", Load{Utilisation: 1}, 55},
		{"full, and a full queue", Load{Utilisation: 1, Queue: 1}, 1}, // up all the same
		{"unusable", Load{Errors: 1}, 1},
		{"down", Load{Down: true}, 0},
		{"out of range", Load{Utilisation: 7, Queue: -3}, 55},
		{"no number", Load{Utilisation: math.NaN()}, 55},
	} {
		if got := c.Score(tc.load); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func FuzzScore(f *testing.F) {
	f.Add(255.0, 255.0, 0.0, 0.5, 0.1, 0.0)
	f.Add(math.Inf(1), math.NaN(), -3.0, 0.0, 1.0, math.Inf(-1))
	f.Fuzz(func(t *testing.T, a, b, c, utilisation, queue, errors float64) {
		config := LinkStateConfig{Utilisation: a, Queue: b, Errors: c}
		if config.Score(Load{utilisation, queue, errors, false}) == 0 {
			t.Error("a port that is up scores 0")
		}
		if a >= 0 && b >= 0 && c >= 0 && config.Score(Load{Utilisation: 1, Queue: 1, Errors: 1}) > config.Score(Load{Queue: queue}) {
			t.Error("the worst load scores more than a better one")
		}
	})
}

// A view of whole paths: a path is as good as its worst link. A leaf that looks at its own port alone takes a path with a slow second link for idle.
func TestPathView(t *testing.T) {
	c := LinkStateConfig{}.Defaults()
	near, far := Load{Utilisation: 0.2, Errors: 0.01}, Load{Utilisation: 0.9, Queue: 0.3}
	if diff := cmp.Diff(Load{Utilisation: 0.9, Queue: 0.3, Errors: 0.01}, near.Worst(far)); diff != "" {
		t.Error(diff)
	}
	if local, path := c.Score(near), c.Score(near.Worst(far)); path >= local/2 {
		t.Errorf("the port scores %d, the path %d", local, path)
	}
	if !near.Worst(Load{Down: true}).Down {
		t.Error("a path over a link that is down is not down")
	}
}

func us(n int64) units.Instant { return units.At(n * int64(units.Microsecond)) }

func TestReadings(t *testing.T) {
	l := NewLinkState(2, LinkStateConfig{Utilisation: 255}, 1, 1)
	if _, ok := l.Age(0, us(5)); ok || l.Scores()[0] != 255 {
		t.Error("a port that was never read has an age")
	}
	l.Read(0, us(10), Load{Utilisation: 0.6})
	if age, ok := l.Age(0, us(35)); !ok || age != 25*units.Microsecond {
		t.Errorf("age %v, %v", age, ok)
	}
	l.Read(0, us(8), Load{}) // overtaken on its way
	if diff := cmp.Diff([]uint8{102, 255}, l.Scores()); diff != "" {
		t.Error(diff)
	}
	if _, ok := l.Age(1, us(35)); ok {
		t.Error("the reading of one port made the other known")
	}
}

// Readings come once a period, each late by at most the jitter, evenly, and the lateness does not add up.
func TestRefreshAndJitter(t *testing.T) {
	const n = 2000
	c := LinkStateConfig{Refresh: 100 * units.Microsecond, Jitter: 40 * units.Microsecond}
	l, same, other := NewLinkState(1, c, 3, 9), NewLinkState(1, c, 3, 9), NewLinkState(1, c, 3, 10)
	now, differ, sum := units.At(0), 0, 0.0
	for i := range int64(n) {
		at := l.Next(now)
		late := at.Sub(us(100 * (i + 1)))
		if late < 0 || late > c.Jitter || !at.After(now) {
			t.Fatalf("reading %d comes at %v, after %v", i, at, now)
		}
		if same.Next(now) != at {
			t.Fatal("the same seed gives another time")
		}
		if other.Next(now) != at {
			differ++
		}
		sum += float64(late)
		now = at
	}
	if mean := sum / n / float64(c.Jitter); mean < 0.47 || mean > 0.53 || differ < n-5 {
		t.Errorf("the mean lateness is %.2f of the jitter, %d of %d differ in another table", mean, differ, n)
	}
	// More jitter than period: readings stay in order.
	wild, now := NewLinkState(1, LinkStateConfig{Refresh: 10, Jitter: 1000}, 1, 1), units.At(0)
	for range 1000 {
		at := wild.Next(now)
		if !at.After(now) {
			t.Fatal("readings out of order")
		}
		now = at
	}
}

// S0.13: a paused port sends nothing, so by its utilisation it looks like the best of all. Its queue tells, and pause feedback tells at once.
func TestPause(t *testing.T) {
	slow := LinkStateConfig{Utilisation: 255}
	if idle, paused := slow.Score(Load{Utilisation: 0.5}), slow.Score(Load{Utilisation: 0, Queue: 1}); paused <= idle {
		t.Errorf("by utilisation alone a paused port scores %d and a port in use %d", paused, idle)
	}
	c := LinkStateConfig{}.Defaults()
	if idle, paused := c.Score(Load{Utilisation: 0.5}), c.Score(Load{Utilisation: 0, Queue: 1}); paused >= idle {
		t.Errorf("with its queue a paused port scores %d and a port in use %d", paused, idle)
	}

	deaf := NewLinkState(2, c, 1, 1)
	if deaf.Pause(0, true) || deaf.Scores()[0] != 255 {
		t.Error("a pause was told without pause feedback")
	}
	c.PauseFeedback = true
	l := NewLinkState(2, c, 1, 1)
	table := NewTable(64, 2)
	l.Read(0, us(1), Load{Utilisation: 0.2})
	if !l.Pause(0, true) || l.Pause(0, true) {
		t.Error("a pause changes the table once")
	}
	table.Reweigh(l.Scores(), TableConfig{MaxStep: 1, Hysteresis: 50})
	if table.Buckets(0) != 0 {
		t.Errorf("a paused port keeps %d buckets", table.Buckets(0))
	}
	l.Read(0, us(2), Load{Utilisation: 0.4}) // does not lift the pause
	if diff := cmp.Diff([]uint8{0, 255}, l.Scores()); diff != "" {
		t.Error(diff)
	}
	if !l.Pause(0, false) {
		t.Error("the end of a pause changes nothing")
	}
	if diff := cmp.Diff([]uint8{153, 255}, l.Scores()); diff != "" {
		t.Error(diff)
	}
}

// What a sprayer knows of a port is as old as its reading: with refresh T and no jitter the age that packets meet is even between 0 and T.
func TestAgeOfWhatPacketsMeet(t *testing.T) {
	const period = 200 * units.Microsecond
	l := NewLinkState(1, LinkStateConfig{Refresh: period}, 1, 1)
	next, sum, worst, n := l.Next(units.At(0)), 0.0, units.Duration(0), 0
	for ps := int64(period); ps < 100*int64(period); ps += int64(units.Microsecond) {
		now := units.At(ps)
		if !now.Before(next) {
			l.Read(0, next, Load{})
			next = l.Next(next)
		}
		age, ok := l.Age(0, now)
		if !ok {
			t.Fatal("no reading")
		}
		sum, worst, n = sum+float64(age), max(worst, age), n+1
	}
	if mean := sum / float64(n) / float64(period); math.Abs(mean-0.5) > 0.01 || worst >= period {
		t.Errorf("mean age %.3f of the period, worst %v", mean, worst)
	}
}
