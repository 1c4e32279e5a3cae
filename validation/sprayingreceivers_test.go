package validation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// What is sent again without any loss, by what the receiver does and how much is under way: article 000 reports 12.7 % without reordering and 0.03 % with it, and not how
// much was under way. examples/spray-receivers has more of the same.
func TestLadderClaimReceivers(t *testing.T) {
	t.Parallel()
	base := example(t, "spray-receivers")
	const seeds = 5
	receivers := []struct {
		name string
		set  func(s *scenario.Scenario)
	}{
		{"go-back-N", func(s *scenario.Scenario) { s.NIC.Transport = netsim.GoBackN }},
		{"IRN", func(s *scenario.Scenario) { s.NIC.Transport = netsim.IRN }},
		{"ids of layout v1", func(s *scenario.Scenario) { s.NIC.Transport, s.NIC.PPCID.Layout = netsim.PPCID, spray.LayoutV1 }},
		{"ids of layout v2", func(s *scenario.Scenario) { s.NIC.Transport, s.NIC.PPCID.Layout = netsim.PPCID, spray.LayoutV2 }},
		{"placement", func(s *scenario.Scenario) { s.NIC.Transport = netsim.Place }},
	}
	windows := []units.Bytes{400 * units.KiB, 64 * units.KiB, 32 * units.KiB, 16 * units.KiB, 8 * units.KiB}
	var table strings.Builder
	table.WriteString("| under way |")
	for _, r := range receivers {
		table.WriteString(" " + r.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(receivers)) + "\n")
	share := map[string]float64{} // by receiver and window; only looked up
	stuck := map[string]int{}
	for _, w := range windows {
		fmt.Fprintf(&table, "| %v |", w)
		for _, r := range receivers {
			var list []float64
			key := fmt.Sprint(r.name, " ", w)
			for seed := range uint64(seeds) {
				s := *base
				s.Seed, s.NIC.Window = seed+1, w
				r.set(&s)
				run, err := s.Run(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if run.Summary.Stalled || run.Cut {
					stuck[key]++
					continue
				}
				if n := run.Summary.Drops[netsim.DropBufferFull] + run.Summary.Drops[netsim.DropHeadroomFull]; n > 0 {
					t.Errorf("%s: %d packets were lost to full buffers", key, n)
				}
				list = append(list, 100*run.Figures().Network.RetransmittedShare)
			}
			switch {
			case len(list) == 0:
				table.WriteString(" did not end |")
				continue
			case stuck[key] > 0:
				fmt.Fprintf(&table, " %d of %d did not end |", stuck[key], seeds)
				continue
			}
			share[key] = mean(list)
			fmt.Fprintf(&table, " %s |", percentOf(share[key], (slices.Max(list)-slices.Min(list))/2))
		}
		table.WriteString("\n")
	}
	t.Log("\n" + table.String())
	shownIn(t, "../docs/spraying.md", "receivers", table.String())
	check(t, claimed("sprayed, go-back-N, a round trip under way: sent again", "%", 12.7, 88, 97, "each late packet costs all behind it"), share["go-back-N 400KiB"])
	check(t, claimed("sprayed, go-back-N, 8 packets under way: sent again", "%", 12.7, 8, 16, "so many are chosen to make it so: less is late, and less behind it"), share["go-back-N 32KiB"])
	check(t, claimed("sprayed, go-back-N, 2 packets under way: sent again", "%", 12.7, 0.03, 0.5, "next to nothing is late"), share["go-back-N 8KiB"])
	check(t, claimed("sprayed, ids that order a round trip: sent again", "%", 0.03, 0, 0, "nothing is lost, so nothing"), share["ids of layout v2 400KiB"])
	check(t, claimed("sprayed, ids that order 16 packets, a round trip under way: runs that end, of 5", "runs", seeds, 0, 1, "what is misread and dropped is missed by nobody without a timeout"), seeds-float64(stuck["ids of layout v1 400KiB"]))
}

// percentOf is a share and how far its seeds lie apart.
func percentOf(share, half float64) string {
	switch {
	case share == 0:
		return "0"
	case share < 0.01:
		return "under 0.01 %"
	case share < 1:
		return fmt.Sprintf("%.2f +-%.2f %%", share, half)
	}
	return fmt.Sprintf("%.1f +-%.1f %%", share, half)
}
