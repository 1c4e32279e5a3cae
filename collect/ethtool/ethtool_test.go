package ethtool

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

type got struct {
	Series   string
	Priority int8
	Count    uint64
	Scale    float64
}

// The counters of each driver end up in the series of the catalogue, zeros too; what the catalogue does not have is
// left alone.
func TestStatistics(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []got
	}{
		"mlx5": {`NIC statistics:
     rx_packets: 845320277
     tx_prio3_bytes: 18446744073709551615
     rx_prio3_pause: 0
     rx_prio3_pause_duration: 2500000
     rx_discards_phy: 12
     ch0_poll: 17
`, []got{
			{"nic_tx_bytes_total", 3, 18446744073709551615, 1}, {"nic_rx_pause_total", 3, 0, 1},
			{"nic_rx_pause_seconds_total", 3, 2500000, 1e-6}, {"nic_rx_discards_total", -1, 12, 1},
		}},
		"mlx5 without head": {"rx_prio0_bytes: 1\nlink_down_events_phy: 3\n", []got{{"nic_rx_bytes_total", 0, 1, 1}, {"nic_link_downs_total", -1, 3, 1}}},
		"bnxt_en": {"NIC statistics:\n     [0]: rx_ucast_packets: 10198513532\n     rx_pfc_ena_frames_pri5: 7\n     pfc_pri5_rx_duration_us: 4\n", []got{
			{"nic_rx_pause_total", 5, 7, 1}, {"nic_rx_pause_seconds_total", 5, 4, 1e-6},
		}},
		"ice": {"NIC statistics:\n     rx_priority_2_xoff.nic: 9\n     rx_crc_errors.nic: 1\n", []got{{"nic_rx_pause_total", 2, 9, 1}, {"nic_rx_crc_errors_total", -1, 1, 1}}},
		"ena": {"tx_timeout: 0\nqueue_0_tx_cnt: 2005711\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := fragment.New(&evidence.Inventory{}, "f")
			p := NewStatistics(f)
			n := 0
			for line := range strings.Lines(tc.text) {
				n++
				if !p.Line([]byte(line), n) {
					t.Errorf("line %d is not taken: %q", n, line)
				}
			}
			first, _, _ := strings.Cut(tc.text, "\n")
			if !StartsStatistics([]byte(first)) {
				t.Errorf("%q begins nothing", first)
			}
			var have []got
			for _, s := range f.Samples {
				have = append(have, got{telemetry.Catalogue[s.Series].Name, s.Priority, s.Count, s.Scale})
			}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoStatistics(t *testing.T) {
	for _, line := range []string{"", "State: Active", "rx_prio0_bytes: N/A", "rx_prio0_bytes: -1", "Rank 0: 5", "  inet 192.0.2.1:80", "/sys/rx_x:12", "rx_bytes:"} {
		if StartsStatistics([]byte(line)) {
			t.Errorf("%q was taken for a counter", line)
		}
	}
}

func TestPause(t *testing.T) {
	inv := &evidence.Inventory{}
	p := NewPause(fragment.New(inv, "f"))
	for i, line := range strings.Split("Pause parameters for ens3np0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n\nPause parameters for ens4np0:\nRX:\ton", "\n") {
		if !p.Line([]byte(line), i+1) {
			t.Errorf("%q is not taken", line)
		}
	}
	if v, ok := inv.Host("").Dev("ens3np0").Global.Get(); !ok || v != (evidence.PauseSetting{Rx: true}) {
		t.Errorf("ens3np0: %+v, %v", v, ok)
	}
	if inv.Host("").Dev("ens4np0").Global.Known() {
		t.Error("ens4np0: half a setting was taken for a whole one")
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("NIC statistics:\n  rx_prio3_pause: 5\n[0]: x: 1\n"))
	f.Add([]byte("Pause parameters for x:\nRX: on\nTX: on"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		s, p := NewStatistics(fr), NewPause(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsStatistics(line)
			s.Line(line, 1)
			p.Line(line, 1)
		}
		if len(fr.Samples) > len(text) {
			t.Fatal("more samples than bytes")
		}
	})
}
