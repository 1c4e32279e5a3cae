package xz

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// The files of testdata are from xz 5.4.1, of the texts below; the options are beside each.
var samples = []struct {
	file  string
	plain func() []byte
}{
	{"text.xz", func() []byte { return text(2000) }},                         // -6
	{"sha256.xz", func() []byte { return text(50) }},                         // -C sha256
	{"crc32.xz", func() []byte { return text(50) }},                          // -C crc32
	{"none.xz", func() []byte { return text(50) }},                           // -C none
	{"blocks.xz", func() []byte { return text(3000) }},                       // -T2 --block-size=40000
	{"properties.xz", func() []byte { return text(500) }},                    // --lzma2=lc=1,lp=3,pb=4
	{"empty.xz", func() []byte { return nil }},                               // of nothing
	{"noise.xz", func() []byte { return noise(3000) }},                       // stored, not packed
	{"streams.xz", func() []byte { return append(text(50), text(2000)...) }}, // two files and eight zeros between them
	{"long.xz", func() []byte { return bytes.Repeat(text(100), 1000) }},      // more than one chunk
}

// text looks like the logs that are packed.
func text(lines int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for i := range lines {
		fmt.Fprintf(&b, "node%d:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/IPC\n", i%16, 4000+i, r.IntN(9000), i%8, i%24, i%8, i%8, r.IntN(8), r.IntN(8))
	}
	return b.Bytes()
}

// noise has nothing to pack.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func packed(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unpack(r io.Reader) ([]byte, error) {
	z, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func TestUnpack(t *testing.T) {
	for _, s := range samples {
		got, err := unpack(bytes.NewReader(packed(t, s.file)))
		if err != nil || !bytes.Equal(got, s.plain()) {
			t.Errorf("%s: %d bytes, want %d, %v", s.file, len(got), len(s.plain()), err)
		}
	}
}

// A file that comes in single bytes is the same file.
func TestSingleBytes(t *testing.T) {
	z, err := NewReader(iotest.OneByteReader(bytes.NewReader(packed(t, "blocks.xz"))))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(iotest.OneByteReader(z))
	if err != nil || !bytes.Equal(got, text(3000)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Every byte of a file is under a sum or a check: a change of any of them is found, and never a panic.
func TestEveryByteCounts(t *testing.T) {
	for _, name := range []string{"sha256.xz", "crc32.xz", "noise.xz", "empty.xz"} {
		good := packed(t, name)
		for i := range good {
			for _, mask := range []byte{1, 0x80, 0xff} {
				bad := bytes.Clone(good)
				bad[i] ^= mask
				if _, err := unpack(bytes.NewReader(bad)); err == nil {
					t.Errorf("%s: byte %d changed by %#x, and nobody saw", name, i, mask)
				}
			}
		}
	}
}

// What stands before the place where a file is cut off is handed out.
func TestCutOff(t *testing.T) {
	good, want := packed(t, "blocks.xz"), text(3000)
	for n := 0; n < len(good); n += 1 + n/10 {
		got, err := unpack(bytes.NewReader(good[:n]))
		if n > 500 && len(got) < 3*n {
			t.Errorf("%d of %d bytes hold %d", n, len(good), len(got))
		}
		if err == nil || !bytes.HasPrefix(want, got) {
			t.Errorf("%d of %d bytes: %d bytes, %v", n, len(good), len(got), err)
		}
	}
	got, err := unpack(bytes.NewReader(good[:len(good)*3/4]))
	if len(got) < len(want)*2/3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("three quarters of a file hold %d of %d bytes, %v", len(got), len(want), err)
	}
}

func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"x86.xz": "packed with more than LZMA2", // --x86 --lzma2
		"far.xz": "refers back by more than 64 MiB",
	} {
		if _, err := unpack(bytes.NewReader(packed(t, name))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	// Bytes behind the last stream are none of it.
	if _, err := unpack(io.MultiReader(bytes.NewReader(packed(t, "text.xz")), strings.NewReader("more"))); !errors.Is(err, ErrDamaged) {
		t.Errorf("bytes behind a file: %v", err)
	}
}

// near.xz asks for a window of 1 GiB in its head and refers back by 60 MiB: it is read.
func TestNear(t *testing.T) {
	z, err := NewReader(bytes.NewReader(packed(t, "near.xz")))
	if err != nil {
		t.Fatal(err)
	}
	begin := make([]byte, 4096)
	if _, err := io.ReadFull(z, begin); err != nil || !bytes.Equal(begin, noise(4096)) {
		t.Fatal("the beginning is not the one that was packed: ", err)
	}
	if n, err := io.CopyN(io.Discard, z, 60<<20); err != nil {
		t.Fatal(n, err)
	}
	if end, err := io.ReadAll(z); err != nil || !bytes.Equal(end, begin) {
		t.Errorf("%d bytes at the end, %v", len(end), err)
	}
}

func FuzzReader(f *testing.F) {
	for _, name := range []string{"sha256.xz", "none.xz", "noise.xz", "properties.xz", "x86.xz"} {
		f.Add(packed(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		io.CopyN(io.Discard, z, 1<<20)
	})
}

func BenchmarkReader(b *testing.B) {
	file := packed(b, "text.xz")
	b.SetBytes(int64(len(text(2000))))
	for b.Loop() {
		z, err := NewReader(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, z); err != nil {
			b.Fatal(err)
		}
	}
}
