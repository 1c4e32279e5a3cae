package netsim

import (
	"testing"

	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// sprayed is a run of the ppcid transport under spraying, without loss.
func sprayed(l spray.Layout) Config {
	c := Config{Seed: 1, Path: Buckets}
	c.NIC.Transport, c.NIC.Control, c.NIC.Timeout = PPCID, NoControl, 6 // 262 us
	c.NIC.PPCID.Layout = l
	return c
}

// With a layout whose window holds all that is under way, ppcid is place.
func TestPPCIDOrders(t *testing.T) {
	f, plan := leafSpine(4, 4, 4), permutation(16, 2*units.MiB, 1)
	c := sprayed(spray.LayoutV2)
	_, s := run(t, f, plan, c)
	c.NIC.Transport, c.NIC.LossDistance = Place, spray.LayoutV2.Window()/2
	_, want := run(t, f, plan, c)
	if s.Drops[DropMisread]+s.Drops[DropAmbiguous] != 0 || s.Stalled {
		t.Errorf("drops %v, stalled %v", s.Drops, s.Stalled)
	}
	if s.Fingerprint != want.Fingerprint {
		t.Errorf("fingerprint %x, place has %x", s.Fingerprint, want.Fingerprint)
	}
}

// A layout with few sequence bits loses what overtakes by more than its window; the retransmission brings it, so that the run ends, later.
func TestPPCIDAmbiguous(t *testing.T) {
	f, plan := leafSpine(8, 8, 8), permutation(64, 2*units.MiB, 1)
	damaged := func(c *Config) {
		for _, name := range []string{"leaf0", "leaf3"} { // a slow path: what takes it is overtaken
			a, _ := f.NodeByName(name)
			b, _ := f.NodeByName("spine0")
			c.Faults = append(c.Faults, Fault{Kind: RateDegraded, Port: uint32(f.Between(a, b)[0]), Rate: 100 * units.Gbps})
		}
	}
	wide, narrow := sprayed(spray.LayoutV2), sprayed(spray.LayoutV1)
	damaged(&wide)
	damaged(&narrow)
	_, w := run(t, f, plan, wide)
	n, s := run(t, f, plan, narrow)
	if w.Drops[DropAmbiguous] != 0 {
		t.Errorf("v2, a window of %d: %d ambiguous", spray.LayoutV2.Window(), w.Drops[DropAmbiguous])
	}
	if s.Drops[DropAmbiguous] == 0 {
		t.Errorf("v1, a window of %d: nothing was ambiguous, packets were taken up to %d ahead", spray.LayoutV1.Window(), s.Reordering.Span)
	}
	if s.Reordering.Span > uint64(spray.LayoutV1.Window()) {
		t.Errorf("v1: a packet was taken %d ahead of the expected one, beyond the window", s.Reordering.Span)
	}
	if s.Stalled || s.End.Before(w.End) {
		t.Errorf("v1 ends at %v (stalled: %v), v2 at %v", s.End, s.Stalled, w.End)
	}
	again := uint64(0)
	for ep := range f.Endpoints {
		again += n.NIC(int32(ep)).RetransmitPackets
	}
	if again < s.Drops[DropAmbiguous]/2 {
		t.Errorf("%d packets were dropped and %d sent again", s.Drops[DropAmbiguous], again)
	}
}

// A host with another layout drops what it receives without a word: no counter of its own moves, only the sender's timeouts do. Hosts of one layout
// among themselves notice nothing.
func TestPPCIDMismatch(t *testing.T) {
	f := leafSpine(2, 2, 2)
	plan := planOf(send(0, 2, 64*4096), send(1, 3, 64*4096))
	for _, layouts := range [][2]spray.Layout{{spray.LayoutV2, spray.LayoutV1}, {spray.LayoutTimeHigh, spray.LayoutPathHigh}} {
		c := sprayed(layouts[0])
		c.NIC.RetryCount, c.NIC.Timeout = 2, 2
		c.NIC.PPCID.Hosts = []PPCIDHost{{Host: "host2", Layout: layouts[1]}}
		n, s := run(t, f, plan, c)
		if !s.Stalled || s.Drops[DropMisread] == 0 {
			t.Errorf("%v: stalled %v, %d misread", layouts, s.Stalled, s.Drops[DropMisread])
		}
		rx, tx := n.NIC(2), n.NIC(0)
		port := n.Port(f.Endpoints[2])
		if rx != (NICCounters{}) || port.CRCErrors != 0 || port.Drops[DropBufferFull] != 0 {
			if layouts[0] == spray.LayoutV2 { // a layout without a version lets a few through
				t.Errorf("%v: the receiver counted %+v", layouts, rx)
			}
		}
		if tx.LocalAckTimeout == 0 || tx.RetryExceeded != 1 {
			t.Errorf("%v: sender: %d timeouts, %d gave up", layouts, tx.LocalAckTimeout, tx.RetryExceeded)
		}
		if other := n.Ops()[1]; other.End.Before(other.Start) {
			t.Errorf("%v: the pair of one layout did not finish", layouts)
		}
	}
}

// A middlebox that knows only RoCEv2's absent checksum drops what carries a context id, and nothing else: other transports and ACKs pass.
func TestChecksumDrop(t *testing.T) {
	f := leafSpine(1, 2, 1)
	plan := planOf(send(0, 1, 16*4096))
	leaf := f.Ports[f.Endpoints[1]].Peer
	c := sprayed(spray.LayoutV2)
	c.NIC.RetryCount, c.NIC.Timeout = 1, 2
	c.Faults = []Fault{{Kind: ChecksumDrop, Port: uint32(leaf)}}
	n, s := run(t, f, plan, c)
	if !s.Stalled || s.Drops[DropChecksum] == 0 {
		t.Errorf("stalled %v, %d dropped", s.Stalled, s.Drops[DropChecksum])
	}
	if tx, rx := n.Port(leaf).TxPackets[3], n.Port(f.Endpoints[1]).RxPackets[3]; rx != 0 || tx != s.Drops[DropChecksum] {
		t.Errorf("%d packets left the leaf, %d were dropped, %d came", tx, s.Drops[DropChecksum], rx)
	}
	c.NIC.Transport = Place
	if _, s := run(t, f, plan, c); s.Stalled || s.Drops != [DropReasons]uint64{} {
		t.Errorf("place: stalled %v, drops %v", s.Stalled, s.Drops)
	}
	c.NIC.Transport = PPCID
	back := workload.Op{Kind: workload.Send, Priority: 3, Src: 1, Dst: 0, Bytes: 16 * 4096}
	if _, s := run(t, f, planOf(back), c); s.Stalled || s.Drops[DropChecksum] != 0 {
		t.Errorf("ACKs: stalled %v, %d dropped", s.Stalled, s.Drops[DropChecksum])
	}
	other := send(0, 1, 16*4096)
	other.Background = true
	if n, s := run(t, f, planOf(other, workload.Op{Kind: workload.Compute, Time: units.Millisecond}), c); s.Drops[DropChecksum] != 0 || n.Ops()[0].End.Before(n.Ops()[0].Start) {
		t.Errorf("background traffic: %d dropped, %v", s.Drops[DropChecksum], n.Ops()[0])
	}
	c.Faults[0].For = 100 * units.Microsecond // retries within 2 x 16.4 us are not enough
	c.NIC.RetryCount = 7
	if _, s := run(t, f, plan, c); s.Stalled || s.Drops[DropChecksum] == 0 {
		t.Errorf("the rule is repaired: stalled %v, %d dropped", s.Stalled, s.Drops[DropChecksum])
	}
}

// What is wrong with a configuration is told.
func TestSprayValidation(t *testing.T) {
	f, plan := leafSpine(1, 2, 1), planOf(send(0, 1, 4096))
	for what, change := range map[string]func(*Config){
		"no sequence":    func(c *Config) { c.NIC.PPCID.Layout = spray.LayoutKeyed },
		"unknown layout": func(c *Config) { c.NIC.PPCID.Layout = "v9" },
		"no such host":   func(c *Config) { c.NIC.PPCID.Hosts = []PPCIDHost{{Host: "spine0", Layout: spray.LayoutV1}} },
		"old reading":    func(c *Config) { c.PathParams.Buckets.Staleness = units.Second },
		"view":           func(c *Config) { c.PathParams.Buckets.View = "wide" },
		"polynomial":     func(c *Config) { c.PathParams.Buckets.Hash.Polynomial = 2 },
		"rules":          func(c *Config) { c.PathParams.Buckets.Rules = route.RulesConfig{Limit: -1} },
	} {
		c := sprayed(spray.LayoutV2)
		change(&c)
		if _, err := New(f, plan, c); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
