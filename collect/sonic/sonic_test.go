package sonic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

func TestWatchdog(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	w := NewWatchdog(f)
	for i, line := range strings.Split(`      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  --------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet4:3   stormed                        2/1    0/46497254           5/6           0/666293                0/0`, "\n") {
		if !w.Line([]byte(line), i+1) {
			t.Errorf("%q is not taken", line)
		}
	}
	var got []string
	for _, s := range f.Samples {
		got = append(got, fmt.Sprint(telemetry.Catalogue[s.Series].Name, " ", s.Counter, " ", s.Device, " ", s.Priority, " ", s.Count))
	}
	want := []string{
		"switch_pfc_storms_total PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED Ethernet4 3 2", "switch_pfc_storms_ended_total PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED Ethernet4 3 1",
		"switch_pfc_storm_dropped_total PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS Ethernet4 3 46497254", "switch_pfc_storm_dropped_total PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS Ethernet4 3 6",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// N/A in operation means that there is no link, not that FEC is off.
func TestFEC(t *testing.T) {
	inv := &evidence.Inventory{}
	p := NewFEC(fragment.New(inv, "f"))
	for i, line := range strings.Split("  Interface    FEC Oper    FEC Admin\n-----------  ----------  -----------\n  Ethernet0         N/A           rs\n  Ethernet8          rs           rs", "\n") {
		p.Line([]byte(line), i+1)
	}
	ports := inv.Switch("").Ports
	if ports[0].FEC.Known() || ports[0].FEC.Why() != "N/A" || ports[0].FECSet.Or("") != "rs" || ports[1].FEC.Or("") != "rs" {
		t.Errorf("%+v", ports)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("QUEUE STATUS STORM DETECTED/RESTORED\nEthernet4:3 x 1/2 3/4 5/6\nFEC Oper FEC Admin\na b c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		w, p := NewWatchdog(fr), NewFEC(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			w.Line(line, 1)
			p.Line(line, 1)
		}
		for _, s := range fr.Samples {
			if s.Priority < 0 || s.Priority > 7 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
