package route

import (
	"testing"

	"github.com/shunt-network/shunt/fabric"
)

// Each set of ports has its own tables, one for each leaf where these are told apart, and they are found again.
func TestBucketsFind(t *testing.T) {
	c := BucketsDefaults(BucketsConfig{})
	b := NewBuckets(c, 3)
	sets := map[uint32][]fabric.PortID{0: {10, 11}, 2: {20, 21, 22}, 40: {30}}
	made := map[[2]uint32]uint32{}
	for _, first := range []uint32{40, 0, 2} {
		for _, leaf := range []uint32{2, 0} {
			if _, ok := b.Find(first, leaf); ok {
				t.Errorf("set %d, leaf %d: there before it was made", first, leaf)
			}
			made[[2]uint32{first, leaf}] = b.Make(first, leaf, sets[first])
		}
	}
	for first, ports := range sets {
		for _, leaf := range []uint32{0, 2} {
			i, ok := b.Find(first, leaf)
			if !ok || i != made[[2]uint32{first, leaf}] {
				t.Fatalf("set %d, leaf %d: table %d %v", first, leaf, i, ok)
			}
			table := b.Table(i)
			if table.Leaf != leaf || len(table.Ports) != len(ports) || table.Paths() != len(ports) || table.Size() != c.Buckets {
				t.Errorf("set %d, leaf %d: table for leaf %d with %d ports, %d buckets", first, leaf, table.Leaf, len(table.Ports), table.Size())
			}
		}
		if _, ok := b.Find(first, 1); ok {
			t.Errorf("set %d: a table for a leaf that none was made for", first)
		}
	}
	if b.Len() != 6 {
		t.Errorf("%d tables, want 6", b.Len())
	}
	i, _ := b.Find(2, 0)
	other, _ := b.Find(2, 2)
	if moved := b.Reweigh(i, []uint8{255, 0, 255}); moved == 0 || b.Table(i).Buckets(1) != 0 || b.Table(other).Buckets(1) == 0 {
		t.Errorf("a dead path keeps %d buckets, and %d on the way to another leaf", b.Table(i).Buckets(1), b.Table(other).Buckets(1))
	}
}
