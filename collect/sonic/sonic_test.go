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

// Storms of a log are counted by port and queue; one that began before the log counts as well.
func TestSyslog(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	s := NewSyslog(f)
	for i, line := range []string{
		"Aug 20 13:08:42.443610 leaf1 NOTICE swss#orchagent: :- startWdActionOnQueue: PFC Watchdog detected PFC storm on port Ethernet4, queue index 3, queue id 0x1500000000069d and port id 0x1000000000005",
		"Aug 20 13:08:44.443610 leaf1 NOTICE swss#orchagent: :- stopWdActionOnQueue: PFC Watchdog storm restored on port Ethernet4, queue index 3, queue id 0x1500000000069d and port id 0x1000000000005",
		"Aug 20 13:08:45.443610 leaf1 NOTICE swss#orchagent: :- startWdActionOnQueue: PFC Watchdog detected PFC storm on queue 3 port Ethernet4",
		"Aug 20 13:08:46.000000 leaf2 NOTICE swss#orchagent: :- stopWdActionOnQueue: PFC Watchdog storm restored on port Ethernet8, queue index 4, queue id 0x1 and port id 0x2",
		"Aug 20 13:08:46.000000 leaf2 NOTICE swss#orchagent: PFC Watchdog detected PFC storm on",
		"Aug 20 13:08:47.000000 leaf2 NOTICE bgp: something else",
	} {
		s.Line([]byte(line), i+1)
	}
	s.End()
	var got []string
	for _, c := range f.Samples {
		got = append(got, fmt.Sprintf("%s/%s %d %s %d", c.Host, c.Device, c.Priority, c.Counter, c.Count))
	}
	want := []string{
		"leaf1/Ethernet4 3 PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED 2", "leaf1/Ethernet4 3 PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED 1",
		"leaf2/Ethernet8 4 PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED 1", "leaf2/Ethernet8 4 PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzSyslog(f *testing.F) {
	f.Add("x NOTICE y: PFC Watchdog detected PFC storm on port E, queue index 9")
	f.Add("PFC Watchdog storm restored on queue 7 port ")
	f.Fuzz(func(_ *testing.T, line string) {
		s := NewSyslog(fragment.New(&evidence.Inventory{}, "f"))
		s.Line([]byte(line), 1)
		s.End()
	})
}
