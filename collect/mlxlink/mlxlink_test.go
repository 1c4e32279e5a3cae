package mlxlink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const whole = `
Operational Info
----------------
State                           : Active
Physical state                  : LinkUp
Speed                           : IB-NDR
Width                           : 4x
FEC                             : Standard_RS-FEC - (544,514)
Auto Negotiation                : ON

Supported Info
--------------
Enabled Link Speed              : 0x00000080 (NDR)

Troubleshooting Info
--------------------
Status Opcode                   : 0
Group Opcode                    : N/A
Recommendation                  : No issue was observed

Tool Information
----------------
Firmware Version                : 28.39.1002

Module Info
-----------
Identifier                      : OSFP
Vendor Name                     : Acme
Transfer Distance [m]           : 100
Temperature [C]                 : 60 [-5..75]
Voltage [mV]                    : 3245.7 [2970..3630]
Bias Current [mA]               : 92.8,92.8,92.8,92.8 [10..120]
Rx Power Current [dBm]          : 1.2,-40,1.3,1.3 [-10..6]

Physical Counters and BER Info
------------------------------
Effective Physical Errors       : 3
Effective Physical BER          : 15E-255
Raw Physical BER                : 2E-07
Link Down Counter               : 4
`

func read(t testing.TB, text string) *evidence.NIC {
	t.Helper()
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = "mlx5_0"
	l := New(f)
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if !l.Line([]byte(line), n) && t.Name() == "TestLink" {
			t.Errorf("%q is not taken", line)
		}
	}
	return inv.Host("").NIC("mlx5_0", 1)
}

func TestLink(t *testing.T) {
	n := read(t, whole)
	if got := fmt.Sprint(n.State, n.Physical, n.Lanes, n.FEC.Active, n.Firmware, n.Links); got != "ACTIVE LinkUp 4 Standard_RS-FEC - (544,514) 28.39.1002 4" {
		t.Error(got)
	}
	if s := n.Signal; s == nil || s.RawBER.Or(0) != 2e-7 || s.Errors.Or(0) != 3 || s.EffectiveBER.Or(1) > 1e-200 || s.SymbolBER.Known() || s.Recommend.Or("") != "No issue was observed" {
		t.Errorf("%+v", s)
	}
	m := n.Module
	if got := fmt.Sprint(m.Type, " ", m.Vendor, " ", m.Length, " ", m.Temperature, " ", m.Lanes[0], " ", m.Lanes[1].Receive, " ", len(m.Lanes), " ", m.Serial); got != "OSFP Acme 100 60 {1.2 unknown 92.8} unknown (no light) 4 unknown" {
		t.Error(got)
	}
	if len(m.Limits) != 8 || m.Limits[6] != (evidence.Limit{What: "laser rx power", Level: "low alarm", Value: -10}) {
		t.Errorf("%+v", m.Limits)
	}
}

func TestRead(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = "mlx5_1"
	err := Read(f, []byte(`{"status":{"code":0},"result":{"output":{"Operational Info":{"State":"Polling"},"Module Info":{"Rx Power Current [dBm]":{"values":["1.5","-2"]},"Temperature [C]":"41"}}}}`), 3)
	n := inv.Host("").NIC("mlx5_1", 1)
	if err != nil || n.State.Or("") != "POLLING" || n.State.From.Line != 3 || n.Module == nil || n.Module.Lanes[1].Receive.Or(0) != -2 || n.Module.Temperature.Or(0) != 41 {
		t.Errorf("%v: %+v", err, n)
	}
	if Read(f, []byte(`{"result":[]}`), 1) == nil {
		t.Error("nonsense was taken")
	}
}

func FuzzAll(f *testing.F) {
	f.Add(whole)
	f.Add(`{"result":{"output":{"a":{"b":1}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		read(t, text)
		_ = Read(fragment.New(&evidence.Inventory{}, "f"), []byte(text), 1) // an error is one of the answers
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}
