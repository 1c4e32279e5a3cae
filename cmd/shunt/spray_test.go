package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
)

// capture writes packets of two senders into a file; a layout of "" writes no ids.
func capture(t *testing.T, name string, layouts ...spray.Layout) string {
	t.Helper()
	var file bytes.Buffer
	w, err := packet.NewWriter(&file, packet.PCAP, packet.LinkEthernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range layouts {
		for psn := range uint32(100) {
			p := packet.Packet{
				IP:      packet.IPHeader{Src: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)}), Dst: netip.MustParseAddr("192.0.2.200"), TTL: 64},
				SrcPort: 0xc123,
				BTH:     packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 0x1234, PSN: psn},
				Payload: []byte("data"),
			}
			if l != "" {
				c, err := spray.NewCodec(l)
				if err != nil {
					t.Fatal(err)
				}
				p.Checksum = c.Encode(spray.Context{QP: 0x1234, Sequence: psn, Path: psn & 3, Time: psn * 977})
			}
			data := packet.AppendFrame(nil, p)
			if err := w.Write(int64(psn)*1000, data, len(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a capture tells of the layouts of its senders, by the exit code and the text.
func TestSprayPPCIDCapture(t *testing.T) {
	for _, c := range []struct {
		layouts []spray.Layout
		code    int
		want    []string
	}{
		{[]spray.Layout{spray.LayoutV2, spray.LayoutV2}, exitOK, []string{"all senders with context ids use one layout", "192.0.2.1  v2"}},
		{[]spray.Layout{spray.LayoutV2, spray.LayoutTimeHigh}, exitFindings, []string{"senders use different layouts", "path-high"}},
		{[]spray.Layout{spray.LayoutV1, ""}, exitOK, []string{"192.0.2.1  v1", "192.0.2.2  none"}},
		{[]spray.Layout{"", ""}, exitOK, []string{"no sender writes context ids"}},
		{[]spray.Layout{spray.LayoutV2, spray.LayoutKeyed}, exitUndecided, []string{"cannot be told", "192.0.2.2  ?"}},
		{nil, exitUndecided, []string{"there is no RoCEv2 packet in it"}},
	} {
		path := capture(t, "roce.pcap", c.layouts...)
		var stdout, stderr bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, env: func(string) string { return "" }}
		if code := a.main(context.Background(), []string{"spray", "ppcid", "capture", path}); code != c.code {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.layouts, code, c.code, &stdout, &stderr)
		}
		for _, w := range c.want {
			if !strings.Contains(stdout.String(), w) {
				t.Errorf("%v lacks %q:\n%s", c.layouts, w, &stdout)
			}
		}
	}
	// Cut off in the middle of a packet, from standard input: what came before counts, and the text says so.
	whole, err := os.ReadFile(capture(t, "cut.pcap", spray.LayoutV2))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdin: bytes.NewReader(whole[:len(whole)-10]), stdout: &stdout, stderr: &stderr, env: func(string) string { return "" }}
	if code := a.main(context.Background(), []string{"spray", "ppcid", "capture", "-"}); code != exitOK || !strings.Contains(stdout.String(), "- ends early") || !strings.Contains(stdout.String(), " 99 ") {
		t.Errorf("exit %d\n%s%s", code, &stdout, &stderr)
	}
	stdout.Reset()
	if code := a.main(context.Background(), []string{"spray", "ppcid", "capture", "--json", capture(t, "j.pcap", spray.LayoutV2)}); code != exitOK || !strings.Contains(stdout.String(), `"wrong_checksum": 100`) {
		t.Errorf("exit %d\n%s", code, &stdout)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no capture"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := a.main(context.Background(), []string{"spray", "ppcid", "capture", text}); code != exitUsage {
		t.Errorf("a text: exit %d", code)
	}
}

// Names of kinds go on behind Z.
func TestKind(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 499: "SF"} {
		if got := kind(i); got != want {
			t.Errorf("%d is %s, want %s", i, got, want)
		}
	}
	if got := wrapped(strings.Repeat("word ", 5), "# ", 12); got != "# word word\n# word word\n# word" {
		t.Errorf("%q", got)
	}
}
