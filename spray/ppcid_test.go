package spray

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/units"
)

func codec(t testing.TB, l Layout) Codec {
	t.Helper()
	c, err := NewCodec(l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLayoutsFillSixteenBits(t *testing.T) {
	versions := map[uint8]Layout{}
	for _, name := range Layout("").Choices() {
		l, n := Layout(name), 0
		for _, f := range l.Fields() {
			n += f.Bits
		}
		if n != 16 {
			t.Errorf("%s has %d bits", l, n)
		}
		if l.Doc() == "" {
			t.Errorf("%s is not described", l)
		}
		v, ok := l.Version()
		if !ok {
			if l.Bits(PartVersion) != 0 {
				t.Errorf("%s has bits for a version and no version", l)
			}
			continue
		}
		if other := versions[v]; other != "" {
			t.Errorf("%s and %s share version %d", l, other, v)
		}
		versions[v] = l
		if f := l.Fields()[0]; f != (Field{PartVersion, 2}) {
			t.Errorf("%s begins with %+v: versions are told apart only where all layouts have them in the same bits", l, f)
		}
	}
	if _, err := NewCodec("v9"); err == nil {
		t.Error("a layout that does not exist")
	}
}

// What goes in comes out, cut to the bits of the layout, and each bit of an id belongs to one part alone.
func TestEncodeDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range Layout("").Choices() {
		l := Layout(name)
		c := codec(t, l)
		for range 2000 {
			x := Context{QP: rng.Uint32N(1 << 24), Sequence: rng.Uint32N(1 << 24), Path: rng.Uint32N(uint32(l.Paths())), Time: rng.Uint32N(20_000_000), Epoch: 1 + rng.Uint32N(3), Tag: rng.Uint32()}
			id := c.Encode(x)
			got, err := c.Decode(id)
			if id == 0 && errors.Is(err, ErrAbsent) && l.AbsentShare() > 0 {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %+v: %v", l, x, err)
			}
			want := c.Hashed(x)
			if l.Bits(PartSequence) > 0 && got.Sequence != x.Sequence&(1<<l.Bits(PartSequence)-1) || got.Path != x.Path || got != want {
				t.Fatalf("%s: %+v came back as %+v, want %+v", l, x, got, want)
			}
		}
	}
}

// The example that the page shows, bit by bit.
func TestBitsOfV2(t *testing.T) {
	c := codec(t, LayoutV2)
	if id := c.Encode(Context{Sequence: 0x3ff, Path: 5}); id != 0b10_1111111111_0101 {
		t.Errorf("%016b", id)
	}
	if id := c.Encode(Context{Sequence: 0x400, Path: 0}); id != 0b10_0000000000_0000 {
		t.Errorf("%016b", id)
	}
}

func TestVersionsReject(t *testing.T) {
	v1, v2 := codec(t, LayoutV1), codec(t, LayoutV2)
	id := v1.Encode(Context{QP: 9, Sequence: 77, Path: 3, Time: 1234})
	if _, err := v2.Decode(id); !errors.Is(err, ErrLayout) {
		t.Errorf("v2 took an id of v1: %v", err)
	}
	if _, err := v1.Decode(0); !errors.Is(err, ErrAbsent) {
		t.Errorf("the id 0: %v", err)
	}
	// Layouts with a version never make the id 0, the other two do.
	for _, name := range Layout("").Choices() {
		l := Layout(name)
		c := codec(t, l)
		zero := c.Encode(Context{Epoch: 1})
		if got := l.AbsentShare() > 0; got != (zero == 0) {
			t.Errorf("%s: a context of zeros is %d, and AbsentShare %g", l, zero, l.AbsentShare())
		}
	}
}

// S0.12: the two vendors take the same bits for path and time. Nothing is rejected: every packet gets a wrong path and a wrong
// time, while QP and sequence come through.
func TestMisread(t *testing.T) {
	for _, c := range []struct {
		writer, reader Layout
		rejected       float64
		wrong          []Part
		silent         bool
	}{
		{LayoutTimeHigh, LayoutPathHigh, 0, []Part{PartPath, PartTime}, true},
		{LayoutPathHigh, LayoutTimeHigh, 0, []Part{PartTime, PartPath}, true},
		{LayoutV1, LayoutV2, 1, []Part{PartVersion, PartSequence, PartPath}, false},
		{LayoutPathHigh, LayoutV2, 0.75, []Part{PartVersion, PartSequence, PartPath}, true},
		{LayoutV2, LayoutPathHigh, 0, []Part{PartPath, PartQP, PartSequence, PartTime}, true},
		{LayoutV1, LayoutKeyed, 1 - 1.0/256, []Part{PartEpoch, PartPath, PartTag}, true},
		{LayoutV2, LayoutV2, 0, []Part{}, false},
		{LayoutKeyed, LayoutKeyed, 0, []Part{}, false},
	} {
		r, err := Misread(c.writer, c.reader)
		if err != nil {
			t.Fatal(err)
		}
		if r.Rejected != c.rejected || r.Silent() != c.silent || !slices.Equal(r.Wrong, c.wrong) {
			t.Errorf("%s read as %s: %+v, silent %t", c.writer, c.reader, r, r.Silent())
		}
	}
	if _, err := Misread(LayoutV1, "v9"); err == nil {
		t.Error("a layout that does not exist")
	}

	// The same by packets: what the reader of S0.12 makes of 10,000 ids.
	w, r := codec(t, LayoutTimeHigh), codec(t, LayoutPathHigh)
	rng, wrong := rand.New(rand.NewPCG(3, 4)), 0
	for range 10000 {
		x := Context{QP: rng.Uint32N(1 << 24), Sequence: rng.Uint32N(1 << 24), Path: rng.Uint32N(4), Time: rng.Uint32N(20_000_000)}
		if got := r.read(w.Encode(x)); got.Path != x.Path {
			wrong++
		} else if got.Sequence != x.Sequence&15 {
			t.Fatalf("sequence %d of %d", got.Sequence, x.Sequence)
		}
	}
	if wrong < 9900 { // one in 256 by chance
		t.Errorf("%d of 10000 paths were wrong", wrong)
	}
}

func TestWindows(t *testing.T) {
	want := map[Layout]int{LayoutV1: 16, LayoutV2: 512, LayoutPathHigh: 8, LayoutTimeHigh: 8, LayoutKeyed: 0}
	for l, w := range want {
		if l.Window() != w {
			t.Errorf("%s: window %d, want %d", l, l.Window(), w)
		}
	}
	// 20 us at 400 Gbit/s: a packet of 4178 bytes takes 83.56 ns, so 239.4 of them.
	need := NeededWindow(20*units.Microsecond, 400*units.Gbps, RoCEWire)
	if need != 240 || NeededBits(need) != 9 {
		t.Errorf("needs a window of %d, %d bits", need, NeededBits(need))
	}
	if NeededBits(256) != 9 || NeededBits(257) != 10 || NeededBits(1) != 1 || NeededBits(0) != 0 {
		t.Error("bits of a window")
	}
}

// A layout orders packets up to its window and not beyond: Unwrap at every distance from the reference, at the start, in the
// middle and across the wrap of the sequence numbers.
func TestUnwrapReachesTheWindow(t *testing.T) {
	const all = 1 << 24
	for _, l := range []Layout{LayoutV1, LayoutV2, LayoutPathHigh} {
		c := codec(t, l)
		w := l.Window()
		for _, reference := range []uint32{0, 5, 1000, all - 3} {
			for d := -2 * w; d < 2*w; d++ {
				psn := (reference + uint32(d)) % all
				got := c.Unwrap(c.Hashed(Context{Sequence: psn}).Sequence, reference)
				if inside := d >= -w && d < w; (got == psn) != inside {
					t.Fatalf("%s: distance %d from %d gave %d", l, d, reference, got)
				}
			}
		}
	}
	c := codec(t, LayoutKeyed)
	if got := c.Unwrap(0, 7); got != 7 {
		t.Errorf("a layout without a sequence gave %d", got)
	}
}

// A receiver that orders by the id alone: packets overtaken by up to 239 others, which is what 20 us of skew do at 400 Gbit/s.
// Ten bits order them all, five do not.
func TestOrderingUnderSkew(t *testing.T) {
	const packets, skew = 20000, 240
	misplaced := func(l Layout) int {
		c, rng := codec(t, l), rand.New(rand.NewPCG(5, 6))
		type arrival struct{ at, psn uint32 }
		var list []arrival
		for psn := range uint32(packets) {
			list = append(list, arrival{psn + rng.Uint32N(skew), psn}) // sent one a slot, late by less than the skew
		}
		slices.SortStableFunc(list, func(a, b arrival) int { return int(a.at) - int(b.at) })
		seen, missing, bad := make([]bool, packets), uint32(0), 0
		for _, a := range list {
			if c.Unwrap(c.Hashed(Context{Sequence: a.psn}).Sequence, missing) != a.psn {
				bad++
			}
			seen[a.psn] = true // the receiver goes by the true number, so that one error does not make the next
			for missing < packets && seen[missing] {
				missing++
			}
		}
		return bad
	}
	if n := misplaced(LayoutV2); n != 0 {
		t.Errorf("v2 misplaced %d packets", n)
	}
	if n := misplaced(LayoutV1); n < packets/2 {
		t.Errorf("v1 misplaced only %d of %d packets", n, packets)
	}
}

func FuzzPPCID(f *testing.F) {
	f.Add(uint16(0), uint32(1), uint32(2), uint32(3), uint32(4))
	f.Add(uint16(0xffff), uint32(1<<24-1), uint32(1<<24-1), uint32(255), uint32(20_000_000))
	f.Add(uint16(0b10_1111111111_0101), uint32(7), uint32(1023), uint32(5), uint32(0))
	f.Fuzz(func(t *testing.T, id uint16, qp, psn, path, time uint32) {
		for _, name := range Layout("").Choices() {
			c := codec(t, Layout(name))
			// Every id that is accepted is made again of what was read, but for the hashed parts.
			if x, err := c.Decode(id); err == nil {
				raw := c.at[PartVersion].put(uint32(c.version)) | c.at[PartQP].put(x.QP) | c.at[PartSequence].put(x.Sequence) |
					c.at[PartPath].put(x.Path) | c.at[PartTime].put(x.Time) | c.at[PartEpoch].put(x.Epoch) | c.at[PartTag].put(x.Tag)
				if raw != id {
					t.Errorf("%s: %016b read as %+v, which is %016b", name, id, x, raw)
				}
			}
			in := Context{QP: qp, Sequence: psn, Path: path, Time: time, Epoch: 1 + path%3, Tag: psn}
			out, err := c.Decode(c.Encode(in))
			if err != nil && !(errors.Is(err, ErrAbsent) && c.layout.AbsentShare() > 0) {
				t.Errorf("%s: %+v: %v", name, in, err)
			}
			if err == nil {
				if d := cmp.Diff(c.Hashed(in), out); d != "" {
					t.Errorf("%s: %s", name, d)
				}
			}
			if w := c.layout.Window(); w > 0 {
				psn &= 1<<24 - 1
				if got := c.Unwrap(out.Sequence, psn); err == nil && got != psn {
					t.Errorf("%s: a packet at the reference %d became %d", name, psn, got)
				}
			}
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	c := codec(t, LayoutV1)
	n := uint32(0)
	if allocs := testing.AllocsPerRun(1000, func() {
		n++
		x, err := c.Decode(c.Encode(Context{QP: 77, Sequence: n, Path: n, Time: n}))
		if err != nil || c.Unwrap(x.Sequence, n) != n {
			t.Fatal(x, err)
		}
	}); allocs != 0 {
		t.Errorf("%g allocations a packet", allocs)
	}
}

func BenchmarkPPCID(b *testing.B) {
	for _, name := range Layout("").Choices() {
		c := codec(b, Layout(name))
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			sum := uint16(0)
			for i := 0; b.Loop(); i++ {
				sum += c.Encode(Context{QP: 77, Sequence: uint32(i), Path: uint32(i) & 15, Time: uint32(i)})
			}
			_ = sum
		})
	}
	c := codec(b, LayoutV2)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := uint16(0); b.Loop(); i++ {
			x, err := c.Decode(1<<15 | i>>2)
			if err == nil {
				c.Unwrap(x.Sequence, uint32(i))
			}
		}
	})
}
