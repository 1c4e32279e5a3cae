package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// nearlyAll is the share of the host-memory bandwidth that a collective with GPU Direct should reach over the same
// NIC. GPU memory tests reach what host memory tests do within a few percent; one half is far outside of that and
// is what a bounce or a detour through the root complex leaves.
const nearlyAll = 0.6

// hostFastGPUSlow finds a bandwidth test between host memories that is far above what a collective over one NIC of
// the same hosts gets.
func (v *View) hostFastGPUSlow() (Finding, bool) {
	var best evidence.PerftestRow
	var test evidence.Perftest
	for _, t := range v.Inv.Perftests {
		if row, ok := fastest(t); ok && !onGPU(t) && row.Average > best.Average {
			best, test = row, t
		}
	}
	if best.Average == 0 {
		return Finding{}, false
	}
	line := best.Average.BytesPerSecond() / 1e9
	for _, t := range v.Inv.Tables {
		// The average over all sizes says something only where no small size pulls it down; the largest row always.
		seen, from, what := 0.0, t.From, "largest busbw of the collective"
		for _, c := range v.Inv.Calls {
			if c.Table != t.Index {
				continue
			}
			if c.BusBW > seen {
				seen, from = c.BusBW, c.From
			}
		}
		if avg, ok := t.AvgBusBW.Get(); ok && seen == 0 && t.MinBytes.Is(func(b units.Bytes) bool { return b >= large }) {
			seen, from, what = avg, t.AvgBusBW.From, "average busbw of the collective, large sizes only"
		}
		if seen == 0 || seen >= nearlyAll*line {
			continue
		}
		if !v.betweenHosts() {
			continue
		}
		f := Finding{
			Title:    fmt.Sprintf("the collective reaches %.3g GB/s where the NIC moves %.3g GB/s between host memories: what is slow lies between NIC and GPU", seen, line),
			Severity: Warning, Confidence: possible, Where: []string{"the PCIe path between NIC and GPU"},
			Evidence: []Evidence{
				{Layer: "RDMA", What: "bandwidth between host memories (perftest)", Seen: fmt.Sprintf("%.4g Gbit/s = %.3g GB/s", float64(best.Average)/1e9, line), From: best.From.String()},
				{Layer: "collective", What: what, Seen: fmt.Sprintf("%.3g GB/s", seen), Expected: fmt.Sprintf("%.3g GB/s or more", nearlyAll*line), Role: "effect", From: from.String()},
			},
			Not:     []string{"the fabric: the host-memory test crosses the same NIC, cable and switches at full rate"},
			WrongIf: fmt.Sprintf("the collective is limited by something else than this NIC; with ib_write_bw --use_cuda it is as fast as without (%s)", orElse(test.Device, "the tested device")),
		}
		return f, true
	}
	return Finding{}, false
}

// betweenHosts tells whether the measured collective ran over the network.
func (v *View) betweenHosts() bool {
	if v.spans() == yes {
		return true
	}
	for _, t := range v.Inv.Tables {
		if t.Ranks > 8 || len(t.Hosts) > 1 {
			return true
		}
	}
	if s, ok := v.Inv.Setting("mpirun.host"); ok && strings.Contains(s.Value, ",") {
		return true
	}
	if s, ok := v.Inv.Setting("mpirun.np"); ok {
		n, err := strconv.Atoi(s.Value)
		return err == nil && n > 8
	}
	return false
}
