package netsim

import (
	"math"
	"testing"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// The network of these tests: 100 Gbit/s and 1 us everywhere, senders under one leaf and a receiver under the other, so a full packet
// takes 4 x (332.8 ns + 1 us) there and its acknowledgement 4 x (5.12 ns + 1 us) back.
const (
	line100   = 100 * units.Gbps
	packet100 = 332_800
	rtt100    = 4*(packet100+1_000_000) + 4*(5_120+1_000_000)
)

func twoLeaves() *fabric.Fabric {
	w := fabric.Wire{Rate: line100, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 2, HostsPerLeaf: 16, Spines: 16, Bundle: 1, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// shared is what became of a link that several senders shared for a while.
type shared struct {
	use         float64 // of the link
	queue       float64 // mean, bytes
	least, most float64 // of what the senders delivered, to the mean
	pauses      uint64
}

// share lets senders send without end to one receiver and looks at the last link from one time to another.
func share(t *testing.T, c Config, senders int, from, to units.Duration) (s shared) {
	t.Helper()
	f := twoLeaves()
	var b workload.Builder
	for i := range senders {
		b.Add(send(16+i, 0, units.GB))
	}
	n := start(t, f, b.Plan(), c)
	out := f.Ports[f.Endpoints[0]].Peer
	at := func(d units.Duration) PortCounters {
		if _, err := n.RunUntil(units.At(int64(d))); err != nil {
			t.Fatal(err)
		}
		return n.Port(out)
	}
	first := at(from)
	begin := make([]uint64, senders)
	for q := range begin {
		begin[q] = n.snd[q].una
	}
	looks := 0.0
	last := first
	for d := from; d <= to; d += 5 * units.Microsecond {
		last = at(d)
		s.queue += float64(last.QueueBytes[3])
		looks++
	}
	s.queue /= looks
	s.use = float64(last.TxBytes[3]-first.TxBytes[3]) / (line100.BytesPerSecond() * (to - from).Seconds())
	sum := 0.0
	s.least = math.Inf(1)
	for q := range begin {
		got := float64(n.snd[q].una - begin[q])
		sum += got
		s.least, s.most = min(s.least, got), max(s.most, got)
	}
	s.least, s.most = s.least*float64(senders)/sum, s.most*float64(senders)/sum
	for p := range f.Ports {
		s.pauses += n.Port(fabric.PortID(p)).PauseTx[3]
	}
	t.Logf("%s, %d senders: %+v", c.NIC.Control, senders, s)
	if err := n.conserved(); err != nil {
		t.Error(err)
	}
	return s
}

func within(t *testing.T, what string, got, least, most float64) {
	t.Helper()
	if !(got >= least && got <= most) {
		t.Errorf("%s is %.4g, want %.4g to %.4g", what, got, least, most)
	}
}

// An acknowledgement tells the round trip to the picosecond: on an idle network it is the one that the laws reckon with, and it comes back with
// the entropy value of its packet and the telemetry of every switch on the way, in order.
func TestNotes(t *testing.T) {
	f := twoLeaves()
	c := Config{Seed: 1, Path: Oblivious}
	c.NIC.Control, c.NIC.Transport = HPCC, UEC
	hold := workload.Op{Kind: workload.Compute, Src: 1, Time: units.Millisecond} // keeps the run going after the message
	n := start(t, f, planOf(send(16, 0, 4096), hold), c)
	if got := n.mostHops(); got != 3 {
		t.Errorf("most hops %d, want 3", got)
	}
	if _, err := n.RunUntil(units.At(rtt100 - 1)); err != nil {
		t.Fatal(err)
	}
	if n.snd[0].una != 0 {
		t.Error("acknowledged before a round trip")
	}
	k := n.ports[n.ports[f.Endpoints[16]].peer].head // the acknowledgement on its last link
	if k == none {
		t.Fatal("no acknowledgement under way")
	}
	note := n.notes[k]
	if note.sent != 0 || note.hops != 3 || int(note.ev) >= 64 {
		t.Errorf("note %+v", note)
	}
	hops := n.hopsOf(k)[:3]
	at := int64(packet100 + 1_000_000)
	from := f.Ports[f.Endpoints[16]].Peer
	for i, h := range hops {
		port := fabric.PortID(h.Port - 1)
		if f.Ports[port].Node != f.Ports[from].Node {
			t.Errorf("hop %d is %s, not a port of %s", i, f.PortName(port), f.Node(from).Name)
		}
		if h.At != units.At(at) || h.Sent != 4160 || h.Queue != 0 || h.Rate != line100 {
			t.Errorf("hop %d: %+v, want it sent at %v alone", i, h, units.At(at))
		}
		at += packet100 + 1_000_000
		from = f.Ports[port].Peer
	}
	if _, err := n.RunUntil(units.At(rtt100)); err != nil || n.snd[0].una != 1 {
		t.Errorf("not acknowledged after a round trip: %v", err)
	}
	if got := int64(n.roundTrip(16, 0)); got != rtt100 {
		t.Errorf("the laws reckon with %d ps, the round trip is %d", got, rtt100)
	}
}

// Fixed windows: four of 28 packets (the largest that fit into the product of 116 896 bytes) less what the wires hold wait at the link.
func TestFixedWindows(t *testing.T) {
	c := Config{Seed: 1}
	c.NIC.Control = FixedWindow
	s := share(t, c, 4, 2*units.Millisecond, 4*units.Millisecond)
	wires := line100.BytesPerSecond() * rtt100 / 1e12
	within(t, "queue", s.queue, 0.98*(4*28*4160-wires), 1.02*(4*28*4160-wires))
	within(t, "use", s.use, 0.999, 1.001)
	c.NIC.Window = 8 * 4096
	s = share(t, c, 1, 2*units.Millisecond, 4*units.Millisecond)
	within(t, "use by one window of 8 packets", s.use, 0.99*8*4160/wires, 1.01*8*4160/wires)
}

// HPCC keeps the link at its target of 95 % with next to no queue, shared fairly (SIGCOMM 2019, section 5.2: "near-zero queues").
func TestHPCCNearZeroQueue(t *testing.T) {
	for _, senders := range []int{2, 4, 16} {
		c := Config{Seed: 1}
		c.NIC.Control = HPCC
		s := share(t, c, senders, 10*units.Millisecond, 20*units.Millisecond)
		within(t, "use", s.use, 0.92, 0.98)
		within(t, "queue in packets", s.queue/4160, 0, 4)
		within(t, "least share", s.least, 0.85, 1)
		within(t, "largest share", s.most, 1, 1.15)
		if s.pauses > 0 {
			t.Errorf("%d pauses", s.pauses)
		}
	}
}

// Swift's round trip is its target: with N senders at round trip D the window is W = rate x D / N packets, and D = fixed + a/sqrt(W) + b.
func TestSwiftMeetsItsTarget(t *testing.T) {
	for _, senders := range []int{2, 4, 16} {
		c := Config{Seed: 1}
		c.NIC.Control = Swift
		s := share(t, c, senders, 20*units.Millisecond, 30*units.Millisecond)
		a := 100 / (1/math.Sqrt(0.1) - 1/math.Sqrt(100))
		d := 30.0
		for range 100 {
			w := line100.BytesPerSecond() * d * 1e-6 / float64(senders) / 4160
			d = 20 + 3*20/6.55 + a/math.Sqrt(w) - a/math.Sqrt(100)
		}
		within(t, "round trip", rtt100/1e6+s.queue/line100.BytesPerSecond()*1e6, 0.93*d, 1.07*d)
		within(t, "use", s.use, 0.995, 1.001)
		within(t, "least share", s.least, 0.95, 1)
	}
}

// NSCC holds the queueing delay at its target, which without trimming is the longest round trip of the network, when marking begins below that.
func TestNSCCMeetsItsTarget(t *testing.T) {
	for _, senders := range []int{2, 4, 16} {
		c := Config{Seed: 1}
		c.NIC.Control, c.NIC.Transport = NSCC, UEC
		c.Switch.ECN = ECNConfig{KMin: 23_000, KMax: 93_000, PMax: 1} // 0.2 and 0.8 of the product
		s := share(t, c, senders, 10*units.Millisecond, 20*units.Millisecond)
		within(t, "queueing delay in round trips", s.queue/line100.BytesPerSecond()*1e12/rtt100, 0.9, 1.1)
		within(t, "use", s.use, 0.995, 1.001)
		within(t, "least share", s.least, 0.85, 1)
		within(t, "largest share", s.most, 1, 1.15)
	}
}

// TIMELY holds the round trip between its thresholds without loss of use.
func TestTIMELYBetweenItsThresholds(t *testing.T) {
	for _, senders := range []int{2, 4, 16} {
		c := Config{Seed: 1}
		c.NIC.Control = TIMELY
		c.NIC.TIMELY.Initial = units.Fraction(1 / float64(senders+1)) // as the paper starts a flow
		s := share(t, c, senders, 20*units.Millisecond, 40*units.Millisecond)
		within(t, "use", s.use, 0.9, 1.001)
		within(t, "round trip in us", rtt100/1e6+s.queue/line100.BytesPerSecond()*1e6, rtt100/1e6, 500)
		within(t, "least share", s.least, 0.75, 1)
		within(t, "largest share", s.most, 1, 1.25)
	}
}

// Every law gives way when others come and takes what they leave: three senders join a fourth and end again.
func TestLawsReact(t *testing.T) {
	for _, control := range []Control{DCQCN, HPCC, TIMELY, Swift, NSCC} {
		f := twoLeaves()
		c := Config{Seed: 2}
		c.NIC.Control, c.NIC.DCQCN.Preset = control, PresetPaper
		c.NIC.TIMELY.Initial, c.NIC.TIMELY.AIRate = 0.2, 200*units.Mbps // a step of 20 Mbit/s would take some 50 ms
		c.Switch.ECN = ECNConfig{KMin: 23_000, KMax: 93_000, PMax: 1}
		if control == NSCC {
			c.NIC.Transport = UEC
		}
		var b workload.Builder
		b.Add(send(16, 0, 2*units.GB))
		for i := range 3 {
			op := send(17+i, 0, 30*units.MB)
			op.At = 5 * units.Millisecond
			b.Add(op)
		}
		n := start(t, f, b.Plan(), c)
		delivered := func(from, to units.Duration) float64 {
			var una [2]uint64
			for i, d := range []units.Duration{from, to} {
				if _, err := n.RunUntil(units.At(int64(d))); err != nil {
					t.Fatal(err)
				}
				una[i] = n.snd[0].una
			}
			return float64(una[1]-una[0]) * 4160 / (line100.BytesPerSecond() * (to - from).Seconds())
		}
		ms := units.Millisecond
		alone, together := delivered(4*ms, 5*ms), delivered(8*ms, 9*ms)
		for i := 1; n.Ops()[i].End.PS() < 0 || i < 3; {
			if n.Ops()[i].End.PS() >= 0 {
				i++
				continue
			}
			if _, err := n.RunUntil(n.Now().Add(ms / 10)); err != nil || n.Now().PS() > int64(40*ms) {
				t.Fatalf("%s: the others have not ended at %v: %v", control, n.Now(), err)
			}
		}
		end := units.Duration(n.Now().PS())
		after := delivered(end+15*ms, end+16*ms)
		t.Logf("%-6s alone %.2f, with three others %.2f, 15 ms after %.2f", control, alone, together, after)
		within(t, string(control)+" alone", alone, 0.93, 1.001)
		within(t, string(control)+" with three others", together, 0.05, 0.5)
		within(t, string(control)+" after they have gone", after, 0.85, 1.001)
	}
}

// An incast of 96 windows into queues that trim: NSCC cuts the windows down within a round trip or two, only what was trimmed is sent again, and
// the link is never idle.
func TestNSCCTrimmedIncast(t *testing.T) {
	f := leafSpine(4, 32, 16)
	var b workload.Builder
	for i := range 96 {
		b.Add(send(32+i, 0, 600_000))
	}
	n, s := run(t, f, b.Plan(), referenceNSCC(Oblivious))
	trimmed := s.Drops[DropTrimmed]
	var again uint64
	for ep := range n.nics {
		again += n.NIC(int32(ep)).RetransmitPackets
	}
	ideal := 96 * 147 * full // 147 packets each
	took := float64(s.End.PS()) / float64(ideal)
	t.Logf("%d of %d packets trimmed, %d sent again, %.3f of the ideal time", trimmed, 96*147, again, took)
	if trimmed == 0 || again != trimmed {
		t.Errorf("%d packets were trimmed and %d sent again", trimmed, again)
	}
	within(t, "time to the ideal one", took, 1, 1.05)
	// The first windows hold all there is to send. Nearly all of that is trimmed, and hardly anything a second time.
	within(t, "trimmed to first windows", float64(trimmed)/(96*147), 0.9, 1.1)
}

// The named sets of DCQCN parameters: what is given stays, and rates that grow with the line do.
func TestDCQCNPresets(t *testing.T) {
	c := Defaults(Config{NIC: NICConfig{DCQCN: DCQCNConfig{Preset: PresetPaper, Threshold: 3}}})
	if d := c.NIC.DCQCN; d.Threshold != 3 || d.TimeReset != 55*units.Microsecond || d.ByteReset != 10*units.MB || !d.ClampTarget || d.AIRate != 40*units.Mbps {
		t.Errorf("paper: %+v", d)
	}
	c = Defaults(Config{NIC: NICConfig{DCQCN: DCQCNConfig{Preset: PresetHPCC}}})
	if p := newDCQCN(c.NIC.DCQCN, 400*units.Gbps); p.AIRate != 80*units.Mbps || p.HAIRate != 800*units.Mbps || p.ByteReset >= 0 || p.G != 1.0/256 {
		t.Errorf("hpcc at 400 Gbit/s: %+v", p)
	}
	c = Defaults(Config{})
	if d := c.NIC.DCQCN; d.Preset != PresetMLX5 || d.G != 5.0/1024 || d.TimeReset != 300*units.Microsecond {
		t.Errorf("default: %+v", d)
	}
	if err := Defaults(Config{NIC: NICConfig{DCQCN: DCQCNConfig{Preset: "other"}}}).Validate(); err == nil {
		t.Error("a preset that is none was taken")
	}
}
