package spray

import (
	"fmt"
	"math/bits"

	"github.com/shunt-network/shunt/units"
)

// Layout names which of the sixteen bits of a per-packet context id (PPCID) hold what. Article 000 puts four things into
// them, "QP information, the original sequence number, the path id and a hash of a timestamp", and says of the bits only that
// two vendors disagree: one reads bits 15 to 8 as the path, the other as the hash of the time (S0.12). No such format is
// public. The layouts here are our own, made to show what each choice of bits can and cannot do.
type Layout string

// Layouts.
const (
	// LayoutV1 has all four things of article 000 behind a version. None gets the bits it needs.
	LayoutV1 Layout = "v1"
	// LayoutV2 gives the sequence what a 400G link needs, and leaves the QP to the BTH, which has it anyway.
	LayoutV2 Layout = "v2"
	// LayoutPathHigh and LayoutTimeHigh are the two vendors of S0.12. Of their low bytes the article tells nothing; here both
	// hold QP and sequence in the same bits, so that path and time alone are at odds.
	LayoutPathHigh Layout = "path-high"
	LayoutTimeHigh Layout = "time-high"
	// LayoutKeyed is a mark against forgery: no sequence, but a truncated hash under a key.
	LayoutKeyed Layout = "keyed"
)

// Choices lists the layouts.
func (Layout) Choices() []string {
	list := make([]string, 0, len(layouts))
	for i := range layouts {
		list = append(list, string(layouts[i].name))
	}
	return list
}

// Part is one thing that bits of a PPCID hold.
type Part uint8

// Parts of a PPCID.
const (
	PartVersion  Part = iota + 1 // of the layout: another one is rejected
	PartQP                       // hash of the queue pair's number
	PartSequence                 // low bits of the packet sequence number
	PartPath                     // path
	PartTime                     // hash of the ticks since the sender's last update of its link state
	PartEpoch                    // of the key; it stands where others have the version
	PartTag                      // truncated hash under the key
	parts        = int(iota) + 1
)

// String names a part as the tables print it.
func (p Part) String() string {
	names := [parts]string{"none", "version", "qp", "sequence", "path", "time", "epoch", "tag"}
	if int(p) >= parts {
		return fmt.Sprintf("part %d", uint8(p))
	}
	return names[p]
}

// MarshalText is the name.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Field is a part and how many bits it has.
type Field struct {
	Part Part `json:"part"`
	Bits int  `json:"bits"`
}

// ppcidBits is the width of the field of the UDP checksum (RFC 768), in which a PPCID travels.
const ppcidBits = 16

// layoutSpec is a layout: its fields from bit 15 down, which fill all sixteen bits.
type layoutSpec struct {
	name    Layout
	version uint16 // value of PartVersion; never 0, so that no id of a layout with a version is 0
	fields  []Field
	doc     string
}

// layouts is the table of layouts. Versions are two bits: 1 to 3 are to be had, because an id that could be 0 could not be
// told from a sender that writes none (RoCEv2 senders leave the checksum at 0). Version 3 is free.
var layouts = []layoutSpec{
	{LayoutV1, 1, []Field{{PartVersion, 2}, {PartQP, 2}, {PartSequence, 5}, {PartPath, 4}, {PartTime, 3}}, "the four things of article 000 behind a version"},
	{LayoutV2, 2, []Field{{PartVersion, 2}, {PartSequence, 10}, {PartPath, 4}}, "sequence and path; the QP is left to the BTH"},
	{LayoutPathHigh, 0, []Field{{PartPath, 8}, {PartQP, 2}, {PartSequence, 4}, {PartTime, 2}}, "bits 15-8 are the path; no room for a version"},
	{LayoutTimeHigh, 0, []Field{{PartTime, 8}, {PartQP, 2}, {PartSequence, 4}, {PartPath, 2}}, "bits 15-8 are the time hash; no room for a version"},
	{LayoutKeyed, 0, []Field{{PartEpoch, 2}, {PartPath, 6}, {PartTag, 8}}, "a tag under a key; the key's epoch stands where others have the version"},
}

func (l Layout) spec() *layoutSpec {
	for i := range layouts {
		if layouts[i].name == l {
			return &layouts[i]
		}
	}
	return nil
}

// Fields lists the fields from bit 15 down; nil for a layout that is not known.
func (l Layout) Fields() []Field {
	if s := l.spec(); s != nil {
		return append([]Field(nil), s.fields...)
	}
	return nil
}

// Version is the number that the version field holds. ok is false for a layout without room for one: its receiver cannot
// tell an id of another layout from one of its own.
func (l Layout) Version() (version uint8, ok bool) {
	if s := l.spec(); s != nil && s.version != 0 {
		return uint8(s.version), true
	}
	return 0, false
}

// Doc says in a line what the layout is for.
func (l Layout) Doc() string {
	if s := l.spec(); s != nil {
		return s.doc
	}
	return ""
}

// Bits is how many bits a part has, 0 where the layout does not hold it.
func (l Layout) Bits(p Part) int {
	if s := l.spec(); s != nil {
		for _, f := range s.fields {
			if f.Part == p {
				return f.Bits
			}
		}
	}
	return 0
}

// Window is how many packets may lie between the oldest packet still missing and one that arrives, so that the sequence bits
// tell its place without doubt: half of what n bits count, 2^(n-1), because the other half is for packets from before
// (serial number arithmetic, RFC 1982 section 3.2). 0: the layout holds no sequence.
func (l Layout) Window() int {
	n := l.Bits(PartSequence)
	if n == 0 {
		return 0
	}
	return 1 << (n - 1)
}

// Paths is how many paths the layout tells apart.
func (l Layout) Paths() int {
	if n := l.Bits(PartPath); n > 0 {
		return 1 << n
	}
	return 0
}

// RoCEWire is what a packet with a payload of 4096 bytes takes on the wire: Ethernet 14 and its check sequence 4, preamble and
// gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4.
const RoCEWire units.Bytes = 4096 + 14 + 4 + 20 + 20 + 8 + 12 + 4

// NeededWindow is the window that a link needs: the packets it sends while one of them is late by the difference in delay
// between two paths (skew). 20 us at 400 Gbit/s are 240 packets of 4 KiB.
func NeededWindow(skew units.Duration, rate units.Rate, wire units.Bytes) int {
	each := units.Serialize(wire, rate)
	if each <= 0 || skew <= 0 {
		return 0
	}
	return int((skew + each - 1) / each)
}

// NeededBits is how many sequence bits have such a window.
func NeededBits(window int) int {
	if window <= 0 {
		return 0
	}
	return bits.Len(uint(window-1)) + 1
}
