package spray

import (
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

// The check value of a CRC is that of the nine bytes "123456789" (catalogue of parametrised CRCs).
func TestCheckValues(t *testing.T) {
	check := []byte("123456789")
	for _, c := range []struct {
		name string
		m    crcModel
		want uint64
	}{
		{"CRC-32/ISO-HDLC", crc32ISO, 0xcbf43926},
		{"CRC-32/ISCSI", crc32C, 0xe3069283},
		{"CRC-32/BZIP2", crcModel{32, 0x04c11db7, 0xffffffff, 0xffffffff, false}, 0xfc891918},
		{"CRC-64/XZ", crc64ECMA, 0x995dc9bbdf1939fa},
		{"CRC-64/ECMA-182", crcModel{64, 0x42f0e1eba9ea3693, 0, 0, false}, 0x6c40df5f0b497347},
		{"CRC-64/GO-ISO", crc64ISO, 0xb90956c775a41001},
		{"CRC-16/IBM-3740", crc16CCITT, 0x29b1},
		{"CRC-16/KERMIT", crcModel{16, 0x1021, 0, 0, true}, 0x2189},
		{"CRC-16/XMODEM", crcModel{16, 0x1021, 0, 0, false}, 0x31c3},
		{"CRC-16/ARC", crc16BISYNC, 0xbb3d},
	} {
		tables := newCRC(c.m)
		if got := tables.value(tables.feed(tables.register(c.m, c.m.start), check)); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

func hasher(t testing.TB, c HashConfig) *Hasher {
	t.Helper()
	h, err := NewHasher(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Sums by hand and by the standard library.
func TestSums(t *testing.T) {
	key := []byte("123456789")
	for _, c := range []struct {
		config HashConfig
		want   uint32
	}{
		{HashConfig{}, crc32.ChecksumIEEE(key)},
		{HashConfig{Algorithm: CRC32C}, crc32.Checksum(key, crc32.MakeTable(crc32.Castagnoli))},
		{HashConfig{Algorithm: CRC32, Polynomial: 0x741b8cd7}, crc32.Checksum(key, crc32.MakeTable(crc32.Koopman))},
		{HashConfig{Algorithm: CRC64}, uint32(crc64.Checksum(key, crc64.MakeTable(crc64.ECMA)))},
		{HashConfig{Algorithm: CRC64, Offset: 32}, uint32(crc64.Checksum(key, crc64.MakeTable(crc64.ECMA)) >> 32)},
		{HashConfig{Algorithm: CRC64ISO}, uint32(crc64.Checksum(key, crc64.MakeTable(crc64.ISO)))},
		{HashConfig{Algorithm: CRC32, Offset: 8}, 0x26cbf439}, // rotated right, as saiswitch.h says
		{HashConfig{Algorithm: CRC32Lo}, 0x3926},
		{HashConfig{Algorithm: CRC32Hi}, 0xcbf4},
		{HashConfig{Algorithm: CRC32Hi, Offset: 4}, 0x4cbf},
		{HashConfig{Algorithm: CRCCCITT}, 0x29b1},
		{HashConfig{Algorithm: CRCCCITT, Seed: 0xffff}, 0x31c3},       // the seed turns the start value into XMODEM's
		{HashConfig{Algorithm: CRCXOR}, 0x3d31},                       // CRC-16 0xbb3d; '1'^...^'9' is 0x31
		{HashConfig{Algorithm: XOR}, 0x3d04040c},                      // "1234" ^ "5678" ^ "9\0\0\0"
		{HashConfig{Algorithm: XOR, Seed: 0x1_0000_0001}, 0x3d04040c}, // the seed folds to 0,
	} {
		h := hasher(t, c.config)
		if got := h.Sum(key); got != c.want {
			t.Errorf("%+v: %#x, want %#x", c.config, got, c.want)
		}
	}
}

func TestBadHashConfigs(t *testing.T) {
	for _, c := range []struct {
		config HashConfig
		want   string
	}{
		{HashConfig{Algorithm: "md5"}, "known: crc32, "},
		{HashConfig{Algorithm: CRC32, Polynomial: 0x104c11db7}, "32 bits"},
		{HashConfig{Algorithm: CRCCCITT, Polynomial: 0x1020}, "the last of them 1"},
		{HashConfig{Algorithm: XOR, Polynomial: 1}, "no polynomial"},
		{HashConfig{Algorithm: CRC32Lo, Offset: 16}, "bits 0 to 15"},
		{HashConfig{Offset: -1}, "bits 0 to 31"},
	} {
		if _, err := NewHasher(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
}

// flows are n QPs between hosts of two leaves, as a job makes them: addresses in a row, QP numbers in a row, source ports anywhere.
func flows(n int) []Flow {
	random := rand.New(rand.NewPCG(7, 8))
	list := make([]Flow, n)
	for i := range list {
		list[i] = Flow{
			Src: netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 64)}), Dst: netip.AddrFrom4([4]byte{198, 51, 100, byte(i / 64)}),
			SrcPort: 0xc000 | uint16(random.Uint32()&0x3fff), DstPort: 4791, QPN: uint32(0x100 + i),
		}
	}
	return list
}

func TestPacketEqualsSumOfTheWholeKey(t *testing.T) {
	six := Flow{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 0xc001, 4791, 0x1234}
	for _, a := range Algorithm("").Choices() {
		for _, f := range append(flows(3), six) {
			h := hasher(t, HashConfig{Algorithm: Algorithm(a), Seed: 7, Offset: 3})
			state := h.Flow(f)
			for n := range uint32(300) {
				n *= 0x1020305
				if got, want := h.Packet(state, n), h.Sum(binary.BigEndian.AppendUint32(f.AppendKey(nil), n)); got != want {
					t.Fatalf("%s: packet %#x: %#x, want %#x", a, n, got, want)
				}
			}
			if h.Pinned(f) != h.Sum(f.AppendKey(nil)) {
				t.Errorf("%s: Pinned is not the sum of the flow", a)
			}
		}
	}
}

// The articles' literal key sends every packet of a QP to one bucket; with the PSN every packet has one of its own.
func TestFlowKeyDoesNotSpray(t *testing.T) {
	h, table := hasher(t, HashConfig{}), NewTable(64, 8)
	f := flows(1)[0]
	state, pinned := h.Flow(f), table.Path(h.Pinned(f))
	seen := map[int]bool{}
	for psn := range uint32(64) {
		seen[table.Path(h.Packet(state, psn))] = true
		if table.Path(h.Pinned(f)) != pinned {
			t.Fatal("the flow key moved a QP")
		}
	}
	if len(seen) != 8 {
		t.Errorf("64 packets met %d of 8 paths", len(seen))
	}
}

// A CRC is linear: the hashes of two keys of one length differ by what depends on the difference of the keys alone, whatever the seed. So
// another seed moves all flows alike, and flows that share a bucket share it with every seed.
func TestSeedOnlyAddsAConstant(t *testing.T) {
	for _, a := range []Algorithm{CRC32, CRC32C, CRC64, CRC32Lo, CRC32Hi, CRCCCITT, CRCXOR, XOR} {
		one, two := hasher(t, HashConfig{Algorithm: a, Seed: 1}), hasher(t, HashConfig{Algorithm: a, Seed: 0xdeadbeef})
		list := flows(500)
		constant := one.Pinned(list[0]) ^ two.Pinned(list[0])
		for _, f := range list {
			if got := one.Pinned(f) ^ two.Pinned(f); got != constant {
				t.Fatalf("%s: two seeds differ by %#x for one flow and by %#x for another", a, constant, got)
			}
		}
	}
}

// used hashes flows at a leaf into 8 uplinks, and at the spine behind uplink 0 into 8 ports: how many of these it ever uses.
func used(t *testing.T, leaf, spine HashConfig) int {
	first, second := hasher(t, leaf), hasher(t, spine)
	table, ports := NewTable(64, 8), map[int]bool{}
	for _, f := range flows(4096) {
		if table.Path(first.Pinned(f)) == 0 {
			ports[table.Path(second.Pinned(f))] = true
		}
	}
	return len(ports)
}

// Two tiers with one polynomial polarise even when their seeds differ; another polynomial or other bits help (facts of GF(2), see TestSeedOnlyAddsAConstant).
func TestPolarisation(t *testing.T) {
	leaf := HashConfig{Algorithm: CRC32, Seed: 1}
	for _, c := range []struct {
		name  string
		spine HashConfig
		want  int
	}{
		{"the same hash", leaf, 1},
		{"another seed", HashConfig{Algorithm: CRC32, Seed: 0xdeadbeef}, 1},
		{"another polynomial", HashConfig{Algorithm: CRC32C, Seed: 1}, 8},
		{"other bits", HashConfig{Algorithm: CRC32, Seed: 1, Offset: 6}, 8},
		{"another algorithm", HashConfig{Algorithm: Random}, 8},
	} {
		if got := used(t, leaf, c.spine); got != c.want {
			t.Errorf("%s: the spine uses %d of 8 ports, want %d", c.name, got, c.want)
		}
	}
	if got := used(t, HashConfig{Algorithm: Random, Seed: 1}, HashConfig{Algorithm: Random, Seed: 2}); got != 8 {
		t.Errorf("a mixer with another seed: the spine uses %d of 8 ports", got)
	}
}

// deal hashes 64 consecutive PSNs, aligned to 64, into 64 buckets of 8 paths: how many buckets they meet, and how many of them the fullest path gets.
func deal(t *testing.T, c HashConfig, f Flow, row int) (buckets, fullest int) {
	h, table := hasher(t, c), NewTable(64, 8)
	state, met, got := h.Flow(f), map[int]bool{}, make([]int, 8)
	for n := range uint32(64) {
		hash := h.Packet(state, uint32(row*64)+n)
		met[table.Bucket(hash)] = true
		got[table.Path(hash)]++
	}
	for _, n := range got {
		fullest = max(fullest, n)
	}
	return len(met), fullest
}

// Consecutive PSNs are the last that enters the hash, and 64 of them differ in six bits. A CRC maps these bits linearly: the buckets they meet are 2^rank,
// each as often as the others, and 8 paths get 8 packets each, as round robin would have it. Chance would give the fullest path 12 or so.
func TestConsecutivePSNsAreDealt(t *testing.T) {
	for _, c := range []struct {
		config           HashConfig
		buckets, fullest int
	}{
		{HashConfig{Algorithm: CRC32}, 16, 8}, // rank 4
		{HashConfig{Algorithm: CRC32C}, 64, 8},
		{HashConfig{Algorithm: CRC64}, 16, 8},
		{HashConfig{Algorithm: CRC32Lo}, 16, 8},
		{HashConfig{Algorithm: CRC32Hi}, 64, 8},
		{HashConfig{Algorithm: CRCCCITT}, 64, 8},
		{HashConfig{Algorithm: CRCXOR}, 64, 8},
		{HashConfig{Algorithm: XOR}, 64, 8},
		// The rank depends on which bits are used: with these, half of the paths get twice their share of any 64 packets.
		{HashConfig{Algorithm: CRC32, Offset: 8}, 32, 16},
		// The polynomial of ISO 3309 has its terms at one end: the last bytes of a key do not come down to the low bits, and nothing is sprayed.
		{HashConfig{Algorithm: CRC64ISO}, 1, 64},
		{HashConfig{Algorithm: CRC64ISO, Offset: 56}, 64, 8},
		{HashConfig{Algorithm: XOR, Offset: 8}, 1, 64},
	} {
		for row, f := range flows(100) {
			if buckets, fullest := deal(t, c.config, f, row); buckets != c.buckets || fullest != c.fullest {
				t.Errorf("%+v: 64 consecutive PSNs meet %d buckets, the fullest path gets %d; want %d and %d", c.config, buckets, fullest, c.buckets, c.fullest)
				break
			}
		}
	}
	sum := 0
	for row, f := range flows(100) {
		_, fullest := deal(t, HashConfig{Algorithm: Random}, f, row)
		sum += fullest
	}
	if sum < 1100 || sum > 1500 {
		t.Errorf("a mixer gives the fullest path %.1f of 64 packets, chance gives it 13", float64(sum)/100)
	}
}

func TestHashAllocatesNothing(t *testing.T) {
	f, table := flows(1)[0], NewTable(4096, 64)
	for _, a := range Algorithm("").Choices() {
		h := hasher(t, HashConfig{Algorithm: Algorithm(a)})
		var state uint64
		var sum int
		n := uint32(0)
		if allocs := testing.AllocsPerRun(100, func() {
			state = h.Flow(f)
			n++
			sum += table.Path(h.Packet(state, n)) + table.Path(h.Pinned(f))
		}); allocs != 0 {
			t.Errorf("%s: %v allocations (%d)", a, allocs, sum)
		}
	}
}

// Any configuration is taken or refused, never both right and panicking; state and whole key agree.
func FuzzHasher(f *testing.F) {
	for _, a := range Algorithm("").Choices() {
		f.Add(a, uint64(0), uint64(1), 0, []byte("0123456789abcdef"), uint32(7))
	}
	f.Add("crc32", uint64(0x741b8cd7), uint64(1)<<40, 31, []byte{1}, uint32(0))
	f.Fuzz(func(t *testing.T, algorithm string, polynomial, seed uint64, offset int, key []byte, n uint32) {
		h, err := NewHasher(HashConfig{Algorithm: Algorithm(algorithm), Polynomial: polynomial, Seed: seed, Offset: offset})
		if err != nil {
			return
		}
		var src [16]byte
		copy(src[:], key)
		flow := Flow{Src: netip.AddrFrom16(src), SrcPort: uint16(seed), QPN: n}
		if got, want := h.Packet(h.Flow(flow), n), h.Sum(binary.BigEndian.AppendUint32(flow.AppendKey(nil), n)); got != want {
			t.Fatalf("%#x in pieces, %#x whole", got, want)
		}
		h.Sum(key)
	})
}
