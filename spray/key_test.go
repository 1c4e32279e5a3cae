package spray

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendKey(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Flow
		want []byte
	}{
		{"IPv4", Flow{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.2"), 0xc001, 4791, 0xff123456},
			[]byte{192, 0, 2, 1, 198, 51, 100, 2, 0xc0, 1, 0x12, 0xb7, 0, 0x12, 0x34, 0x56}},
		{"IPv4 in IPv6", Flow{netip.MustParseAddr("::ffff:192.0.2.1"), netip.Addr{}, 1, 2, 3}, []byte{192, 0, 2, 1, 0, 1, 0, 2, 0, 0, 0, 3}},
		{"IPv6", Flow{netip.MustParseAddr("2001:db8::1"), netip.Addr{}, 1, 2, 3},
			[]byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0, 0, 3}},
	} {
		if diff := cmp.Diff(c.want, c.f.AppendKey(nil)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	six := netip.MustParseAddr("2001:db8::1")
	if n := len(Flow{Src: six, Dst: six}.AppendKey(nil)); n != maxKey {
		t.Errorf("the longest key has %d bytes, not %d", n, maxKey)
	}
}

func TestOnlyFlowPinsAQP(t *testing.T) {
	for _, k := range Key("").Choices() {
		if got, want := Key(k).PerPacket(), Key(k) != KeyFlow; got != want {
			t.Errorf("%s: PerPacket %v", k, got)
		}
	}
}
