package ethtool

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// reader is what every parser here is.
type reader interface{ Line(line []byte, n int) bool }

// feed gives a text to a reader and checks that it takes every line.
func feed(t *testing.T, r reader, text string) {
	t.Helper()
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		n++
		if !r.Line([]byte(line), n) {
			t.Errorf("%q is not taken", line)
		}
	}
	if e, ok := r.(interface{ End() }); ok {
		e.End()
	}
}

func of(device string) (*evidence.Inventory, *fragment.Fragment) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = device
	return inv, f
}

func TestSettings(t *testing.T) {
	inv, f := of("")
	feed(t, NewSettings(f), `Settings for ens3np0:
	Supported ports: [ FIBRE ]
	Supported link modes:   100000baseSR4/Full
	                        200000baseSR4/Full
	Speed: 200000Mb/s
	Lanes: 4
	Duplex: Full
	Auto-negotiation: on
	Port: FIBRE
	Link detected: yes
Settings for ens4np0:
	Speed: Unknown!
	Duplex: Unknown! (255)
	Auto-negotiation: off
	Port: Direct Attach Copper
	Link detected: no (No cable)
`)
	h := inv.Host("")
	a, b := h.Dev("ens3np0"), h.Dev("ens4np0")
	if got := fmt.Sprint(a.Speed, a.Lanes, a.Duplex, a.Autoneg, a.Medium, a.Link); got != "200Gbps 4 Full true FIBRE true" {
		t.Error(got)
	}
	if got := fmt.Sprint(b.Speed, " ", b.Lanes, " ", b.Duplex, " ", b.Autoneg, " ", b.Medium, " ", b.Link); got != "unknown (no link) unknown unknown false Direct Attach Copper false" {
		t.Error(got)
	}
}

// Which interface the output is of is told by the file, or by the address another output named.
func TestDriver(t *testing.T) {
	const text = `driver: mlx5_core
version: 24.04-0.6.6
firmware-version: 28.41.1000 (MT_0000000838)
expansion-rom-version: 
bus-info: 0000:5c:00.0
supports-statistics: yes
`
	inv, f := of("ens3np0")
	feed(t, NewDriver(f), text)
	d := inv.Host("").Dev("ens3np0")
	if got := fmt.Sprint(d.Driver, " ", d.DriverAt, " ", d.Firmware, " ", d.PCI); got != "mlx5_core 24.04-0.6.6 28.41.1000 (MT_0000000838) 0000:5c:00.0" || len(inv.Host("").Netdevs) != 1 {
		t.Error(got)
	}
	inv, f = of("")
	inv.Host("").Dev("ens9").PCI = evidence.Known("0000:5c:00.0", evidence.Source{})
	feed(t, NewDriver(f), text)
	if d := inv.Host("").Dev("ens9"); d.Driver.Or("") != "mlx5_core" || len(inv.Host("").Netdevs) != 1 {
		t.Errorf("%+v", inv.Host("").Netdevs)
	}
	inv, f = of("")
	feed(t, NewDriver(f), "firmware-version: 22.1\n")
	if d := inv.Host("").Dev(""); d.Firmware.Or("") != "22.1" || d.Driver.Known() {
		t.Errorf("an excerpt: %+v", d)
	}
}

func TestFEC(t *testing.T) {
	inv, f := of("")
	feed(t, NewFEC(f), `FEC parameters for ens3np0:
Supported/Configured FEC encodings: Auto RS BaseR
Active FEC encoding: RS
Statistics:
  corrected_blocks: 123
  uncorrectable_blocks: 4
  fec_symbol_err_0: 445 [ per_lane:  125, 120, 100, 100 ]
FEC parameters for ens4np0:
Configured FEC encodings: Off
Active FEC encoding: Not reported
`)
	h := inv.Host("")
	if got := fmt.Sprint(h.Dev("ens3np0").FEC, h.Dev("ens4np0").FEC); got != "{[Auto RS BaseR] RS} {[Off] unknown (not reported)}" {
		t.Error(got)
	}
	var got []string
	for _, s := range f.Samples {
		got = append(got, fmt.Sprint(telemetry.Catalogue[s.Series].Name, " ", s.Device, " ", s.Count))
	}
	if diff := cmp.Diff([]string{"nic_rx_fec_corrected_total ens3np0 123", "nic_rx_fec_uncorrectable_total ens3np0 4"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestModule(t *testing.T) {
	inv, f := of("ens3np0")
	feed(t, NewModule(f), `	Identifier                                : 0x11 (QSFP28)
	Transmitter technology                    : 0x00 (850 nm VCSEL)
	Length (Copper or Active cable)           : 0m
	Vendor name                               : Acme
	Vendor PN                                 : A-100
	Vendor SN                                 :
	Module temperature                        : 38.55 degrees C / 101.39 degrees F
	Module voltage                            : 3.2868 V
	Laser tx bias current (Channel 1)         : 6.750 mA
	Laser tx bias current (Channel 2)         : 0.000 mA
	Transmit avg optical power (Channel 1)    : 0.9356 mW / -0.29 dBm
	Transmit avg optical power (Channel 2)    : 0.0000 mW / -inf dBm
	Rcvr signal avg optical power(Channel 1)  : 0.8811 mW / -0.55 dBm
	Rcvr signal avg optical power (Channel 2) : 0.0646 mW / -11.90 dBm
	Laser bias current high alarm   (Chan 1)  : Off
	Laser rx power low alarm    (Channel 2)   : On
	Module temperature high alarm             : On
	Laser rx power low alarm threshold        : 0.1000 mW / -10.00 dBm
	Module temperature high alarm threshold   : 80.00 degrees C / 176.00 degrees F
`)
	m := inv.Host("").Dev("ens3np0").Module
	if m == nil {
		t.Fatal("no module")
	}
	if got := fmt.Sprint(m.Type, ", ", m.Technology, ", ", m.Vendor, ", ", m.Serial, ", ", m.Length, ", ", m.Temperature, ", ", m.Voltage); got != "QSFP28, 850 nm VCSEL, Acme, unknown (empty), unknown, 38.55, 3.2868" {
		t.Error(got)
	}
	if got := fmt.Sprint(m.Lanes); got != "[{-0.55 -0.29 6.75} {-11.9 unknown (no light) 0}]" {
		t.Error(got)
	}
	at := func(n int) evidence.Source { return evidence.Source{File: "f", Line: n} }
	if diff := cmp.Diff([]evidence.Alarm{{What: "laser rx power", Level: "low alarm", Channel: 2, From: at(16)}, {What: "module temperature", Level: "high alarm", From: at(17)}}, m.Alarms); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]evidence.Limit{{What: "laser rx power", Level: "low alarm", Value: -10}, {What: "module temperature", Level: "high alarm", Value: 80}}, m.Limits); diff != "" {
		t.Error(diff)
	}
}

func TestCMISModule(t *testing.T) {
	inv, f := of("ens3np0")
	feed(t, NewModule(f), `	Identifier                                : 0x19 (OSFP 8X Pluggable Transceiver)
	Cable assembly length                     : 2.00m
	Transmitter technology                    : 0x0a (Copper cable, unequalized)
	Module State                              : 0x05 (ModuleFault)
	Module Fault Cause                        : 0x01 (TEC runaway)
	Transmit avg optical power (Channel 8)    : 1.0000 mW / 0.00 dBm
	Laser tx power high alarm   (Channel 8)   : Off
`)
	m := inv.Host("").Dev("ens3np0").Module
	if got := fmt.Sprint(m.Type, ", ", m.Length, ", ", m.State, ", ", m.Fault, ", ", len(m.Lanes), ", ", m.Lanes[7].Transmit, ", ", len(m.Alarms)); got != "OSFP 8X Pluggable Transceiver, 2, ModuleFault, TEC runaway, 8, 0, 0" {
		t.Error(got)
	}
}

func TestQueues(t *testing.T) {
	inv, f := of("")
	feed(t, NewQueues(f), `Coalesce parameters for ens3np0:
Adaptive RX: on  TX: off
stats-block-usecs:	n/a
rx-usecs:	8
rx-frames:	128
tx-usecs:	16
Channel parameters for ens3np0:
Pre-set maximums:
RX:		n/a
Combined:	63
Current hardware settings:
Combined:	32
Ring parameters for ens3np0:
Pre-set maximums:
RX:		8192
TX:		8192
Current hardware settings:
RX:		1024
TX:		512
`)
	d := inv.Host("").Dev("ens3np0")
	c := d.Coalescing
	if got := fmt.Sprint(c.AdaptiveRx, c.AdaptiveTx, c.RxDelay, c.TxDelay, c.RxFrames, c.TxFrames); got != "true false 8us 16us 128 unknown" {
		t.Error(got)
	}
	if got := fmt.Sprint(d.Channels, d.Ring); got != "{32 63} {1024 8192 512 8192}" {
		t.Error(got)
	}
	if d.Coalescing.RxDelay.Or(0) != 8*units.Microsecond {
		t.Error("unit")
	}
}

func TestFeatures(t *testing.T) {
	inv, f := of("")
	feed(t, NewFeatures(f), "Features for ens3np0:\nrx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n")
	d := inv.Host("").Dev("ens3np0")
	if !d.Features["rx-checksumming"].Or(false) || d.Features["tx-checksum-ipv4"].Or(true) || len(d.Features) != 2 {
		t.Errorf("%+v", d.Features)
	}
}

func FuzzLink(f *testing.F) {
	for _, s := range []string{"Settings for x:\n\tSpeed: 1Mb/s", "driver: a\nbus-info: 0000:00:00.0", "FEC parameters for a:\nActive FEC encoding: RS\nStatistics:\ncorrected_blocks: 1",
		"Identifier : 0x11 (a)\nLaser tx power low alarm (Channel 99) : On", "Coalesce parameters for a:\nAdaptive RX: on TX: x", "Features for a:\nx: on"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		d := NewDriver(fr)
		readers := []reader{NewSettings(fr), d, NewFEC(fr), NewModule(fr), NewQueues(fr), NewFeatures(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			for _, starts := range []func([]byte) bool{StartsSettings, StartsDriver, StartsFEC, StartsModule, StartsQueues, StartsFeatures} {
				starts(line)
			}
			for _, r := range readers {
				r.Line(line, 1)
			}
		}
		d.End()
	})
}
