package spray

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/shunt-network/shunt/packet"
)

// marked makes packets of a sender with ids of a layout; with "" the checksum is what UDP asks for.
func marked(s *Survey, t *testing.T, from string, l Layout, n int, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	ring := NewKeyring(TagKey{1, 2})
	for i := range uint32(n) {
		x := Context{QP: 0x1200 + rng.Uint32N(8), Sequence: (1<<24 - 50 + i) & (1<<24 - 1), Path: rng.Uint32N(4), Time: rng.Uint32N(20_000_000)}
		data := roce(func(p *packet.Packet) {
			p.IP.Src = netip.MustParseAddr(from)
			p.BTH.QP, p.BTH.PSN = x.QP, x.Sequence
		})
		f := packet.Decode(packet.LinkEthernet, data)
		id := uint16(0)
		switch l {
		case "":
			id = checksum(&f)
		case LayoutNone:
		case LayoutKeyed:
			id = ring.Seal(Tagged{QP: x.QP, Sequence: x.Sequence, Path: x.Path})
		default:
			c := codec(t, l)
			id = c.Encode(x)
		}
		if id != 0 {
			if err := WritePPCID(&f, id); err != nil {
				t.Fatal(err)
			}
		}
		s.Add(&f)
	}
}

// The layout of each sender comes out of its packets alone; the two vendors of S0.12 are told from the rest, and apart only by a hint.
func TestSurvey(t *testing.T) {
	s := NewSurvey()
	from := map[string]Layout{"192.0.2.1": LayoutV1, "192.0.2.2": LayoutV2, "192.0.2.3": LayoutPathHigh, "192.0.2.4": LayoutTimeHigh, "192.0.2.5": LayoutKeyed, "192.0.2.6": LayoutNone, "192.0.2.7": ""}
	for i, name := range []string{"192.0.2.7", "192.0.2.6", "192.0.2.5", "192.0.2.4", "192.0.2.3", "192.0.2.2", "192.0.2.1"} {
		n := 400
		if from[name] == "" {
			n = 20 // each checksum is searched for
		}
		marked(s, t, name, from[name], n, uint64(i))
	}
	senders := s.Senders()
	if len(senders) != len(from) || !slices.IsSortedFunc(senders, func(a, b Sender) int { return a.Address.Compare(b.Address) }) {
		t.Fatalf("%d senders", len(senders))
	}
	high := map[Layout]int{}
	for _, x := range senders {
		l := from[x.Address.String()]
		want := []Layout{l}
		switch l {
		case LayoutPathHigh, LayoutTimeHigh:
			want = []Layout{LayoutPathHigh, LayoutTimeHigh}
			high[l] = x.HighValues()
		case LayoutKeyed, LayoutNone, "":
			want = nil
		}
		got := x.Layouts()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s of %q: %v, %+v", x.Address, l, got, x.Fits())
		}
		switch l {
		case LayoutNone:
			if x.WithID != 0 || x.Packets != 400 {
				t.Errorf("no ids: %+v", x)
			}
		case "":
			if x.Right != 20 || x.Wrong != 0 {
				t.Errorf("right checksums: %d right, %d wrong", x.Right, x.Wrong)
			}
		default:
			if x.Wrong < x.WithID-2 || x.WithID < 398 { // an id passes for a right checksum once in 65536
				t.Errorf("%s: %+v", l, x)
			}
		}
	}
	if high[LayoutPathHigh] != 4 || high[LayoutTimeHigh] < 150 {
		t.Errorf("values of the high byte: %v", high)
	}
}

// Too few packets, or a sequence number that does not move, tell nothing; nor does a corrupt packet, or one that is no RoCE.
func TestSurveyNeedsEnough(t *testing.T) {
	s := NewSurvey()
	marked(s, t, "192.0.2.1", LayoutV2, 3, 1) // 30 bits
	if got := s.Senders()[0].Layouts(); len(got) != 0 {
		t.Errorf("three packets: %v", got)
	}
	marked(s, t, "192.0.2.1", LayoutV2, 1, 2) // the first number again, 40 bits in all
	if got := s.Senders()[0].Layouts(); !slices.Equal(got, []Layout{LayoutV2}) {
		t.Errorf("four packets: %v", got)
	}
	s = NewSurvey()
	for range 100 {
		marked(s, t, "192.0.2.1", LayoutV2, 1, 1)
	}
	if got := s.Senders()[0].Layouts(); len(got) != 0 {
		t.Errorf("one number a hundred times: %v", got)
	}
	data := roce()
	data[len(data)-6] ^= 1
	for _, d := range [][]byte{data, nil, data[:30]} {
		f := packet.Decode(packet.LinkEthernet, d)
		s.Add(&f)
	}
	if s.Corrupt != 1 || s.NotRoCE != 2 {
		t.Errorf("%d corrupt, %d not RoCE", s.Corrupt, s.NotRoCE)
	}
	s = NewSurvey()
	for i := range maxSenders + 5 {
		f := packet.Decode(packet.LinkEthernet, roce(func(p *packet.Packet) {
			p.IP.Src = netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)})
		}))
		s.Add(&f)
	}
	if len(s.Senders()) != maxSenders || s.More != 5 {
		t.Errorf("%d senders, %d packets more", len(s.Senders()), s.More)
	}
}
