package spray

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var sink int // keeps the compiler from dropping what is measured

// packets per turn of a benchmark.
const packets = 1000

// One spray decision: the hash of a packet over the state of its QP, and the path of its bucket.
func BenchmarkDecision(b *testing.B) {
	list := flows(1024)
	for _, a := range []Algorithm{CRC32, CRC64, CRCXOR, XOR, Random} {
		for _, buckets := range []int{64, 256, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/buckets=%d", a, buckets), func(b *testing.B) {
				h, table := hasher(b, HashConfig{Algorithm: a}), NewTable(buckets, 8)
				states := make([]uint64, len(list))
				for i, f := range list {
					states[i] = h.Flow(f)
				}
				b.ReportAllocs()
				n, sum := uint32(0), 0
				for b.Loop() {
					for range packets { // the loop of the benchmark itself costs as much as a decision
						n++
						sum += table.Path(h.Packet(states[n%1024], n))
					}
				}
				sink = sum
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packets, "ns/packet")
			})
		}
	}
}

// The same from scratch, as a sprayer without state per QP has to.
func BenchmarkDecisionWholeKey(b *testing.B) {
	h, table, list := hasher(b, HashConfig{}), NewTable(1024, 8), flows(1024)
	b.ReportAllocs()
	n, sum := uint32(0), 0
	for b.Loop() {
		for range packets {
			n++
			sum += table.Path(h.Packet(h.Flow(list[n%1024]), n))
		}
	}
	sink = sum
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packets, "ns/packet")
}

// One update of the weights, from new random scores each time: the worst case, in which nearly every path changes.
func BenchmarkReweigh(b *testing.B) {
	for _, paths := range []int{8, 64, 256} {
		for _, buckets := range []int{64, 256, 1024, 4096} {
			if paths > buckets {
				continue
			}
			for _, curve := range []Curve{CurveHeadroom, CurveArticle, CurveBalance} {
				b.Run(fmt.Sprintf("%s/paths=%d/buckets=%d", curve, paths, buckets), func(b *testing.B) {
					random := rand.New(rand.NewPCG(1, 2))
					rows := make([][]uint8, 64)
					for i := range rows {
						rows[i] = make([]uint8, paths)
						for p := range rows[i] {
							rows[i][p] = uint8(random.IntN(256))
						}
					}
					table := NewTable(buckets, paths)
					b.ReportAllocs()
					i, moved := 0, 0
					for b.Loop() {
						moved += table.Reweigh(rows[i%64], TableConfig{Curve: curve})
						i++
					}
					b.ReportMetric(float64(moved)/float64(i), "moved/op")
				})
			}
		}
	}
}
