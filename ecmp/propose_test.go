package ecmp

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/spray"
)

func proposal(t *testing.T, r *Report, what string) Proposal {
	t.Helper()
	for _, p := range r.Proposals {
		if strings.Contains(p.What, what) {
			return p
		}
	}
	t.Fatalf("nothing proposed like %q: %+v", what, r.Proposals)
	return Proposal{}
}

// Few large flows: the best of 64 seeds suits them, and is no better on flows that were not looked at; more QPs are.
func TestTheBestSeedIsLuck(t *testing.T) {
	s := job(5, rand.New(rand.NewPCG(4, 1))) // 20 flows
	mixer := Config{Fields: FiveTuple, Hash: spray.HashConfig{Algorithm: spray.Random}}
	r := analyse(t, s, Options{Config: mixer, Paths: 4, Propose: true})
	seed := proposal(t, r, "best of 64 seeds")
	if !(seed.Here < r.Worst) || seed.Verdict != Overfits {
		t.Errorf("the best seed has %.2f of %.2f here and %+v elsewhere: %s", seed.Here, r.Worst, seed.Elsewhere, seed.Verdict)
	}
	if seed.Gain-seed.GainError > worthwhile*r.Elsewhere.Mean {
		t.Errorf("a seed gains %.3f +- %.3f on flows that it was not chosen by", seed.Gain, seed.GainError)
	}
	many := proposal(t, r, "16 times the QPs")
	if many.Verdict != Proven || !(many.Elsewhere.Mean < r.Elsewhere.Mean*0.8) || !strings.Contains(many.How, "NCCL_IB_QPS_PER_CONNECTION=16") {
		t.Errorf("16 QPs: %+v, as it is %+v", many, *r.Elsewhere)
	}
	if r.NeedQPs < 2 {
		t.Errorf("%d QPs would do", r.NeedQPs)
	}
}

// A CRC is linear: its seed changes the hashes of all flows by one constant, which for a power of two of paths swaps whole paths.
func TestSeedsOfACRCAreAlike(t *testing.T) {
	s := job(5, rand.New(rand.NewPCG(4, 1)))
	p := proposal(t, analyse(t, s, Options{Config: crc(FiveTuple), Paths: 4, Propose: true}), "any other seed")
	if p.Verdict != NoGain || p.Gain != 0 {
		t.Errorf("%+v", p)
	}
	if p := proposal(t, analyse(t, s, Options{Config: crc(FiveTuple), Paths: 3, Propose: true}), "best of 64 seeds"); p.Here >= 1.8 {
		t.Errorf("of three paths: %+v", p) // 20 flows over 3 at random: the fullest has 9 or more
	}
}

// Where adapters use one source port for all QPs, the 5-tuple cannot tell the QPs of two addresses apart: more of them change nothing until the
// destination QPN is hashed.
func TestOnePortForAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	s := newDrawer(job(4, rng)).draw(rng, 16)
	for i := range s.Flows {
		s.Flows[i].SrcPort = 49152
	}
	r := analyse(t, s, Options{Config: crc(FiveTuple), Paths: 8, Propose: true})
	if o := r.Occupancy; o.Keys != 12 || !o.FieldsToBlame() {
		t.Errorf("%d keys", o.Keys)
	}
	if p := proposal(t, r, "destination QPN as well"); p.Verdict != Proven {
		t.Errorf("hashing the QPN: %+v, as it is %+v", p, *r.Elsewhere)
	}
	if p := proposal(t, r, "4 times the QPs"); p.Verdict == Proven {
		t.Errorf("more QPs with one port: %+v, as it is %+v", p, *r.Elsewhere)
	}
	if !slices.ContainsFunc(r.Conclusions, func(c string) bool { return strings.Contains(c, "1 UDP source port for all") }) {
		t.Errorf("it concludes %q", r.Conclusions)
	}
}

func TestTooFewFlows(t *testing.T) {
	s := job(2, rand.New(rand.NewPCG(6, 1)))
	r := analyse(t, s, Options{Config: crc(FiveTuple), Paths: 8})
	if !slices.ContainsFunc(r.Conclusions, func(c string) bool { return strings.Contains(c, "2 flows are fewer than 8 links: no hash can") }) {
		t.Errorf("it concludes %q", r.Conclusions)
	}
}

// What is drawn anew: ends and sizes stay, QPNs count up on every adapter, ports follow the rule.
func TestRedraw(t *testing.T) {
	s := job(6, rand.New(rand.NewPCG(7, 1)))
	s.Bytes = true
	for i := range s.Flows {
		s.Flows[i].Bytes = 1000
	}
	s.Flows = append(s.Flows, Flow{Src: host(1), Dst: host(2), Protocol: 6, SrcPort: 40000, DstPort: 443, Bytes: 7})
	out := newDrawer(s).draw(rand.New(rand.NewPCG(8, 1)), 4)
	if len(out.Flows) != 4*len(s.Flows) || len(s.Flows) != 31 {
		t.Fatalf("%d flows of %d", len(out.Flows), len(s.Flows))
	}
	changed := 0
	for i, f := range out.Flows {
		was := s.Flows[i/4]
		if f.Src != was.Src || f.Dst != was.Dst || f.Conn != was.Conn || f.Bytes != was.Bytes/4 || f.DstPort != was.DstPort {
			t.Fatalf("flow %d: %+v of %+v", i, f, was)
		}
		if f.SrcPort != was.SrcPort {
			changed++
		}
		if f.RoCE() && f.SrcPort < 0xc000 || !f.RoCE() && f.SrcPort < ephemeralFirst {
			t.Errorf("source port %d", f.SrcPort)
		}
	}
	if changed < 100 {
		t.Errorf("%d of %d ports changed", changed, len(out.Flows))
	}
	if again := newDrawer(s).draw(rand.New(rand.NewPCG(8, 1)), 4); !slices.Equal(again.Flows, out.Flows) {
		t.Error("the same stream draws other flows")
	}
	if other := newDrawer(s).draw(rand.New(rand.NewPCG(9, 1)), 4); slices.Equal(other.Flows, out.Flows) {
		t.Error("another stream draws the same flows")
	}
}

func TestLimits(t *testing.T) {
	s := job(3, rand.New(rand.NewPCG(1, 1)))
	for _, o := range []Options{
		{Config: crc(FiveTuple), Paths: 1}, {Config: crc(FiveTuple), Paths: MaxPaths + 1}, {Config: crc(FiveTuple), Buckets: MaxBuckets + 1},
		{Config: crc(FiveTuple), Buckets: -1}, {Config: crc(FiveTuple), Tiers: maxTiers + 1},
		{Config: Config{Fields: FiveTuple, Hash: spray.HashConfig{Algorithm: "md5"}}},
	} {
		if _, err := Analyse(context.Background(), s, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := Analyse(context.Background(), &Set{}, Options{Config: crc(FiveTuple)}); !errors.Is(err, ErrNoFlows) {
		t.Errorf("no flows: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Analyse(ctx, s, Options{Config: crc(FiveTuple), Paths: 4, Propose: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Many flows take seconds and not minutes: what is tried shrinks with them. Counted are flows hashed, and no time.
func TestWorkIsBounded(t *testing.T) {
	s := job(40, rand.New(rand.NewPCG(1, 1)))
	r := analyse(t, s, Options{Config: crc(FiveTuple), Paths: 4, Propose: true})
	work := 0
	for _, p := range r.Proposals {
		work += p.Draws * len(s.Flows) * max(1, p.QPs)
	}
	if r.Draws < leastDraws || work > drawWork+leastDraws*len(s.Flows) {
		t.Errorf("%d draws, %d flows hashed", r.Draws, work)
	}
}
