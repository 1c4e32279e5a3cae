package nxos

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line([]byte, int) bool }

func read(t *testing.T, make func(*fragment.Fragment) reader, text string) (*evidence.Inventory, []string) {
	t.Helper()
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "leaf1"
	r := make(f)
	for i, line := range strings.Split(text, "\n") {
		if !r.Line([]byte(line), i+1) {
			t.Errorf("not read: %q", line)
		}
	}
	var got []string
	for _, s := range f.Samples {
		got = append(got, fmt.Sprintf("%s %s %s/%d %d", s.Series, s.Counter, s.Device, s.Priority, s.Count))
	}
	slices.Sort(got)
	return inv, got
}

func TestPFC(t *testing.T) {
	inv, got := read(t, func(f *fragment.Fragment) reader { return NewPFC(f) }, `============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================
Ethernet1/2        Auto On   (8)       4088353    1890
Eth1/3             ON   On(9)          4,885      0
Eth1/4             OFF  Off            0          0
Eth1/5             On   On  (18)       1          2
`)
	want := []string{
		"switch_pfc_rx_total RxPPP Ethernet1/2/3 4088353", "switch_pfc_rx_total RxPPP Ethernet1/3/-1 4885", "switch_pfc_rx_total RxPPP Ethernet1/4/-1 0", "switch_pfc_rx_total RxPPP Ethernet1/5/-1 1",
		"switch_pfc_tx_total TxPPP Ethernet1/2/3 1890", "switch_pfc_tx_total TxPPP Ethernet1/3/-1 0", "switch_pfc_tx_total TxPPP Ethernet1/4/-1 0", "switch_pfc_tx_total TxPPP Ethernet1/5/-1 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := inv.Switch("leaf1")
	for port, want := range map[string]string{"Ethernet1/2": "[false false false true false false false false]", "Ethernet1/3": "[true false false true false false false false]"} {
		if p := s.Port(port); p.QoS == nil || fmt.Sprint(p.QoS.PFC) != want {
			t.Errorf("%s: %+v", port, p.QoS)
		}
	}
	if s.Port("Ethernet1/4").QoS != nil || s.Port("Ethernet1/5").QoS != nil {
		t.Error("a map that was not told")
	}
}

func TestQueuing(t *testing.T) {
	_, got := read(t, func(f *fragment.Fragment) reader { return NewQueuing(f) }, `Egress Queuing for Ethernet2/1 [System]
+-------------------------------------------------------------------+
|                              QOS GROUP 3                          |
+-------------------------------------------------------------------+
|                |  Unicast       | OOBFC Unicast  |  Multicast     |
+-------------------------------------------------------------------+
|        Tx Pkts |              12|              22|              34|
|        Tx Byts |            1200|            2200|            3400|
| WRED & Tail Drop Pkts |               5|               0|
|          Q Depth Byts |               64|               0|
+-------------------------------------------------------------------+
|                              QOS GROUP 4                          |
|        Tx Pkts |              50|   Dropped Pkts |               6|
|                      CONTROL QOS GROUP                            |
|        Tx Byts |              99|               0|
Ingress Queuing for Ethernet2/1
Ingress MMU Drop Pkts                       10
Ingress MMU Drop Bytes                      1024
PFC Statistics
TxPPP:                    11, RxPPP:                    12
COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount
   0         -         -  Inactive         0        Inactive               0
   3         3         3  Active           7        Active                 8
`)
	want := []string{
		"switch_pfc_rx_total RxCount Ethernet2/1/0 0", "switch_pfc_rx_total RxCount Ethernet2/1/3 8", "switch_pfc_tx_total TxCount Ethernet2/1/0 0", "switch_pfc_tx_total TxCount Ethernet2/1/3 7",
		"switch_port_dropped_total Ingress MMU Drop Pkts Ethernet2/1/-1 10", "switch_queue_bytes Q Depth Byts Ethernet2/1/3 64",
		"switch_queue_dropped_total Dropped Pkts Ethernet2/1/4 6", "switch_queue_dropped_total WRED & Tail Drop Pkts Ethernet2/1/3 5", "switch_queue_tx_bytes_total Tx Byts Ethernet2/1/3 1200",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWatchdog(t *testing.T) {
	_, got := read(t, func(f *fragment.Fragment) reader { return NewQueuing(f) }, `Ethernet1/23 Interface PFC watchdog: [Enabled]
Disable-action                     : No
+----------------------------------------------------+
| QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]
+----------------------------------------------------+
|                               |  Stats             |
|                       Shutdown|                   1|
|                       Restored|                   2|
|             Total pkts dropped|                   4|
|   Total pkts drained + dropped|                   5|
`)
	want := []string{"switch_pfc_storm_dropped_total Total pkts dropped Ethernet1/23/3 4", "switch_pfc_storms_ended_total Restored Ethernet1/23/3 2", "switch_pfc_storms_total Shutdown Ethernet1/23/3 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("Port Mode Oper(VL bmap) RxPPP TxPPP\nEth1/1 On On(8) 1 2\nEth1/1\nEth1/1 a b c"))
	f.Add([]byte("Egress Queuing for Eth1/1\n| QOS GROUP 3 |\n| Tx Byts | 1|\n||\nCOS QOS Group\n1 2 3 4 5 6 7\n Interface PFC watchdog: \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		p, q := NewPFC(fr), NewQueuing(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsPFC(line)
			StartsQueuing(line)
			p.Line(line, 1)
			q.Line(line, 1)
		}
	})
}
