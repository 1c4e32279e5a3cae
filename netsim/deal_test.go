package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// twoPlanes is a fabric of two hosts with a NIC on each of two planes.
func twoPlanes(hosts int) *fabric.Fabric {
	return fabric.DualPlane{Rails: 1, LeavesPerRail: 2, HostsPerLeaf: hosts, Spines: 2, Bundle: 1, GPUsPerHost: 1, Access: wire, Trunk: wire}.Build()
}

// phases are bursts of messages from GPU 0 to the last one, one burst each period: what a training step sends.
func phases(f *fabric.Fabric, bursts, messages int, size units.Bytes, period units.Duration) *workload.Plan {
	var b workload.Builder
	for i := range bursts {
		for range messages {
			op := send(0, len(f.GPUs)-1, size)
			op.At = units.Duration(i) * period
			b.Add(op)
		}
	}
	return b.Plan()
}

// split is the share of the bytes of GPU 0 that its first NIC sent.
func split(n *Network) float64 {
	ports := n.f.GPUs[0].NICs
	a, b := n.sentBy(uint32(ports[0])), n.sentBy(uint32(ports[1]))
	return float64(a) / float64(a+b)
}

// Messages of bursts that each last a quarter of their period: a burst is over when the next begins, so that both NICs are idle when messages are dealt. A host
// that knows both as they are deals evenly. One that knows its second NIC only as it was a quarter to a half of a period ago compares an idle NIC with a
// busy one, and leans to the first.
func TestStaleDealing(t *testing.T) {
	f := twoPlanes(1)
	plan := phases(f, 40, 32, 256*units.KiB, 400*units.Microsecond)
	c := plain()
	c.NIC.QPs = 4
	c.NIC.Deal = DealConfig{By: DealByLinkState, Refresh: 20 * units.Microsecond}
	fresh, _ := run(t, f, plan, c)
	if s := split(fresh); s < 0.49 || s > 0.51 {
		t.Errorf("fresh: the first NIC sends %.3f of the bytes, want half", s)
	}
	for _, st := range fresh.Dealing(0) {
		if st.Oldest > 20*units.Microsecond {
			t.Errorf("fresh: decided by a state of %v", st.Oldest)
		}
	}
	c.NIC.Deal.Staleness, c.NIC.Deal.Jitter = 320*units.Microsecond, 20*units.Microsecond
	even, _ := run(t, f, plan, c)
	if s := split(even); s < 0.49 || s > 0.51 {
		t.Errorf("no NIC is late: the first sends %.3f of the bytes, want half", s)
	}
	c.NIC.Deal.Late = []LateNIC{{Host: f.Nodes[f.GPUs[0].Host].Name, NIC: 1}}
	stale, _ := run(t, f, plan, c)
	t.Logf("the second is late: the first sends %.2f of the bytes", split(stale))
	if s := split(stale); s < 0.6 {
		t.Errorf("the second is late: the first sends %.3f of the bytes, want clearly more than half", s)
	}
	state := stale.Dealing(0)
	if state[0].Oldest > 20*units.Microsecond || state[1].Oldest < 300*units.Microsecond {
		t.Errorf("decided by states of up to %v and %v", state[0].Oldest, state[1].Oldest)
	}
	// The other host is bound well, and what is late at the first is the other NIC: the split is mirrored, so nothing prefers the first.
	c.NIC.Deal.Late[0].NIC = 0
	mirrored, _ := run(t, f, plan, c)
	if s := split(mirrored); s > 0.4 {
		t.Errorf("the first is late: it sends %.3f of the bytes, want clearly less than half", s)
	}
}

// A NIC whose link is down gets nothing once that is known.
func TestDealingAroundDeadLink(t *testing.T) {
	f := twoPlanes(1)
	plan := phases(f, 10, 8, 64*units.KiB, 100*units.Microsecond)
	c := plain()
	c.NIC.Deal = DealConfig{By: DealByLinkState, Refresh: 10 * units.Microsecond}
	c.Faults = []Fault{{Kind: LinkDown, Port: uint32(f.GPUs[0].NICs[1]), At: 250 * units.Microsecond}}
	n, s := run(t, f, plan, c)
	if s.Stalled {
		t.Fatal("messages were dealt to a dead link")
	}
	if got := split(n); got < 0.8 {
		t.Errorf("the NIC that lives sent %.2f of the bytes", got)
	}
}
