package message

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

var (
	access = fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	trunk  = fabric.Wire{Rate: 400 * units.Gbps, Delay: 2 * units.Microsecond}
)

// Between GPUs with a port in each of two planes a message is cut in two, and over when both parts are; within a host
// with NVLink it stays whole.
func TestPlanes(t *testing.T) {
	f := fabric.DualPlane{
		Rails: 1, LeavesPerRail: 1, HostsPerLeaf: 2, Spines: 1, Bundle: 1, GPUsPerHost: 2, Access: access, Trunk: trunk,
		NVLink: fabric.NVLink{Rate: units.Tbps},
	}.Build()
	w := NewWriter(f)
	span := w.Span(workload.Span{})
	first, last := w.Send(Message{Src: 0, Dst: 2, Bytes: 7, Span: span})
	inside, same := w.Send(Message{Src: 0, Dst: 1, Bytes: 7, Span: span}, last)
	one, _ := w.Send(Message{Src: 2, Dst: 0, Bytes: 1, Span: span})
	p := w.Plan()
	want := []workload.Op{
		{Kind: workload.Send, Src: 0, Dst: 2, Bytes: 4}, {Kind: workload.Send, Src: 0, Dst: 2, Bytes: 3}, {Kind: workload.Join, Src: 2, Dst: 2},
		{Kind: workload.Send, Src: 0, Dst: 1, Bytes: 7},
		{Kind: workload.Send, Src: 2, Dst: 0, Bytes: 1},
	}
	if diff := cmp.Diff(want, p.Ops); diff != "" {
		t.Error(diff)
	}
	if first != 0 || last != 2 || inside != 3 || same != 3 || one != 4 || p.Dependencies(2) != 2 || p.Dependencies(3) != 1 {
		t.Errorf("first %d, last %d, inside %d to %d, one %d", first, last, inside, same, one)
	}
}

func TestConnectionsAreApart(t *testing.T) {
	w := NewWriter(fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 2, GPUsPerHost: 1, Access: access, Trunk: trunk}.Build())
	if a, b, c := w.Connection(0, 1), w.Connection(0, 1), w.Connection(1, 0); a != 0 || b != 1 || c != 0 {
		t.Errorf("channels %d, %d, %d", a, b, c)
	}
}

// A flow takes on an idle network what its path says: the figures of idle.go against a run.
func TestIdleIsWhatARunTakes(t *testing.T) {
	f := fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 1, Spines: 1, Bundle: 1, GPUsPerHost: 1, Access: access, Trunk: trunk}.Build()
	path, ok := PathOf(f, 0, 1)
	if !ok || len(path.Ports) != 4 || path.Delay() != 6*units.Microsecond || path.DelayBack() != path.Delay() || path.Bottleneck() != 100*units.Gbps {
		t.Fatalf("path %v", path.Ports)
	}
	if _, ok := PathOf(f, 0, 0); ok {
		t.Error("a GPU has a path to itself")
	}
	w := NewWriter(f)
	span := w.Span(workload.Span{})
	a, _ := w.Send(Message{Src: 0, Dst: 1, Bytes: 1000, Span: span})
	b, _ := w.Send(Message{Src: 1, Dst: 0, Bytes: 1, Span: span}, a)
	c := netsim.Defaults(netsim.Config{Switch: netsim.SwitchConfig{Latency: 300 * units.Nanosecond}, NIC: netsim.NICConfig{Control: netsim.NoControl}})
	net, err := netsim.New(f, w.Plan(), c)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := net.RunUntil(units.At(int64(units.Second))); !done || err != nil {
		t.Fatal(done, err)
	}
	start, took, ok := Flow{First: a, Last: a}.Times(net.Ops())
	if want := path.Delay() + path.Serialize(1064) + 3*c.Switch.Latency; !ok || took != want || start != units.At(0) {
		t.Errorf("a packet of 1000 bytes and its header took %v, not %v", took, want)
	}
	// What goes back in place of the last acknowledgement has one byte more than it, and leaves right behind it.
	_, took, _ = Flow{First: b, Last: b}.Times(net.Ops())
	if want := path.Ack(c.Switch.Latency); took < want || took > want+units.Serialize(64, 100*units.Gbps)+units.Nanosecond {
		t.Errorf("the way back took %v, an acknowledgement %v", took, want)
	}
	if _, _, ok := (Flow{First: a, Last: b}).Times([]netsim.OpTime{{Start: units.At(5), End: units.At(9)}, {End: units.At(-1)}}); ok {
		t.Error("a flow that did not end has times")
	}
}
