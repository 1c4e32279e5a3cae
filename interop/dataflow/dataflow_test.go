package dataflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func small() *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

func mustPlan(t *testing.T, g *Graph) *Result {
	t.Helper()
	r := &source.Report{File: "p"}
	out := g.Plan(small(), Options{Span: workload.Span{Name: "program"}, Ranks: 4}, r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// before tells whether operation a must be over for b to begin.
func before(p *workload.Plan, a, b workload.OpID) bool {
	reached := map[workload.OpID]bool{a: true}
	for i := a; i < b; i++ {
		if !reached[i] {
			continue
		}
		for _, d := range p.Dependants(i) {
			reached[d] = true
		}
	}
	return reached[b]
}

// A call begins when all its members have come to it, and each goes on when it is over there.
func TestCall(t *testing.T) {
	g := &Graph{Calls: []Call{{Call: workload.Call{Collective: workload.AllReduce, Size: 900}, Members: []int32{3, 1, 0}}}}
	var early, late []int32
	for _, r := range []int32{0, 1, 3} {
		early = append(early, g.Add(Node{Kind: Compute, Rank: r, Time: units.Nanosecond}))
		part := g.Add(Node{Kind: Collective, Rank: r})
		late = append(late, g.Add(Node{Kind: Compute, Rank: r, Time: units.Nanosecond}))
		g.After(part, early[len(early)-1])
		g.After(late[len(late)-1], part)
	}
	out := mustPlan(t, g)
	for _, a := range early {
		for _, b := range late {
			if !before(out.Plan, out.Done[a], out.Done[b]) {
				t.Errorf("node %d does not wait for node %d", b, a)
			}
		}
	}
	var sent units.Bytes
	for _, op := range out.Plan.Ops {
		if op.Kind == workload.Send {
			sent += op.Bytes
		}
	}
	if sent != 2*2*900 { // each of 900 bytes is sent 2(n-1) times
		t.Errorf("%d bytes sent", int64(sent))
	}
}

func TestCallWithoutAMember(t *testing.T) {
	g := &Graph{Calls: []Call{{Call: workload.Call{Collective: workload.AllToAll, Size: 900}, Members: []int32{0, 1}}}}
	g.Add(Node{Kind: Collective, Rank: 0, Place: source.Place{Line: 3, Col: 1}})
	never := g.Add(Node{Kind: Collective, Rank: 1})
	wait := g.Add(Node{Kind: Recv, Rank: 1, Peer: 2, Place: source.Place{Line: 7, Col: 1}})
	g.After(never, wait)
	r := &source.Report{File: "p"}
	if g.Plan(small(), Options{Ranks: 4}, r) != nil {
		t.Error("a plan")
	}
	want := "p:3:1: the alltoall of 2 ranks waits for rank 1, which never comes to it\np:7:1: rank 1 receives from 2 with tag 0, and no such message is sent; add its send, or remove the receive"
	if diff := cmp.Diff(want, r.Err().Error()); diff != "" {
		t.Error(diff)
	}
}

// A receive is over when its message is there and what it waited for itself.
func TestReceiveWaitsForBoth(t *testing.T) {
	g := &Graph{}
	busy := g.Add(Node{Kind: Compute, Rank: 1, Time: units.Microsecond})
	recv := g.Add(Node{Kind: Recv, Rank: 1, Peer: 0, Tag: 4})
	send := g.Add(Node{Kind: Send, Rank: 0, Peer: 1, Tag: 4, Bytes: 10})
	g.After(recv, busy)
	out := mustPlan(t, g)
	if !before(out.Plan, out.Done[busy], out.Done[recv]) || !before(out.Plan, out.Done[send], out.Done[recv]) || before(out.Plan, out.Done[busy], out.Done[send]) {
		t.Errorf("done %v", out.Done)
	}
	if len(out.Flows) != 1 || out.Flows[0].Bytes != 10 {
		t.Errorf("flows %v", out.Flows)
	}
}

// Long programs are written in time and space that grow with them alone.
func TestLongChain(t *testing.T) {
	g := &Graph{}
	const length = 300_000
	for i := range length {
		n := g.Add(Node{Kind: Compute, Time: 1})
		if i > 0 {
			g.After(n, n-1)
		}
	}
	for range length {
		g.Add(Node{Kind: Compute, Rank: 1, Time: 1})
	}
	if out := mustPlan(t, g); len(out.Plan.Ops) != 2*length {
		t.Errorf("%d operations", len(out.Plan.Ops))
	}
}

func TestTooLargeACall(t *testing.T) {
	g := &Graph{Calls: []Call{{Call: workload.Call{Collective: workload.AllReduce, Size: 1 << 50}, Members: []int32{0, 1}}}}
	g.Add(Node{Kind: Collective, Rank: 0})
	g.Add(Node{Kind: Collective, Rank: 1})
	r := &source.Report{File: "p"}
	if g.Plan(small(), Options{Ranks: 2}, r) != nil || !strings.Contains(r.Err().Error(), "operations that can be run") {
		t.Errorf("%v", r.Err())
	}
}
