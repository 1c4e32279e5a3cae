package validation

import (
	"slices"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// The reference network of the comparison: every link 400 Gbit/s and 1 us.
var wire = fabric.Wire{Rate: 400 * units.Gbps, Delay: units.Microsecond}

const (
	header = 64 // bytes a packet costs beyond its payload
	mtu    = 4096
	full   = mtu + header
)

func leafSpine(leaves, hosts, spines int, w fabric.Wire) *fabric.Fabric {
	return fabric.LeafSpine{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// plain is a run without congestion control and marking.
func plain() netsim.Config {
	return netsim.Config{Seed: 1, NIC: netsim.NICConfig{Control: "none"}, Switch: netsim.SwitchConfig{ECN: netsim.ECNConfig{Off: true}}}
}

// quiet is plain with one ACK for a message, so that the way back carries next to nothing.
func quiet() netsim.Config {
	c := plain()
	c.NIC.AckEvery = 1 << 20
	return c
}

func send(src, dst int, b units.Bytes) workload.Op {
	return workload.Op{Kind: workload.Send, Priority: workload.RoCEPriority, Src: fabric.GPUID(src), Dst: fabric.GPUID(dst), Bytes: b}
}

func planOf(ops ...workload.Op) *workload.Plan {
	var b workload.Builder
	for _, op := range ops {
		b.Add(op)
	}
	return b.Plan()
}

// incast sends size from each of hosts 1..n to host 0.
func incast(n int, size units.Bytes) *workload.Plan {
	var ops []workload.Op
	for i := range n {
		ops = append(ops, send(i+1, 0, size))
	}
	return planOf(ops...)
}

// outcome is a run that has ended.
type outcome struct {
	*netsim.Network
	f    *fabric.Fabric
	plan *workload.Plan
	sum  netsim.Summary
}

func start(t testing.TB, f *fabric.Fabric, p *workload.Plan, c netsim.Config) outcome {
	t.Helper()
	n, err := netsim.New(f, p, c)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{Network: n, f: f, plan: p}
}

// run carries a plan out to its end. Finish checks conservation for every link, switch and NIC; what arrived is compared with the plan here.
func run(t testing.TB, f *fabric.Fabric, p *workload.Plan, c netsim.Config) outcome {
	t.Helper()
	o := start(t, f, p, c)
	done, err := o.RunUntil(netsim.Forever)
	if err != nil || !done {
		t.Fatalf("done %v, %v", done, err)
	}
	if o.sum, err = o.Finish(); err != nil {
		t.Fatal(err)
	}
	if o.sum.Drops == [netsim.DropReasons]uint64{} {
		var sent, arrived uint64
		for i := range p.Ops {
			if op := &p.Ops[i]; op.Kind == workload.Send && f.GPUs[op.Src].Host != f.GPUs[op.Dst].Host {
				sent += uint64(op.Bytes)
			}
		}
		for ep := range f.Endpoints {
			arrived += o.NIC(int32(ep)).RxDataBytes
		}
		if sent != arrived {
			t.Errorf("the plan sends %d bytes and %d arrived, though nothing was dropped", sent, arrived)
		}
	}
	return o
}

// until carries a run on to t and tells of errors only.
func (o outcome) until(t testing.TB, at units.Duration) {
	t.Helper()
	if _, err := o.RunUntil(units.At(int64(at))); err != nil {
		t.Fatal(err)
	}
}

func (o outcome) took(op int) units.Duration { return o.Ops()[op].End.Sub(o.Ops()[op].Start) }

// makespan is the end of the last operation.
func (o outcome) makespan() units.Duration {
	var end units.Duration
	for _, op := range o.Ops() {
		end = max(end, op.End.Sub(units.At(0)))
	}
	return end
}

// completions are the times of all Sends in us, sorted.
func (o outcome) completions() []float64 {
	var list []float64
	for i := range o.plan.Ops {
		if o.plan.Ops[i].Kind == workload.Send {
			list = append(list, us(o.took(i)))
		}
	}
	slices.Sort(list)
	return list
}

func us(d units.Duration) float64 { return d.Seconds() * 1e6 }

func quantile(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1)+0.5)] }

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// jain is the fairness index of Jain, Chiu and Hawe (DEC TR-301, 1984): 1 when all are equal, 1/n when one has all.
func jain(v []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range v {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(v)) * squares)
}

// hop is one link of a path.
type hop struct {
	rate  units.Rate
	delay units.Duration
}

func hops(n int, w fabric.Wire) []hop {
	return slices.Repeat([]hop{{w.Rate, w.Delay}}, n)
}

// pipeline is when the last of b bytes is there, in packets of payload p, over links that store and forward and carry nothing else:
// packet i leaves link l when it has arrived there whole and packet i-1 has left.
func pipeline(b, p units.Bytes, path []hop) units.Duration {
	left := make([]units.Duration, len(path))
	var at units.Duration
	for ; ; b -= p {
		at = 0
		for l, h := range path {
			left[l] = max(at, left[l]) + units.Serialize(min(b, p)+header, h.rate)
			at = left[l] + h.delay
		}
		if b <= p {
			return at
		}
	}
}
