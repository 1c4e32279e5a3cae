package collect

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// wideOf writes a text as UTF-16 with its mark.
func wideOf(text string, order binary.AppendByteOrder) (b []byte) {
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

// A log that PowerShell wrote is read as any other.
func TestWide(t *testing.T) {
	const log = "node1:41:41 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\r\nnode1:41:41 [0] NCCL INFO Using network IB\r\n"
	fsys := fstest.MapFS{"a.txt": {Data: []byte(log)}}
	want, _, err := LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		got, _, err := LoadFS(fstest.MapFS{"a.txt": {Data: wideOf(log, order)}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.NCCL.Versions, got.NCCL.Versions); diff != "" || len(got.NCCL.Versions) == 0 || len(got.Unreadable) != 0 {
			t.Errorf("%v: %s %v", order, diff, got.Unreadable)
		}
		if f := Sniff("a.txt", wideOf(log, order)); f != NCCLLog {
			t.Errorf("%v: sniffed as %q", order, f)
		}
	}
}

func TestNarrow(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "Grüße ✓ 😀 end": "Grüße ✓ 😀 end",
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with its end": iotest.DataErrReader} {
			got, err := io.ReadAll(&narrow{r: wrap(bytes.NewReader(wideOf(text, binary.LittleEndian)[2:])), order: binary.LittleEndian})
			if err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	}
	alone := []byte{0x3d, 0xd8, 'a', 0, 0, 0xde, 'b', 0, 0x3d, 0xd8, 7} // both halves alone, one at the end, half a unit behind it
	got, err := io.ReadAll(&narrow{r: bytes.NewReader(alone), order: binary.LittleEndian})
	if err != nil || string(got) != "\ufffda\ufffdb\ufffd" {
		t.Errorf("%q, %v", got, err)
	}
	long := bytes.Repeat([]byte("0123456789✓😀"), 5000)
	got, err = io.ReadAll(&narrow{r: bytes.NewReader(wideOf(string(long), binary.BigEndian)[2:]), order: binary.BigEndian})
	if err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(long), err)
	}
}

func FuzzNarrow(f *testing.F) {
	f.Add([]byte{0x3d, 0xd8, 0, 0xde, 'a'}, true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		order := binary.ByteOrder(binary.LittleEndian)
		if big {
			order = binary.BigEndian
		}
		whole, err := io.ReadAll(&narrow{r: bytes.NewReader(b), order: order})
		if err != nil {
			t.Fatal(err)
		}
		var units []uint16
		for i := 0; i+2 <= len(b); i += 2 {
			units = append(units, order.Uint16(b[i:]))
		}
		if want := string(utf16.Decode(units)); string(whole) != want {
			t.Fatalf("%q, want %q", whole, want)
		}
		if single, err := io.ReadAll(&narrow{r: iotest.OneByteReader(bytes.NewReader(b)), order: order}); err != nil || !bytes.Equal(whole, single) {
			t.Fatalf("in bytes %q, whole %q, %v", single, whole, err)
		}
	})
}
