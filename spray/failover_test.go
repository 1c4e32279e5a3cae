package spray

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

// played runs the failover and gives the results by scheme.
func played(t *testing.T, change func(*FailoverConfig)) map[IDScheme]FailoverResult {
	t.Helper()
	c := DefaultFailover()
	change(&c)
	list, err := Failover(c)
	if err != nil {
		t.Fatal(err)
	}
	all := map[IDScheme]FailoverResult{}
	for _, r := range list {
		all[r.Scheme] = r
	}
	return all
}

// claim is the share of decode errors during failover that article 000 gives for the fingerprint: under 0.0001 % (S0.6).
const claim = 1e-6

// The ordering, for five seeds: a number given to the path has no decode error at all. A port number has some for as long as the
// receiver does not know, once. Both forms of the fingerprint have them all the time, at least a hundred times as many as the port
// number during the failover; the hash of errors after correction is the same for all links and tells nothing.
func TestFailoverOrdering(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		r := played(t, func(c *FailoverConfig) { c.Seed = seed })
		during := func(s IDScheme) float64 { x := r[s]; return x.During.Share() }
		if x := r[IDStable]; x.All.Share() != 0 || x.Changes != 0 || x.Alike != 0 {
			t.Errorf("seed %d: a stable id: %+v", seed, x)
		}
		// A path of 16 is unknown for 1 ms less the flight of 10 us, of 100 ms: 0.0619 %.
		want := 0.990 / 100 / 16
		if got := during(IDPort); math.Abs(got/want-1) > 0.01 {
			t.Errorf("seed %d: the port number: %.4g during the failover, want %.4g", seed, got, want)
		}
		if x := r[IDPort]; x.All.Unknown != x.During.Unknown || x.All.Wrong != 0 || x.Changes != 1 {
			t.Errorf("seed %d: the port number fails outside the failover: %+v", seed, x)
		}
		for _, s := range []IDScheme{IDHash, IDSmooth, IDPostFEC} {
			if during(s) < 100*during(IDPort) {
				t.Errorf("seed %d: %s: %.3g during the failover, the port number %.3g", seed, s, during(s), during(IDPort))
			}
			if during(s) < claim {
				t.Errorf("seed %d: %s has fewer decode errors than claimed: %.3g", seed, s, during(s))
			}
			if x := r[s]; x.All.Share() < x.During.Share()/2 || x.All.Share() > x.During.Share()*2 {
				t.Errorf("seed %d: %s is to fail as much without a failover: %.3g, during %.3g", seed, s, x.All.Share(), x.During.Share())
			}
		}
		// Half of 16 paths and more share an id of four steps a decade; all share that of an empty sample.
		if x := r[IDSmooth]; x.Alike < 8 {
			t.Errorf("seed %d: smooth ids: %+v", seed, x)
		}
		if x := r[IDPostFEC]; x.Alike != 16 || x.Empty < x.Samples-3 || x.Samples == 0 {
			t.Errorf("seed %d: after correction: %+v", seed, x)
		}
		if x := r[IDHash]; x.Empty != 0 {
			t.Errorf("seed %d: %d samples before correction counted no error", seed, x.Empty)
		}
	}
}

// The hash in closed form, without collisions: a count changes almost surely from one sample to the next, and then the receiver is
// behind for 990 us of 10 ms. With 32 bits collisions are rare; but equal counts of two links are not.
func TestHashedFingerprintClosedForm(t *testing.T) {
	r := played(t, func(c *FailoverConfig) { c.IDBits, c.BER, c.Spread = 32, 1e-5, 0.5 }) // counts of 40,000, which are seldom equal
	x := r[IDHash]
	if got := x.All.Share(); math.Abs(got-0.099) > 0.002 {
		t.Errorf("%.4f, want 0.099", got)
	}
}

// Finer steps tell more paths apart and change more often: there is no good number of them.
func TestSmoothIsATradeOff(t *testing.T) {
	coarse := played(t, func(c *FailoverConfig) { c.Steps = 4 })[IDSmooth]
	fine := played(t, func(c *FailoverConfig) { c.Steps = 256 })[IDSmooth]
	if coarse.Alike <= fine.Alike || coarse.Changes > 10 || fine.Changes < 1000 {
		t.Errorf("coarse %+v, fine %+v", coarse, fine)
	}
	least := 1.0
	for steps := 1; steps <= 1000; steps += 1 + steps/2 {
		x := played(t, func(c *FailoverConfig) { c.Steps, c.IDBits = steps, 32 })[IDSmooth]
		least = min(least, x.During.Share())
	}
	if least < 1000*claim {
		t.Errorf("some number of steps has only %.3g decode errors", least)
	}
}

// The model is fair to the fingerprint: two links that differ by far in quality are told apart by it for good, and only the failover
// itself is missed, as with the port number.
func TestSmoothWithFewUnlikePaths(t *testing.T) {
	found := false
	for seed := uint64(1); seed <= 20; seed++ {
		r := played(t, func(c *FailoverConfig) { c.Paths, c.BER, c.Spread, c.Seed, c.IDBits = 2, 1e-5, 2, seed, 32 })
		x, port := r[IDSmooth], r[IDPort]
		if x.Alike == 0 && x.Changes == 1 && x.All == port.All {
			found = true
		}
	}
	if !found {
		t.Error("with two links of unlike quality the fingerprint never did as well as the port number")
	}
}

// Ids cut to too few bits: the spare's port is the 17th, and four bits call it as another one, for good.
func TestPortCutToFewBits(t *testing.T) {
	x := played(t, func(c *FailoverConfig) { c.IDBits = 4 })[IDPort]
	if x.Alike != 2 || x.All.Wrong == 0 {
		t.Errorf("%+v", x)
	}
}

// All schemes send the same packets: as many as the line takes, each path as many as the others.
func TestFailoverCountsAllPackets(t *testing.T) {
	c := DefaultFailover()
	each := units.Serialize(c.Wire, c.Rate)
	for s, r := range played(t, func(*FailoverConfig) {}) {
		if want := uint64((c.Stretch + each - 1) / each); r.All.Packets != want {
			t.Errorf("%s: %d packets, want %d", s, r.All.Packets, want)
		}
		if want := float64(c.During / each); math.Abs(float64(r.During.Packets)-want) > float64(c.Paths) {
			t.Errorf("%s: %d packets during the failover, want %.0f", s, r.During.Packets, want)
		}
	}
	if a, b := played(t, func(*FailoverConfig) {}), played(t, func(*FailoverConfig) {}); !cmp.Equal(a, b) {
		t.Error("two runs of one seed differ")
	}
}

// How soon a receiver would have to learn of a port number, so that it does as well as the article claims of the fingerprint: played
// with that time, the share is the claim.
func TestUpdateFor(t *testing.T) {
	c := DefaultFailover()
	c.Update = c.UpdateFor(claim)
	if want := 11600 * units.Nanosecond; c.Update != want {
		t.Errorf("%s, want %s", c.Update, want)
	}
	x := played(t, func(d *FailoverConfig) { *d = c })[IDPort]
	if got := x.During.Share(); got < claim/2 || got > claim*2 {
		t.Errorf("%.3g", got)
	}
}

func TestFailoverConfig(t *testing.T) {
	for name, change := range map[string]func(*FailoverConfig){
		"one path":           func(c *FailoverConfig) { c.Paths = 1 },
		"no bits":            func(c *FailoverConfig) { c.IDBits = 0 },
		"too many bits":      func(c *FailoverConfig) { c.IDBits = 33 },
		"no steps":           func(c *FailoverConfig) { c.Steps = 0 },
		"no rate":            func(c *FailoverConfig) { c.Rate = 0 },
		"not a number":       func(c *FailoverConfig) { c.BER = math.NaN() },
		"spread":             func(c *FailoverConfig) { c.Spread = math.Inf(1) },
		"correction":         func(c *FailoverConfig) { c.PostFEC = 1 },
		"no sample":          func(c *FailoverConfig) { c.Sample = 0 },
		"too many samples":   func(c *FailoverConfig) { c.Sample = units.Nanosecond },
		"update":             func(c *FailoverConfig) { c.Update = c.Sample + 1 },
		"update in a flight": func(c *FailoverConfig) { c.Update = c.Flight - 1 },
		"failover too late":  func(c *FailoverConfig) { c.FailAt = c.Stretch },
	} {
		c := DefaultFailover()
		change(&c)
		if _, err := Failover(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, at := range []units.Duration{0, 3 * units.Millisecond, 9999 * units.Microsecond, 10 * units.Millisecond} { // within a period and at its ends
		r := played(t, func(c *FailoverConfig) { c.FailAt = at })
		if x := r[IDPort]; x.During.Unknown == 0 || x.Changes != 1 {
			t.Errorf("failing at %s: %+v", at, x)
		}
		if x := r[IDStable]; x.All.Share() != 0 {
			t.Errorf("failing at %s: %+v", at, x)
		}
	}
}

// Mean and variance of a Poisson count are its parameter; bounds are five standard errors, that of the variance being
// sqrt((2+1/m)/n) of it.
func TestPoisson(t *testing.T) {
	const n = 40000
	rng := rand.New(rand.NewPCG(9, 9))
	for _, mean := range []float64{0.01, 0.5, 9.9, 10, 12, 40, 4000, 4e5} {
		sum, squares := 0.0, 0.0
		for range n {
			v := float64(poisson(rng, mean)) - mean
			sum += v
			squares += v * v
		}
		if off := sum / n; math.Abs(off) > 5*math.Sqrt(mean/n) {
			t.Errorf("mean of %g is off by %g", mean, off)
		}
		if off := squares/n/mean - 1; math.Abs(off) > 5*math.Sqrt((2+1/mean)/n) {
			t.Errorf("variance of %g is off by %.1f %%", mean, 100*off)
		}
	}
	if poisson(rng, 0) != 0 || poisson(rng, -1) != 0 {
		t.Error("a mean of nothing")
	}
}
