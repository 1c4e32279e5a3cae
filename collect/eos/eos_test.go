package eos

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func TestPFC(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "leaf1"
	p := NewPFC(f)
	for i, line := range strings.Split("Port                 RxPfc                TxPfc\nEt1/1                1204                    0\nEt49                    x                    7\n\n", "\n") {
		if !p.Line([]byte(line), i+1) {
			t.Errorf("not read: %q", line)
		}
	}
	if p.Line([]byte("Total 1 2"), 9) || StartsPFC([]byte("Port RxPfc")) {
		t.Error("a line of something else")
	}
	var got []string
	for _, s := range f.Samples {
		got = append(got, fmt.Sprintf("%s %s/%d %d", s.Series, s.Device, s.Priority, s.Count))
	}
	want := []string{"switch_pfc_rx_total Ethernet1/1/-1 1204", "switch_pfc_tx_total Ethernet1/1/-1 0", "switch_pfc_tx_total Ethernet49/-1 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(inv.Switch("leaf1").Ports) != 2 {
		t.Errorf("%+v", inv.Switch("leaf1").Ports)
	}
}

func FuzzPFC(f *testing.F) {
	f.Add([]byte("Port RxPfc TxPfc\nEt1 1 2\nEt 1\nEthernet1/1 a b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := NewPFC(fragment.New(&evidence.Inventory{}, "f"))
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsPFC(line)
			p.Line(line, 1)
		}
	})
}
