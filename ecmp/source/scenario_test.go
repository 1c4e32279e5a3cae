package source

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
)

// The analysis works out what a run of the example puts on every uplink, and names the leaf and link that L021 names there.
func TestScenarioAgainstTheRun(t *testing.T) {
	s, err := scenario.Load("../../examples/moe-collision")
	if err != nil {
		t.Fatal(err)
	}
	f, plan, c, err := s.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	set, err := Scenario(context.Background(), f, plan, c, nil)
	if err != nil {
		t.Fatal(err)
	}
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
