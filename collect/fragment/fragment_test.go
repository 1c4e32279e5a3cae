package fragment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

func TestIndex(t *testing.T) {
	table := Index(telemetry.EthtoolMLX5, telemetry.HWCounters)
	for name, want := range map[string]Counter{
		"rx_prio0_pause":          {telemetry.NICRxPause, 0, 1},
		"rx_prio7_pause_duration": {telemetry.NICRxPauseTime, 7, 1e-6},
		"rx_discards_phy":         {telemetry.NICRxDiscards, telemetry.AnyPriority, 1},
		"out_of_sequence":         {telemetry.NICOutOfSequence, telemetry.AnyPriority, 1},
	} {
		if got, ok := table[name]; !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"rx_prio8_pause", "rx_prio{p}_pause", "rx_pfc_ena_frames_pri0", ""} {
		if got, ok := table[name]; ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// A counter is of the host and the device the input is about, unless the line names its own device.
func TestCount(t *testing.T) {
	f := New(&evidence.Inventory{}, "f")
	f.Host, f.Device = "node1", "ens3np0"
	c := Counter{telemetry.NICLinkDowns, telemetry.AnyPriority, 1}
	f.Count(c, "link_downed", "", 1, 5, 1)
	f.Host = "node2"
	f.Count(c, "link_downed", "mlx5_1", 2, 6, 2)
	want := []Sample{
		{Series: telemetry.NICLinkDowns, Priority: -1, Counter: "link_downed", Host: "node1", Device: "ens3np0", Port: 1, Count: 5, Scale: 1, Line: 1},
		{Series: telemetry.NICLinkDowns, Priority: -1, Counter: "link_downed", Host: "node2", Device: "mlx5_1", Port: 2, Count: 6, Scale: 1, Line: 2},
	}
	if diff := cmp.Diff(want, f.Samples); diff != "" {
		t.Error(diff)
	}
	if h := f.TheHost(); h.Name != "node2" || f.TheHost() != h {
		t.Errorf("the host is %q", h.Name)
	}
}
