package spray

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/packet"
)

// A Survey finds out from captured packets which layout their senders use. No tool prints it, but each packet has what it was made of:
// the BTH's sequence number and queue pair. Where the bits that a layout has for them are right in packet after packet, that is the
// layout. So two vendors that disagree (S0.12) are found before a job finds them, with a capture at any mirror port.
type Survey struct {
	codecs  []Codec
	senders []Sender
	at      map[netip.Addr]int // in senders
	// More counts packets of senders beyond the limit.
	More uint64
	// NotRoCE counts frames that are no RoCEv2 requests or answers with a BTH; Corrupt those whose ICRC is wrong, which were left out.
	NotRoCE, Corrupt uint64
}

// maxSenders bounds the addresses that are followed: a leaf has some dozens of hosts below it, a capture of a spine some thousands.
const maxSenders = 4096

// Sender is what the packets of one address showed.
type Sender struct {
	Address netip.Addr
	Packets uint64
	WithID  uint64 // whose checksum is not 0
	Right   uint64 // of these, whose checksum verifies: it is one, and no id
	Wrong   uint64 // of these, whose checksum does not verify
	fits    []layoutFit
	high    [256 / 64]uint64 // values of bits 15 to 8 that were seen
}

// layoutFit counts, for one layout, the ids that could be of it.
type layoutFit struct {
	accepted uint64 // by the version
	sequence uint64 // with the right bits of the sequence number
	qp       uint64 // with the right hash of the queue pair
	told     uint64 // accepted ones whose sequence bits differ from those of the packet before, so that chance is ruled out packet by packet
	last     uint32
}

// Fit is how well a layout fits the ids of a sender.
type Fit struct {
	Layout   Layout  `json:"layout"`
	Accepted uint64  `json:"accepted"`
	Sequence float64 `json:"sequence"` // share of the accepted with the right sequence bits
	QP       float64 `json:"qp"`       // share with the right hash; 0 where the layout has none
	// Bits is how many bits of sequence numbers agreed: by chance they do so with a probability of 2 to the power of minus this.
	Bits uint64 `json:"bits"`
}

// NewSurvey makes an empty one.
func NewSurvey() *Survey {
	s := &Survey{at: map[netip.Addr]int{}}
	for _, name := range Layout("").Choices() {
		c, err := NewCodec(Layout(name))
		if err != nil {
			panic(err) // it stands in the table
		}
		s.codecs = append(s.codecs, c)
	}
	return s
}

// Add takes in a frame.
func (s *Survey) Add(f *packet.Frame) {
	src, _, _, _, ok := f.IP()
	if !ok || f.BTH == nil || f.UDP == nil {
		s.NotRoCE++
		return
	}
	if right, known := f.Check(); known && !right {
		s.Corrupt++
		return
	}
	at, seen := s.at[src]
	if !seen {
		if len(s.senders) == maxSenders {
			s.More++
			return
		}
		at = len(s.senders)
		s.at[src] = at
		s.senders = append(s.senders, Sender{Address: src, fits: make([]layoutFit, len(s.codecs))})
	}
	x := &s.senders[at]
	x.Packets++
	id, ok := ReadPPCID(f)
	if !ok {
		return
	}
	x.WithID++
	x.high[id>>14] |= 1 << (id >> 8 & 63)
	switch StandardView(f) {
	case VerdictRight:
		x.Right++
	case VerdictWrong:
		x.Wrong++
	}
	psn, qp := f.BTH.PSN(), f.BTH.QP()
	for i := range s.codecs {
		c, fit := &s.codecs[i], &x.fits[i]
		got, err := c.Decode(id)
		if err != nil {
			continue
		}
		want := c.Hashed(Context{QP: qp, Sequence: psn})
		fit.accepted++
		if got.QP == want.QP {
			fit.qp++
		}
		if got.Sequence == want.Sequence {
			fit.sequence++
			if fit.accepted == 1 || want.Sequence != fit.last {
				fit.told++
			}
		}
		fit.last = want.Sequence
	}
}

// Senders lists the senders by address.
func (s *Survey) Senders() []Sender {
	list := slices.Clone(s.senders)
	slices.SortFunc(list, func(a, b Sender) int { return a.Address.Compare(b.Address) })
	return list
}

// HighValues is how many values bits 15 to 8 took. It hints at what tells path-high and time-high apart, which have the same bits for all
// that can be compared: paths are few, and hashes of the time are all of 256 before long.
func (x *Sender) HighValues() (n int) {
	for _, w := range x.high {
		n += bits.OnesCount64(w)
	}
	return n
}

// Fits lists the layouts with a sequence, best first.
func (x *Sender) Fits() []Fit {
	var list []Fit
	for i, name := range Layout("").Choices() {
		l, f := Layout(name), &x.fits[i]
		if l.Window() == 0 || f.accepted == 0 {
			continue
		}
		fit := Fit{Layout: l, Accepted: f.accepted, Sequence: float64(f.sequence) / float64(f.accepted), Bits: f.told * uint64(l.Bits(PartSequence))}
		if l.Bits(PartQP) > 0 {
			fit.QP = float64(f.qp) / float64(f.accepted)
		}
		list = append(list, fit)
	}
	slices.SortStableFunc(list, func(a, b Fit) int {
		return cmp.Or(-cmp.Compare(a.Sequence*float64(a.Accepted), b.Sequence*float64(b.Accepted)), -cmp.Compare(a.Bits, b.Bits))
	})
	return list
}

// Layouts lists the layouts that the ids of a sender can have: all of its ids are accepted, sequence and queue pair are right in all, and chance
// is ruled out to one in four thousand million. More than one remains where their fields for both are the same (path-high and time-high);
// none where no layout fits, or too few packets were seen.
func (x *Sender) Layouts() []Layout {
	const sure = 32 // bits
	list := []Layout{}
	for _, f := range x.Fits() {
		if f.Accepted == x.WithID && f.Sequence == 1 && f.Bits >= sure && (f.QP == 1 || f.Layout.Bits(PartQP) == 0) {
			list = append(list, f.Layout)
		}
	}
	return list
}
