package evidence

import "testing"

func TestCPUSet(t *testing.T) {
	for in, want := range map[string]string{
		"0-23,96-119": "0-23,96-119", "5": "5", "0,2,4": "0,2,4", "3-3": "3", "63-64": "63-64", "1-2,3": "1-3", " 7 \n": "7",
	} {
		set, ok := ParseCPUList(in)
		if !ok || set.String() != want {
			t.Errorf("%q: %q, %v", in, set, ok)
		}
	}
	for _, in := range []string{"", "a", "5-3", "0-9999", "1,,2", "-1"} {
		if set, ok := ParseCPUList(in); ok {
			t.Errorf("%q was taken for %s", in, set)
		}
	}
	for in, want := range map[string]string{"f": "0-3", "00000001,00000000": "32", "ffffff00": "8-31", "0": ""} {
		set, ok := ParseCPUMask(in)
		if !ok || set.String() != want {
			t.Errorf("mask %q: %q, %v", in, set, ok)
		}
	}
	if _, ok := ParseCPUMask("100000000"); ok {
		t.Error("a word of 33 bits was taken")
	}
	a, _ := ParseCPUList("1-3")
	b, _ := ParseCPUList("0-64")
	if !a.Within(b) || b.Within(a) || a.Has(0) || !a.Has(2) || a.Has(-1) || a.Has(MaxCPU) {
		t.Error("membership")
	}
}

func TestIRQ(t *testing.T) {
	q := IRQ{PerCPU: []Count{{CPU: 3, Count: 1}, {CPU: 9, Count: 3}}, Total: 4}
	if cpu, share := q.Busiest(); cpu != 9 || share != 0.75 {
		t.Errorf("busiest %d with %v", cpu, share)
	}
	if cpu, _ := (IRQ{}).Busiest(); cpu != -1 {
		t.Errorf("an idle interrupt is taken by %d", cpu)
	}
	set, _ := ParseCPUList("8-15")
	h := Host{NUMA: []NUMANode{{ID: 0}, {ID: 1, CPUs: Known(set, Source{})}}}
	if h.NodeOf(9) != 1 || h.NodeOf(3) != -1 {
		t.Errorf("nodes %d, %d", h.NodeOf(9), h.NodeOf(3))
	}
}

func TestDeviceMatrix(t *testing.T) {
	m := DeviceMatrix{Names: []string{"GPU0", "mlx5_0"}, Paths: [][]string{{"X", "PIX"}, {"PIX"}}}
	if p, ok := m.Path("GPU0", "mlx5_0"); !ok || p != "PIX" {
		t.Errorf("%q, %v", p, ok)
	}
	if p, ok := m.Path("mlx5_0", "mlx5_0"); ok {
		t.Errorf("a cell that is cut off is %q", p)
	}
	h := &Host{}
	a := h.GPUAt("", 3)
	if b := h.GPUAt("0000:1b:00.0", 3); a != b || a.PCI != "0000:1b:00.0" || h.GPUAt("0000:1b:00.0", -1) != a || len(h.GPUs) != 1 {
		t.Errorf("%+v", h.GPUs)
	}
	if h.GPUAt("0000:1c:00.0", -1) == a || len(h.GPUs) != 2 {
		t.Errorf("%+v", h.GPUs)
	}
}
