package ecmp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/spray"
)

// Which function, over which fields, in which tier. The units themselves are spray's; what is ours is the key (fields.go), since switches let their owners choose
// the fields.

// Simulator is the hash of the simulator itself, a mixer with a salt for each switch: what path_choice ecmp and ecmp-qpn do
// (docs/models/path-choice.md). It is for flows of a scenario.
const Simulator spray.Algorithm = "simulator"

// Algorithms lists the hashes.
func Algorithms() []string {
	return append([]string{string(Simulator)}, spray.Algorithm("").Choices()...)
}

// Config is how a switch hashes.
type Config struct {
	Fields Fields           `json:"fields"`
	Hash   spray.HashConfig `json:"-"`
	// Offsets and polynomials of the tiers behind the first, where they differ; empty: every tier hashes alike.
	Tiers []spray.HashConfig `json:"-"`
}

// String is the configuration in a line: "crc32, polynomial 0x4c11db7, seed 7, of the 5-tuple".
func (c Config) String() string {
	return hashText(c.Hash) + " of " + c.Fields.String()
}

func hashText(h spray.HashConfig) string {
	words := []string{string(h.Algorithm)}
	if h.Polynomial != 0 {
		words = append(words, fmt.Sprintf("polynomial %#x", h.Polynomial))
	}
	if h.Seed != 0 {
		words = append(words, fmt.Sprintf("seed %d", h.Seed))
	}
	if h.Offset != 0 {
		words = append(words, fmt.Sprintf("from bit %d", h.Offset))
	}
	return strings.Join(words, ", ")
}

// Unit hashes flows; it is safe to share.
type Unit struct {
	fields Fields
	hasher *spray.Hasher // nil: the simulator's
}

// newUnit makes the unit of one tier.
func newUnit(fields Fields, h spray.HashConfig) (*Unit, error) {
	if h.Algorithm == Simulator {
		switch {
		case fields != FiveTuple && fields != FiveTuple|QPN:
			return nil, fmt.Errorf("ecmp: the simulator hashes %s or %s, and no %s; choose another algorithm", FiveTuple, FiveTuple|QPN, fields)
		case h.Polynomial != 0 || h.Seed != 0 || h.Offset != 0:
			return nil, fmt.Errorf("ecmp: the simulator's hash has no polynomial, seed or offset; choose another algorithm")
		}
		return &Unit{fields: fields}, nil
	}
	if h.Algorithm != "" && !slices.Contains(spray.Algorithm("").Choices(), string(h.Algorithm)) {
		return nil, fmt.Errorf("ecmp: there is no algorithm %q; write one of %s", h.Algorithm, strings.Join(Algorithms(), ", "))
	}
	hasher, err := spray.NewHasher(h)
	if err != nil {
		return nil, err
	}
	return &Unit{fields: fields, hasher: hasher}, nil
}

// Sum is the hash of a flow.
func (u *Unit) Sum(f *Flow) uint32 {
	if u.hasher == nil {
		qpn := uint32(0)
		if u.fields&QPN != 0 {
			qpn = f.QPN
		}
		return route.FlowHash(word(f.Src), word(f.Dst), f.SrcPort, qpn)
	}
	var key [maxKey]byte
	return u.hasher.Sum(u.fields.appendKey(key[:0], f))
}

// word is an address as the simulator has it.
func word(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// units makes the unit of every tier, at least tiers of them.
func (c Config) units(tiers int) ([]*Unit, error) {
	out := make([]*Unit, max(tiers, 1))
	for i := range out {
		h := c.Hash
		if i > 0 && len(c.Tiers) > 0 {
			h = c.Tiers[min(i, len(c.Tiers))-1]
		}
		u, err := newUnit(c.Fields, h)
		if err != nil {
			return nil, err
		}
		out[i] = u
	}
	return out, nil
}

// dealer turns hashes into buckets, and into one of several paths by way of a table whose buckets were dealt to the paths in turn. The simulator has
// no such table; its hash picks the path itself.
type dealer struct {
	buckets *spray.Table
	tables  map[int]*spray.Table // by number of paths
}

func newDealer(buckets int) *dealer {
	return &dealer{buckets: spray.NewTable(buckets, 1), tables: map[int]*spray.Table{}}
}

// bucket is the bucket of a hash.
func (d *dealer) bucket(u *Unit, sum uint32) int {
	if u.hasher == nil {
		return int(route.Pick(sum, 0, uint32(d.buckets.Size())))
	}
	return d.buckets.Bucket(sum)
}

// path chooses one of n paths.
func (d *dealer) path(u *Unit, sum, salt uint32, n int) int {
	if u.hasher == nil {
		return int(route.Pick(sum, salt, uint32(n)))
	}
	t := d.tables[n]
	if t == nil {
		t = spray.NewTable(max(d.buckets.Size(), n), n)
		d.tables[n] = t
	}
	return t.Path(sum)
}
