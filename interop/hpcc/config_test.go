package hpcc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

const config = `ENABLE_QCN 1 {0: disable, 1: enable}

PACKET_PAYLOAD_SIZE 1500
TOPOLOGY_FILE mix/t.txt
FLOW_FILE mix/f.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 4.5
CC_MODE 1
ALPHA_RESUME_INTERVAL 2
RATE_DECREASE_INTERVAL 5
CLAMP_TARGET_RATE 1
RP_TIMER 700
EWMA_GAIN 0.0078125
FAST_RECOVERY_TIMES 3
RATE_AI 20Mb/s
RATE_HAI 60Mb/s
MIN_RATE 90Mb/s
L2_ACK_INTERVAL 4
HAS_WIN 1
GLOBAL_T 1
PINT_PROB 0.5
MY_OWN_KEY a b
LINK_DOWN 30 4 6
KMAX_MAP 2 100000000000 900 400000000000 900
KMIN_MAP 2 100000000000 300 400000000000 300
PMAX_MAP 2 100000000000 0.4 400000000000 0.4
BUFFER_SIZE 16
`

func mustConfig(t *testing.T, src string) *Config {
	t.Helper()
	c, err := ReadConfig("c.txt", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfig(t *testing.T) {
	f := mustFabric(t, topology)
	c := mustConfig(t, config)
	got := c.Netsim(f, 2*units.Second)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	leaf, _ := f.NodeByName("leaf4")
	spine, _ := f.NodeByName("spine6")
	want := netsim.Config{
		Switch: netsim.SwitchConfig{Buffer: 16 * units.MiB, ECN: netsim.ECNConfig{KMin: 300 * units.KB, KMax: 900 * units.KB, PMax: 0.4}},
		NIC: netsim.NICConfig{
			MTU: 1500, AckEvery: 4, Control: "dcqcn",
			// 0 to 2: 12 us, and 1500 bytes at 100 Gbit/s twice (120 ns) and at 400 twice (30 ns), at 100 Gbit/s.
			Window: 153_750,
			DCQCN: netsim.DCQCNConfig{
				G: 0.0078125, AlphaPeriod: 2 * units.Microsecond, ReducePeriod: 5 * units.Microsecond, TimeReset: 700 * units.Microsecond, Threshold: 3,
				AIRate: 20 * units.Mbps, HAIRate: 60 * units.Mbps, MinRate: 90 * units.Mbps, ClampTarget: true, ByteReset: 1 << 50, InitialAlpha: 1, CNPPeriod: 2 * units.Microsecond,
			},
		},
		Faults: []netsim.Fault{{Kind: netsim.LinkDown, Port: uint32(f.Between(leaf, spine)[0]), At: 30 * units.Microsecond}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Topology != "mix/t.txt" || c.Flows != "mix/f.txt" || c.Stop != 4500*units.Millisecond || c.Packet() != 1548 {
		t.Errorf("%+v", c)
	}
	// What is only recorded is no setting; what is unknown is named.
	if diff := cmp.Diff("c.txt:21:1: without a counterpart, and not used: PINT_PROB, MY_OWN_KEY", c.Report.Notes.Error()); diff != "" {
		t.Error(diff)
	}
	if err := netsim.Defaults(got).Validate(); err != nil {
		t.Error(err)
	}
}

func TestControls(t *testing.T) {
	f := mustFabric(t, topology)
	common := "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 80Mb/s\nU_TARGET 0.9\nMI_THRESH 0\nACK_HIGH_PRIO 1\n"
	for mode, want := range map[string]netsim.NICConfig{
		// 10 % of 100 Gbit/s among 200 flows is 50 Mbit/s each.
		"3":  {Control: netsim.HPCC, AckPriority: 7, HPCC: cc.HPCCConfig{Eta: 0.9, MaxStage: -1, Flows: 200, MinRate: 80 * units.Mbps}},
		"7":  {Control: netsim.TIMELY, AckPriority: 7, TIMELY: cc.TIMELYConfig{AIRate: 50 * units.Mbps, HAIRate: 100 * units.Mbps, MinRate: 80 * units.Mbps}},
		"12": {Control: netsim.NoControl, AckPriority: 7},
	} {
		n := mustConfig(t, "CC_MODE "+mode+"\n"+common).Netsim(f, 0)
		if diff := cmp.Diff(want, n.NIC); diff != "" {
			t.Errorf("mode %s:\n%s", mode, diff)
		}
		if err := netsim.Defaults(n).Validate(); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
}

// One curve for all ports is all that can be had, unless the curves are in proportion to the rates.
func TestECNMaps(t *testing.T) {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	trunk := fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}
	f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 8, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: trunk}.Build()
	maps := func(kmin, kmax, pmax string) (netsim.ECNConfig, string) {
		c := mustConfig(t, "KMIN_MAP "+kmin+"\nKMAX_MAP "+kmax+"\nPMAX_MAP "+pmax+"\n")
		n := c.Netsim(f, 0)
		return n.Switch.ECN, c.Report.Notes.Error()
	}
	got, notes := maps("2 100000000000 200 400000000000 800", "2 100000000000 800 400000000000 3200", "2 100000000000 0.3 400000000000 0.3")
	if diff := cmp.Diff(netsim.ECNConfig{PMax: 0.3}, got); diff != "" || notes != "" {
		t.Errorf("in proportion:\n%s%s", diff, notes)
	}
	got, notes = maps("2 100000000000 100 400000000000 500", "2 100000000000 400 400000000000 900", "2 100000000000 0.3 400000000000 0.3")
	if diff := cmp.Diff(netsim.ECNConfig{KMin: 100 * units.KB, KMax: 400 * units.KB, PMax: 0.3}, got); diff != "" || !strings.Contains(notes, "all ports get those of most of them, 100Gbps at 100KB to 400KB") {
		t.Errorf("of their own:\n%s%s", diff, notes)
	}
	_, notes = maps("1 100000000000 100", "1 100000000000 400", "1 100000000000 0.3")
	if !strings.Contains(notes, "no entry for the 400Gbps of 4 ports, at which ns-3 stops") {
		t.Errorf("a rate without thresholds: %s", notes)
	}
}

func TestConfigNotes(t *testing.T) {
	f := mustFabric(t, topology)
	for src, want := range map[string]string{
		"CC_MODE 8\n":                    "c.txt:1:1: CC_MODE: mode 8 is dctcp, which is not modelled",
		"CC_MODE 99\n":                   "c.txt:1:1: CC_MODE: mode 99 is none that is known",
		"HAS_WIN 1\nGLOBAL_T 0\n":        "c.txt:1:1: HAS_WIN: with GLOBAL_T 0 each pair has a window of its own; all get the largest, 152.5KB",
		"L2_BACK_TO_ZERO 1\n":            "c.txt:1:1: L2_BACK_TO_ZERO: going back to the start of a chunk is not modelled",
		"USE_DYNAMIC_PFC_THRESHOLD 0\n":  "c.txt:1:1: USE_DYNAMIC_PFC_THRESHOLD: fixed thresholds have no value in the file",
		"\n\nLINK_DOWN 5 4 6\nRATE_AI 1": "c.txt:3:1: LINK_DOWN: the link goes down before the first flow begins",
	} {
		c := mustConfig(t, src)
		c.Netsim(f, 3*units.Second)
		if !strings.Contains(c.Report.Notes.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, c.Report.Notes)
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	f := mustFabric(t, topology)
	for src, want := range map[string]string{
		"CC_MODE\n":                  `c.txt:1:1: "CC_MODE" has no value`,
		"\nCC_MODE x\n":              `c.txt:2:9: CC_MODE is "x"`,
		"KMIN_MAP 2 100Gbps 5\n":     "c.txt:1:10: KMIN_MAP has 2 words for 2 pairs of rate and value; write 2 pairs",
		"PMAX_MAP 1 100Gbps 5\n":     `c.txt:1:20: a value of PMAX_MAP is "5"; write a number from 0 to 1`,
		"LINK_DOWN 1 2\n":            "c.txt:1:11: LINK_DOWN has 2 numbers",
		"LINK_DOWN 10 0 1\n":         "c.txt:1:11: LINK_DOWN names nodes 0 and 1, which no link joins",
		"PACKET_PAYLOAD_SIZE 70000 ": "c.txt:1:21: PACKET_PAYLOAD_SIZE",
	} {
		c, err := ReadConfig("c.txt", strings.NewReader(src))
		if err == nil {
			c.Netsim(f, 0)
			err = c.Err()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte("CC_MODE 3\nKMIN_MAP 1 1e9 5\nHAS_WIN 1\n"))
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	f.Fuzz(func(t *testing.T, src []byte) {
		if c, err := ReadConfig("c.txt", bytes.NewReader(src)); err == nil {
			c.Netsim(net, 0)
		}
	})
}
