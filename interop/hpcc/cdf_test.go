package hpcc

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

func mustCDF(t *testing.T, src string) *CDF {
	t.Helper()
	c, err := ReadCDF("c.txt", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCDF(t *testing.T) {
	percent, share := mustCDF(t, "0 0\n1000 50\n1000 60\n9000 100\n"), mustCDF(t, "0 0.0\r\n1000 0.5\r\n1000 0.6\r\n9000 1\r\n")
	if diff := cmp.Diff(percent.Points, share.Points); diff != "" {
		t.Error(diff)
	}
	// Half at 500 in the mean, a tenth at 1000, 40 % at 5000.
	if m := percent.Mean(); math.Abs(m-2350) > 1e-9 {
		t.Errorf("mean %v", m)
	}
	for u, want := range map[float64]units.Bytes{0: 1, 0.25: 500, 0.5: 1000, 0.55: 1000, 0.8: 5000, 0.99999: 9000} {
		if got := percent.Size(u); got != want {
			t.Errorf("size at %v is %d, want %d", u, int64(got), int64(want))
		}
	}
	// Not 0 at the smallest flow: that share has its size.
	if m := mustCDF(t, "100 50\n300 100\n").Mean(); m != 150 {
		t.Errorf("mean %v", m)
	}
}

func TestCDFMistakes(t *testing.T) {
	for src, want := range map[string]string{
		"":                  "c.txt:1:1: a distribution needs two lines",
		"0 0\n5 50\n":       "c.txt:2:3: the last share is 50; write 100, or 1 if shares are not in percent",
		"0 0\n5 50\n4 100":  "c.txt:3:1: size and share are lower than in the line before",
		"0 0\n5\n":          "c.txt:2:1: a line has a size in bytes and a share",
		"0 0\n5 x\n":        `c.txt:2:3: the share of flows is "x"`,
		"0 0\n0 100\n":      "c.txt:2:3: no flow has a byte",
		"-1 0\n10 100\n":    `c.txt:1:1: the size of a flow is "-1"`,
		"0 0\n10 100 \n1 1": "c.txt:3:1: size and share are lower",
	} {
		if _, err := ReadCDF("c.txt", strings.NewReader(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
}

func TestTraffic(t *testing.T) {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	net := func(hosts int) *fabric.Fabric {
		return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: hosts, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	}
	c := mustCDF(t, "1000 0\n21000 100\n")
	traffic := Traffic{Load: 0.4, Time: 10 * units.Millisecond, Seed: 7, Priority: 3}
	a, err := c.Flows(net(8), traffic)
	if err != nil {
		t.Fatal(err)
	}
	// 8 hosts at 40 % of 100 Gbit/s, flows of 11 kB: 36364 flows expected, with a standard deviation of 191.
	if n := len(a.List); n < 36364-5*191 || n > 36364+5*191 {
		t.Errorf("%d flows", n)
	}
	var sum units.Bytes
	to := map[int32]int{}
	gaps, last := map[int32][]float64{}, map[int32]units.Duration{}
	for i, f := range a.List {
		sum += f.Bytes
		to[f.Dst]++
		gaps[f.Src] = append(gaps[f.Src], (f.Start - last[f.Src]).Seconds())
		last[f.Src] = f.Start
		if f.Src == f.Dst || i > 0 && f.Start < a.List[i-1].Start {
			t.Fatalf("flow %d: %+v", i, f)
		}
	}
	if load := float64(sum) / (8 * 12.5e9 * 0.01); math.Abs(load-0.4) > 0.02 {
		t.Errorf("load %.3f", load)
	}
	for dst, n := range to {
		if math.Abs(float64(n)-4545) > 6*67 {
			t.Errorf("%d flows to host %d", n, dst)
		}
	}
	// Gaps of a Poisson process vary as much as they last.
	g := gaps[0]
	mean, square := 0.0, 0.0
	for _, x := range g {
		mean, square = mean+x/float64(len(g)), square+x*x/float64(len(g))
	}
	if cv := math.Sqrt(square-mean*mean) / mean; math.Abs(cv-1) > 0.06 {
		t.Errorf("gaps vary by %.3f of their mean", cv)
	}

	b, _ := c.Flows(net(8), traffic)
	if diff := cmp.Diff(a.List, b.List); diff != "" {
		t.Error("the same seed gave other flows")
	}
	// One more host does not move when the others send, nor how much.
	more, _ := c.Flows(net(9), traffic)
	of := func(list []Flow, src int32) (out []units.Duration) {
		for _, f := range list {
			if f.Src == src {
				out = append(out, f.Start)
			}
		}
		return out
	}
	if diff := cmp.Diff(of(a.List, 3), of(more.List, 3)); diff != "" {
		t.Error("another host moved the flows of host 3")
	}
}

func TestTrafficMistakes(t *testing.T) {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	f := fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
	c := mustCDF(t, "0 0\n1000 100\n")
	for want, traffic := range map[string]Traffic{
		"a load of 0%":              {Time: units.Second},
		"flows that begin during":   {Load: 0.5},
		"can be run: shorten the t": {Load: 0.5, Time: 100 * units.Second},
	} {
		if _, err := c.Flows(f, traffic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func FuzzCDF(f *testing.F) {
	f.Add([]byte("0 0\n1000 50\n1000 60\n9000 100\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := ReadCDF("c.txt", bytes.NewReader(src))
		if err != nil {
			return
		}
		for _, u := range []float64{0, 0.5, 0.999} {
			if got := c.Size(u); got < 1 || float64(got) > c.Points[len(c.Points)-1].Bytes+1 {
				t.Fatalf("size %d at %v", int64(got), u)
			}
		}
	})
}
