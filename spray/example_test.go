package spray_test

import (
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/spray"
)

// A sprayer with four paths, one of which gets busy.
func Example() {
	hasher, err := spray.NewHasher(spray.HashConfig{Algorithm: spray.CRC32, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	table := spray.NewTable(128, 4)
	qp := hasher.Flow(spray.Flow{
		Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("198.51.100.1"), SrcPort: 0xc001, DstPort: 4791, QPN: 0x11,
	})
	spread := func() (packets [4]int) {
		for psn := range uint32(4096) {
			packets[table.Path(hasher.Packet(qp, psn))]++
		}
		return packets
	}
	fmt.Println("packets by path:", spread())

	weights := spray.LinkStateConfig{Utilisation: 255}
	scores := []uint8{weights.Score(spray.Load{Utilisation: 0.85}), 255, 255, 255}
	moved := table.Reweigh(scores, spray.TableConfig{Curve: spray.CurveArticle, Freed: spray.FreedSpread})
	fmt.Println(moved, "buckets moved; packets by path:", spread())
	// Output:
	// packets by path: [1024 1024 1024 1024]
	// 20 buckets moved; packets by path: [384 1248 1248 1216]
}
