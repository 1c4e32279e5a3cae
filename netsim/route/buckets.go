package route

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// View is how far a switch that sprays by buckets sees.
type View string

// Views.
const (
	ViewLocal View = "local" // its own ports
	ViewPath  View = "path"  // the links behind them too, by destination leaf
)

// Choices lists the views.
func (View) Choices() []string { return []string{string(ViewLocal), string(ViewPath)} }

// BucketsConfig is what can be set of weighted buckets.
type BucketsConfig struct {
	spray.TableConfig
	spray.LinkStateConfig
	Key       spray.Key        `yaml:"key" doc:"what the hash of a packet covers; flow alone pins a QP to a bucket, and is no spraying"`
	Hash      spray.HashConfig `yaml:"hash" doc:"hash unit of the leaves; tiers above use other bits of the same hash, while it has any"`
	Staleness units.Duration   `yaml:"staleness" min:"0ns" example:"50us" doc:"time from a reading until buckets follow it"`
	View      View             `yaml:"view" doc:"a switch goes by its own ports, or by the links behind them as well"`
	FullQueue units.Bytes      `yaml:"full_queue" min:"1B" doc:"queue of a port that counts as full; unset: the one from which every packet is marked"`
	Unusable  units.Fraction   `yaml:"unusable" doc:"share of broken packets from which a port counts as unusable"`
	Rules     RulesConfig      `yaml:"rules" doc:"rule table of a switch whose spraying takes rules for each QP"`
}

// RulesConfig is the rule table (TCAM) of a switch.
type RulesConfig struct {
	Limit int `yaml:"limit" min:"0" example:"16384" doc:"rules that fit; unset: spraying takes no rules"`
	PerQP int `yaml:"per_qp" min:"1" example:"1" doc:"rules that a QP takes at each switch where it has a choice of ports"`
}

// BucketsDefaults fills in what c leaves unset; package spray has the sources of most. That the PSN is hashed is what makes it spraying at all. From
// which share of broken packets a link is unusable is ours: at 1 % go-back-N is all but at a halt.
func BucketsDefaults(c BucketsConfig) BucketsConfig {
	c.TableConfig, c.LinkStateConfig = c.TableConfig.Defaults(), c.LinkStateConfig.Defaults()
	c.Key = or(c.Key, spray.KeyFlowPSN)
	c.Hash.Algorithm = or(c.Hash.Algorithm, spray.CRC32)
	c.Unusable = or(c.Unusable, 0.01)
	c.View = or(c.View, ViewLocal)
	c.Rules.PerQP = or(c.Rules.PerQP, 1)
	return c
}

// Buckets are the tables of all switches: one for each set of equal-cost ports, and with ViewPath one for each destination leaf of it.
type Buckets struct {
	c      BucketsConfig
	leaves uint32        // tables that a set may have
	sets   []uint32      // by first member of a set in the next-hop table: number of the set, plus 1
	rows   []uint32      // by set and leaf: number of the table, plus 1
	tables []BucketTable // all of them, in the order of their making
}

// BucketTable is one table and what it deals to.
type BucketTable struct {
	*spray.Table
	Ports []fabric.PortID
	Leaf  uint32 // destination leaf, 0 where they are not told apart
}

// NewBuckets makes the store; leaves is 1 where destinations are not told apart.
func NewBuckets(c BucketsConfig, leaves int) Buckets {
	return Buckets{c: c, leaves: uint32(leaves)}
}

// Find is the number of the table for the set that begins at member first, toward a leaf; ok is false where it is not made yet.
func (b *Buckets) Find(first, leaf uint32) (table uint32, ok bool) {
	if int(first) >= len(b.sets) || b.sets[first] == 0 {
		return 0, false
	}
	t := b.rows[(b.sets[first]-1)*b.leaves+leaf]
	return t - 1, t != 0
}

// Make makes it: all ports alike, whatever their scores are, as no reading was made of them as members of this set.
func (b *Buckets) Make(first, leaf uint32, ports []fabric.PortID) (table uint32) {
	if need := int(first) + 1; need > len(b.sets) {
		b.sets = append(b.sets, make([]uint32, need-len(b.sets))...)
	}
	if b.sets[first] == 0 {
		b.rows = append(b.rows, make([]uint32, b.leaves)...)
		b.sets[first] = uint32(len(b.rows)) / b.leaves
	}
	b.tables = append(b.tables, BucketTable{Table: spray.NewTable(b.c.Buckets, len(ports)), Ports: ports, Leaf: leaf})
	table = uint32(len(b.tables)) - 1
	b.rows[(b.sets[first]-1)*b.leaves+leaf] = table + 1
	return table
}

// Table is a table by its number.
func (b *Buckets) Table(i uint32) *BucketTable { return &b.tables[i] }

// Reweigh gives a table new scores, one for each of its ports, and tells how many buckets moved.
func (b *Buckets) Reweigh(i uint32, scores []uint8) (moved int) {
	return b.tables[i].Reweigh(scores, b.c.TableConfig)
}

// Len is how many tables there are.
func (b *Buckets) Len() int { return len(b.tables) }
