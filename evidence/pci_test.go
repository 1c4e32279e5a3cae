package evidence

import (
	"fmt"
	"testing"
)

func TestPCIAddress(t *testing.T) {
	for in, want := range map[string]string{
		"c9:00.0": "0000:c9:00.0", "0000:C9:00.0": "0000:c9:00.0", "00000000:C9:00.0": "0000:c9:00.0", "00000001:19:00.0": "0001:19:00.0",
		"10000:e1:00.0": "10000:e1:00.0", "0000:1b:00": "0000:1b:00.0", " 29:01.3 ": "0000:29:01.3",
		"": "", "c9:00": "0000:c9:00.0", "zz:00.0": "", "0000:c9:00.0.1": "", "c9": "", "a:b:c:d": "", "0000:c9:00.00": "",
	} {
		if got := PCIAddress(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Two devices below one switch meet at its upstream port; devices of two root ports meet nowhere the tree shows.
func TestBridgesBetween(t *testing.T) {
	h := &Host{Tree: []PCINode{
		{Address: "0000:00:01.0"}, {Address: "0000:01:00.0", Parent: "0000:00:01.0"},
		{Address: "0000:02:00.0", Parent: "0000:01:00.0"}, {Address: "0000:02:01.0", Parent: "0000:01:00.0"},
		{Address: "0000:03:00.0", Parent: "0000:02:00.0"}, {Address: "0000:04:00.0", Parent: "0000:02:01.0"},
		{Address: "0000:40:01.0"}, {Address: "0000:41:00.0", Parent: "0000:40:01.0"},
		{Address: "0000:50:00.0", Parent: "0000:50:00.0"}, // nonsense that leads in a circle
	}}
	for _, tc := range []struct{ a, b, want string }{
		{"03:00.0", "04:00.0", "[0000:02:00.0 0000:01:00.0 0000:02:01.0] true"},
		{"04:00.0", "03:00.0", "[0000:02:01.0 0000:01:00.0 0000:02:00.0] true"},
		{"03:00.0", "41:00.0", "[] false"}, {"03:00.0", "99:00.0", "[] false"},
	} {
		got, ok := h.BridgesBetween(tc.a, tc.b)
		if s := fmt.Sprint(got, ok); s != tc.want {
			t.Errorf("%s to %s: %s, want %s", tc.a, tc.b, s, tc.want)
		}
	}
	if up, ok := h.BridgesAbove("50:00.0"); !ok || len(up) != maxDepth {
		t.Errorf("a circle: %d bridges, %v", len(up), ok)
	}
}
