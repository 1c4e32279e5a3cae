package spray

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shunt-network/shunt/units"
)

// What is a good path id? Failover plays the question through. A sender sprays evenly over paths; each path goes over a link whose
// raw bit errors are counted each sampling period. A packet carries the id of its path, cut to the bits that its layout has. The
// receiver has a table of ids and paths, and learns of a change of ids a while after the sender made it. At a given time the link
// of one path fails and a spare one takes its place; what is lost meanwhile is not the id's doing and is not counted.
//
// A decode error is a packet whose id the receiver does not know, or takes for another path's. What favours the fingerprint: links
// do not drift, sender and receiver agree on each sample (they count at different ends of a link, so they would not), and an
// update reaches all receivers at once.

// IDScheme is what a path is named by.
type IDScheme string

// Schemes.
const (
	IDPort    IDScheme = "port"    // the number of the switch port: changes at a failover, else never
	IDHash    IDScheme = "hash"    // article 000: hash of the last sample of errors before correction
	IDSmooth  IDScheme = "smooth"  // the same with what can be done for it: a mean of samples, in coarse steps that stick
	IDPostFEC IDScheme = "postfec" // hash of the last sample of errors after correction
	IDStable  IDScheme = "stable"  // a number that was given to the path, quality apart (Fingerprint)
)

// Choices lists the schemes.
func (IDScheme) Choices() []string {
	return []string{string(IDPort), string(IDHash), string(IDSmooth), string(IDPostFEC), string(IDStable)}
}

// FailoverConfig is the stretch that is played.
type FailoverConfig struct {
	Seed    uint64
	Paths   int
	Rate    units.Rate  // of the sender, and of each link
	Wire    units.Bytes // of a packet
	BER     float64     // bit error rate before correction in the middle of the links
	Spread  float64     // decades up and down from it within which the links lie
	PostFEC float64     // bit error rate after correction
	Sample  units.Duration
	Update  units.Duration // from a change of an id until the receiver knows; Flight to Sample
	Flight  units.Duration // of a packet
	Stretch units.Duration
	FailAt  units.Duration
	During  units.Duration // counted as "during failover" from FailAt on
	IDBits  int            // that a packet has for the path, 1 to 32
	Steps   int            // a decade, of IDSmooth
}

// DefaultFailover is 16 paths at 400 Gbit/s for 10 seconds, failing in the middle. Raw error rates lie a decade around 1e-7: 802.3
// allows 2.4e-4 before RS(544,514), and good optics stay far below. After correction 1e-15. The receiver learns of a change within a
// millisecond, which is quick for a control plane. Eight bits of path are the most that a layout here has.
func DefaultFailover() FailoverConfig {
	return FailoverConfig{Seed: 1, Paths: 16, Rate: 400 * units.Gbps, Wire: RoCEWire, BER: 1e-7, Spread: 1, PostFEC: 1e-15, Sample: 10 * units.Millisecond,
		Update: units.Millisecond, Flight: 10 * units.Microsecond, Stretch: 10 * units.Second, FailAt: 5 * units.Second, During: 100 * units.Millisecond, IDBits: 8, Steps: 4}
}

// Check tells what is wrong with a configuration.
func (c *FailoverConfig) Check() error {
	const mostPaths, mostSamples = 4096, 1_000_000
	switch {
	case c.Paths < 2 || c.Paths > mostPaths:
		return fmt.Errorf("%d paths: 2 to %d", c.Paths, mostPaths)
	case c.IDBits < 1 || c.IDBits > 32:
		return fmt.Errorf("%d bits of id: 1 to 32", c.IDBits)
	case c.Steps < 1 || c.Steps > 1000:
		return fmt.Errorf("%d steps a decade: 1 to 1000", c.Steps)
	case c.Rate <= 0 || c.Wire <= 0:
		return fmt.Errorf("rate and packet must be more than 0")
	case !(c.BER > 0 && c.BER < 0.5) || !(c.PostFEC >= 0 && c.PostFEC <= c.BER) || !(c.Spread >= 0 && c.Spread <= 4):
		return fmt.Errorf("bit error rate %g, after correction %g, spread %g decades: up to 0.5, less after correction, up to 4 decades", c.BER, c.PostFEC, c.Spread)
	case c.Sample <= 0 || c.Stretch < c.Sample || c.Stretch/c.Sample > mostSamples:
		return fmt.Errorf("a stretch of %s in samples of %s: 1 to %d of them", c.Stretch, c.Sample, mostSamples)
	case c.Flight < 0 || c.Update < c.Flight || c.Update > c.Sample:
		return fmt.Errorf("an update takes %s: from the flight of a packet (%s) to a sample (%s)", c.Update, c.Flight, c.Sample)
	case c.FailAt < 0 || c.During <= 0 || c.FailAt+c.During > c.Stretch:
		return fmt.Errorf("the failover from %s to %s must lie within the %s played", c.FailAt, c.FailAt+c.During, c.Stretch)
	}
	return nil
}

// UpdateFor is how soon the receiver would have to learn of a failover, so that a path id that changes with the link, and at nothing
// else, stays below a share of decode errors during the failover: one path of all is decoded wrongly until then.
func (c *FailoverConfig) UpdateFor(share float64) units.Duration {
	return units.Duration(share*float64(c.Paths)*float64(c.During)) + c.Flight
}

// DecodeCount counts packets and what became of their ids.
type DecodeCount struct {
	Packets uint64 `json:"packets"`
	Unknown uint64 `json:"unknown"` // the receiver did not know the id
	Wrong   uint64 `json:"wrong"`   // it took it for another path's
}

// Share is the share of packets with a decode error.
func (d DecodeCount) Share() float64 {
	if d.Packets == 0 {
		return 0
	}
	return float64(d.Unknown+d.Wrong) / float64(d.Packets)
}

// FailoverResult is how one scheme came out.
type FailoverResult struct {
	Scheme  IDScheme    `json:"scheme"`
	All     DecodeCount `json:"all"`
	During  DecodeCount `json:"during"`  // failover
	Changes int         `json:"changes"` // of ids of paths, over the stretch
	// Alike is how many paths at the end share their id with another one.
	Alike int `json:"alike"`
	// Samples is how many sampling periods of a link the scheme went by, and Empty in how many of them no error was counted.
	Samples int `json:"samples"`
	Empty   int `json:"empty_samples"`
}

// Failover plays the stretch once for each scheme, over the same links with the same errors.
func Failover(c FailoverConfig) ([]FailoverResult, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("spray: failover: %w", err)
	}
	var results []FailoverResult
	for _, name := range IDScheme("").Choices() {
		results = append(results, newFailoverRun(&c, IDScheme(name)).play())
	}
	return results, nil
}

// failoverRun is one scheme under way. Link l carries path l; the last link is the spare.
type failoverRun struct {
	c      *FailoverConfig
	scheme IDScheme
	rng    *rand.Rand
	ber    []float64     // of a link
	link   []int         // of a path
	last   []BERSample   // of a link
	mean   []LinkQuality // of a link
	step   []float64     // of a link: where its mean stuck (IDSmooth)
	id     []uint32      // of a path, as the sender writes it
	known  []uint32      // of a path, as the receiver has it
	owner  idTable
	result FailoverResult
}

func newFailoverRun(c *FailoverConfig, scheme IDScheme) *failoverRun {
	r := &failoverRun{c: c, scheme: scheme, rng: rand.New(rand.NewPCG(c.Seed, 0)), result: FailoverResult{Scheme: scheme},
		link: make([]int, c.Paths), id: make([]uint32, c.Paths), known: make([]uint32, c.Paths)}
	for range c.Paths + 1 {
		r.ber = append(r.ber, min(0.5, c.BER*math.Pow(10, c.Spread*(2*r.rng.Float64()-1))))
	}
	r.last, r.mean, r.step = make([]BERSample, c.Paths+1), make([]LinkQuality, c.Paths+1), make([]float64, c.Paths+1)
	for p := range r.link {
		r.link[p] = p
	}
	return r
}

// play goes from one sample to the next; between two, ids change at the sample, at the failover, and for the receiver an update later.
func (r *failoverRun) play() FailoverResult {
	c := r.c
	for range 64 { // samples from before the stretch, so that means have settled
		r.sample()
	}
	r.rename()
	r.learn()
	r.result = FailoverResult{Scheme: r.scheme}
	failed := false
	for at := units.Duration(0); at < c.Stretch; at += c.Sample {
		end := min(at+c.Sample, c.Stretch)
		if at > 0 {
			r.sample()
			r.rename()
		}
		if !failed && c.FailAt < end {
			// Before the failover the period is as any other; after it, the new link's id is on its way.
			failed = true
			r.stretch(at, min(at+c.Update-c.Flight, c.FailAt), c.FailAt)
			r.link[c.Paths/2] = c.Paths // the spare
			r.rename()
			r.stretch(c.FailAt, min(c.FailAt+c.Update-c.Flight, end), end)
			continue
		}
		r.stretch(at, min(at+c.Update-c.Flight, end), end)
	}
	shared := newIDTable(r.id)
	for _, id := range r.id {
		if shared.count(id) > 1 {
			r.result.Alike++
		}
	}
	return r.result
}

// stretch counts the packets from one time to another: up to heard the receiver goes by what it knew, after it by what is so. A
// packet sent less than a flight before the receiver's update finds the new table.
func (r *failoverRun) stretch(from, heard, to units.Duration) {
	r.count(from, heard)
	r.learn()
	r.count(max(from, heard), to)
}

// sample counts the errors of each link in one period. The schemes that go by errors before correction all see the same ones.
func (r *failoverRun) sample() {
	n := SampleBits(r.c.Rate, r.c.Sample)
	for l, ber := range r.ber {
		if r.scheme == IDPostFEC {
			ber = r.c.PostFEC
		}
		r.last[l] = BERSample{poisson(r.rng, ber*float64(n)), n}
		r.mean[l].Add(r.last[l])
		r.settle(l)
		r.result.Samples++
		if r.last[l].Errors == 0 {
			r.result.Empty++
		}
	}
}

// settle moves the step that a link's mean stands on: only once the mean is half a step past the border, so that noise does not move
// it to and fro.
func (r *failoverRun) settle(l int) {
	at := -math.MaxFloat64
	if q := &r.mean[l]; q.errors > 0 {
		at = float64(r.c.Steps) * math.Log10(q.errors/q.bits)
	}
	if at < r.step[l]-0.5 || at >= r.step[l]+1.5 {
		r.step[l] = math.Floor(at)
	}
}

// rename gives each path the id that its scheme has for it now.
func (r *failoverRun) rename() {
	mask := uint32(uint64(1)<<r.c.IDBits - 1)
	for p, l := range r.link {
		var id uint32
		switch r.scheme {
		case IDPort:
			id = uint32(l)
		case IDHash, IDPostFEC:
			id = HashedSample(r.last[l])
		case IDSmooth:
			id = scatter(uint32(int32(max(r.step[l], math.MinInt32))))
		case IDStable:
			id = uint32(NewFingerprint(uint16(p), 0, 0).Identity())
		}
		if id &= mask; id != r.id[p] {
			r.id[p] = id
			r.result.Changes++
		}
	}
}

// learn brings the receiver's table up to date.
func (r *failoverRun) learn() {
	copy(r.known, r.id)
	r.owner = newIDTable(r.known)
}

// count decodes the packets that are sent from one time to another, path by path: every path has each n-th packet.
func (r *failoverRun) count(from, to units.Duration) {
	if to <= from {
		return
	}
	each := units.Serialize(r.c.Wire, r.c.Rate)
	n := units.Duration(r.c.Paths)
	for p, id := range r.id {
		first := each * units.Duration(p) // the path's packets are sent at first + k*each*n
		sent := slots(to, first, each*n) - slots(from, first, each*n)
		owner, known := r.owner.find(id)
		r.add(&r.result.All, sent, owner == p, known)
		a, b := max(from, r.c.FailAt), min(to, r.c.FailAt+r.c.During)
		if b > a {
			r.add(&r.result.During, slots(b, first, each*n)-slots(a, first, each*n), owner == p, known)
		}
	}
}

func (*failoverRun) add(d *DecodeCount, packets uint64, right, known bool) {
	d.Packets += packets
	switch {
	case !known:
		d.Unknown += packets
	case !right:
		d.Wrong += packets
	}
}

// slots is how many of the times first + k*step, k from 0, lie before t.
func slots(t, first, step units.Duration) uint64 {
	if t <= first {
		return 0
	}
	return uint64((t - first + step - 1) / step)
}
