package source

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
)

// parsed reads a scenario.
func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("scenario.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// flowsOf are the flows that the job of a scenario opens, and the network that they are on.
func flowsOf(t *testing.T, s *scenario.Scenario) (*ecmp.Set, *fabric.Fabric) {
	t.Helper()
	f, plan, c, err := s.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	set, err := Scenario(context.Background(), f, plan, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set, f
}

// The analysis works out what a run of the example puts on every uplink, and names the leaf and link that L021 names there.
func TestScenarioAgainstTheRun(t *testing.T) {
	s, err := scenario.Load("../../examples/moe-collision")
	if err != nil {
		t.Fatal(err)
	}
	set, _ := flowsOf(t, s)
	r, err := ecmp.Analyse(context.Background(), set, ecmp.Options{Config: ecmp.Config{Fields: ecmp.FiveTuple, Hash: spray.HashConfig{Algorithm: ecmp.Simulator}}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]float64{}
	for _, l := range run.Loads() {
		sent[l.Port] = l.Bytes
	}
	links := 0
	for _, g := range r.Groups {
		for i, link := range g.Links {
			port, _, _ := strings.Cut(link, " ")
			// Payload against bytes on the wire: headers are 2 % of a full packet, and acknowledgements come back on other links, at 1.5 % of the
			// whole traffic, which is more of a link that carries little.
			if seen := sent[port]; math.Abs(g.Load[i]-seen) > 0.03*seen+0.03*g.Fair() {
				t.Errorf("%s carries %.3g bytes, and the analysis says %.3g", link, seen, g.Load[i])
			}
			links++
		}
	}
	if links != 4*4 {
		t.Errorf("%d uplinks were looked at, not 16", links)
	}
	hot := r.Groups[0]
	var named string
	for _, x := range run.Diagnose().Findings {
		if x.Code == "L021" {
			named = x.Title
		}
	}
	if link := hot.Links[hot.Hot]; named == "" || !strings.Contains(named, link) {
		t.Errorf("the fullest link is %s, and L021 says %q", link, named)
	}
	if math.Abs(hot.Ratio-2.2) > 0.1 {
		t.Errorf("it carries %.2fx its share, and L021 says 2.2x", hot.Ratio)
	}
}

// In a fat-tree whose switches all hash alike, a leaf's lowest bit is a spine's lowest bit: each spine sends all that a leaf gave it to the same
// half of its cores. The simulator's switches have salts, and do not.
func TestFatTreePolarises(t *testing.T) {
	set, _ := flowsOf(t, parsed(t, `title: a fat-tree
seed: 1
fabric: {topology: fat-tree, k: 4, link: {rate: 400Gbps, delay: 500ns}}
job:
  collective: {kind: alltoall, size: 64KiB}
`))
	tiers := func(h spray.HashConfig, behind ...spray.HashConfig) []ecmp.Tier {
		r, err := ecmp.Analyse(context.Background(), set, ecmp.Options{Config: ecmp.Config{Fields: ecmp.FiveTuple, Hash: h, Tiers: behind}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Tiers
	}
	alike := tiers(spray.HashConfig{Algorithm: spray.CRC32})
	if len(alike) != 2 || alike[0].Polarised() || !alike[1].Polarised() || alike[1].Idle*2 != alike[1].Links {
		t.Errorf("all alike: %+v", alike)
	}
	for name, second := range map[string][]ecmp.Tier{
		"salted":             tiers(spray.HashConfig{Algorithm: ecmp.Simulator}),
		"another polynomial": tiers(spray.HashConfig{Algorithm: spray.CRC32}, spray.HashConfig{Algorithm: spray.CRC32C}),
		"higher bits":        tiers(spray.HashConfig{Algorithm: spray.CRC32}, spray.HashConfig{Algorithm: spray.CRC32, Offset: 8}),
	} {
		if len(second) != 2 || second[1].Idle != 0 {
			t.Errorf("%s: %+v", name, second)
		}
	}
	if seed := tiers(spray.HashConfig{Algorithm: spray.CRC32}, spray.HashConfig{Algorithm: spray.CRC32, Seed: 9}); seed[1].Idle != alike[1].Idle {
		t.Errorf("another seed: %+v", seed)
	}
}

// Numbers, ports and hashes are those that netsim and flowsim hand out; with QPs on two planes and messages cut over them as well.
func TestQPsOfAConnection(t *testing.T) {
	set, f := flowsOf(t, parsed(t, `title: two planes
fabric: {topology: dual-plane, leaves: 2, hosts_per_leaf: 2, spines: 2, link: {rate: 400Gbps, delay: 500ns}}
nic: {qps: 2, split: true, mtu: 4096B}
job:
  collective: {kind: sendrecv, size: 40960B}
`))
	bytes, conns := map[uint32]int64{}, map[uint32]int{}
	for _, x := range set.Flows {
		bytes[x.Conn] += int64(x.Bytes)
		conns[x.Conn]++
		if x.SrcPort < 0xc000 || !x.RoCE() || f.Ports[f.Endpoints[x.From]].Endpoint != x.From {
			t.Errorf("%+v", x)
		}
	}
	for conn, n := range conns {
		if n != 4 { // two on each plane
			t.Errorf("connection %d has %d QPs", conn, n)
		}
	}
	total := int64(0)
	for _, b := range bytes {
		total += b
	}
	if len(conns) == 0 || total != 4*40960 {
		t.Errorf("%d connections carry %d bytes", len(conns), total)
	}
}
