package irq

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const table = `            CPU0       CPU1       CPU4
   0:         44          0          0  IR-IO-APIC    2-edge      timer
 156:        100          0     900000  IR-PCI-MSIX-0000:5c:00.0    1-edge      mlx5_comp0@pci:0000:5c:00.0
 157:          0          7          0   PCI-MSI 524289-edge      ens3np0-TxRx-5
 158:          0          0          0  IR-PCI-MSIX-0000:6d:00.0    0-edge      mlx5_async0
 159:          1          1          1  IR-PCI-MSIX-0000:01:00.0    3-edge      nvme0q3
 160:          5          0          0  PCI-MSI-edge  mlx5_comp1@pci:0000:5c:00.0
 NMI:         12         11         10   Non-maskable interrupts
 161:          5`

func TestInterrupts(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	r, a := New(f), NewAffinity()
	n := 0
	for line := range strings.SplitSeq(table, "\n") {
		n++
		if !r.Line([]byte(line), n) {
			t.Errorf("%q is not taken", line)
		}
	}
	p := NewPaste(f, a)
	for _, line := range []string{"/proc/irq/156/smp_affinity_list:0-3", "/proc/irq/156/effective_affinity_list:4", "/proc/irq/156/smp_affinity_list:0-3", "/proc/irq/157/smp_affinity:00000002", "/proc/irq/160/smp_affinity_list:x"} {
		if !StartsPaste([]byte(line)) || !p.Line([]byte(line), 1) {
			t.Errorf("%q is not taken", line)
		}
	}
	a.Finish()
	var got []string
	for _, q := range inv.Host("").IRQs {
		cpu, share := q.Busiest()
		got = append(got, fmt.Sprint(q.Number, " ", q.Device, " ", q.Name, " ", q.Total, " on ", cpu, " ", int(100*share), "% ", q.Affinity))
	}
	want := []string{
		"156 0000:5c:00.0 mlx5_comp0@pci:0000:5c:00.0 900100 on 4 99% 4", "157 ens3np0 ens3np0-TxRx-5 7 on 1 100% 1", "158 0000:6d:00.0 mlx5_async0 0 on -1 0% unknown",
		"160 0000:5c:00.0 mlx5_comp1@pci:0000:5c:00.0 5 on 0 100% unknown",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A machine that spreads an interrupt over all its processors leaves the busiest.
func TestManyCPUs(t *testing.T) {
	inv := &evidence.Inventory{}
	r := New(fragment.New(inv, "f"))
	var head, row strings.Builder
	for i := range 224 {
		fmt.Fprintf(&head, " CPU%d", i)
		fmt.Fprintf(&row, " %d", i)
	}
	r.Line([]byte(head.String()), 1)
	r.Line([]byte("5:"+row.String()+" PCI-MSI 1-edge eth0"), 2)
	q := inv.Host("").IRQs[0]
	if cpu, _ := q.Busiest(); len(q.PerCPU) != MaxPerIRQ || cpu != 223 || q.Total != 223*224/2 {
		t.Errorf("%+v", q)
	}
}

func TestLocate(t *testing.T) {
	for p, want := range map[string]int{"proc/irq/12/smp_affinity_list": 12, "a/proc/irq/7/effective_affinity": 7, "proc/irq/12/spurious": -1, "irq/x/smp_affinity": -1, "smp_affinity": -1} {
		n, _, ok := Locate(p)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d, %v", p, n, ok)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte("/proc/irq/1/smp_affinity_list:0-8191\n/proc/irq/1/smp_affinity:ffffffff,f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		a := NewAffinity()
		r, p := New(fr), NewPaste(fr, a)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			Starts(line)
			StartsPaste(line)
			r.Line(line, 1)
			p.Line(line, 1)
		}
		a.Finish()
	})
}
