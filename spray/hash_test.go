package spray

import (
	"net/netip"
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

func TestPacketEqualsSumOfTheWholeKey(t *testing.T) {
	f := Flow{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 0xc001, 4791, 0x1234}
	for _, a := range Algorithm("").Choices() {
		h, err := NewHasher(HashConfig{Algorithm: Algorithm(a), Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		state := h.Flow(f)
		for n := range uint32(300) {
			n *= 0x10203
			key := append(f.AppendKey(nil), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
			if got, want := h.Packet(state, n), h.Sum(key); got != want {
				t.Fatalf("%s: packet %#x: %#x, want %#x", a, n, got, want)
			}
		}
	}
}
