package lldp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func show(inv *evidence.Inventory) (out []string) {
	for _, d := range inv.Host("").Netdevs {
		out = append(out, d.Name+" "+d.Neighbor.String())
	}
	return out
}

// All three forms say the same.
func TestForms(t *testing.T) {
	want := []string{"ens3np0 leaf1/Ethernet8", "ens4np0 leaf2/to node1"}
	for name, text := range map[string]string{
		"text": `-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    ens3np0, via: LLDP, RID: 1, Time: 0 day, 01:02:03
  Chassis:     
    ChassisID:    mac 02:00:00:00:00:55
    SysName:      leaf1.example.org
    MgmtIP:       192.0.2.9
  Port:        
    PortID:       local Ethernet8
    PortDescr:    to node1
-------------------------------------------------------------------------------
Interface:    ens4np0, via: LLDP, RID: 2, Time: 0 day, 01:02:03
  Chassis:     
    SysName:      leaf2
  Port:        
    PortID:       mac 02:00:00:00:00:56
    PortDescr:    to node1
Interface:    ens5np0, via: LLDP, RID: 2, Time: 0 day, 01:02:03
`,
		"pairs": "lldp.ens3np0.via=LLDP\nlldp.ens3np0.chassis.name=leaf1\nlldp.ens3np0.port.ifname=Ethernet8\nlldp.ens4np0.chassis.name=leaf2\nlldp.ens4np0.port.mac=02:00:00:00:00:56\nlldp.ens4np0.port.descr=to node1\n",
	} {
		inv := &evidence.Inventory{}
		r := New(fragment.New(inv, "f"))
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			n++
			if !r.Line([]byte(line), n) {
				t.Errorf("%q is not taken", line)
			}
		}
		r.End()
		if diff := cmp.Diff(want, show(inv)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, text := range []string{
		`{"lldp":{"interface":[{"ens3np0":{"chassis":{"leaf1":{"id":{}}},"port":{"id":{"type":"ifname","value":"Ethernet8"}}}},{"ens4np0":{"chassis":{"leaf2":{}},"port":{"id":{"type":"mac","value":"02:00"},"descr":"to node1"}}}]}}`,
		`{"lldp":{"interface":{"ens3np0":{"chassis":{"leaf1":{"id":{}}},"port":{"id":{"type":"ifname","value":"Ethernet8"}}},"ens4np0":{"chassis":{"leaf2":{}},"port":{"id":{"type":"mac","value":"02:00"},"descr":"to node1"}}}}}`,
	} {
		inv := &evidence.Inventory{}
		if err := Read(fragment.New(inv, "f"), []byte(text), 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, show(inv)); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add("Interface: a, via: LLDP\nSysName: b\nPortID: mac\nlldp.x.chassis.name=\nlldp..port.descr=a")
	f.Add(`{"lldp":{"interface":[{"a":{"chassis":{"b":1},"port":{}}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		r := New(fr)
		for line := range strings.Lines(text) {
			Starts([]byte(line))
			r.Line([]byte(line), 1)
		}
		r.End()
		_ = Read(fr, []byte(text), 1) // an error is one of the answers
	})
}
