package collect

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/xz"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// collected is two hosts, one by its folder's name and one by a file in it.
const collected = `
-- dump/alpha/hostname --
alpha.example.org
-- dump/alpha/ibstat.txt --
CA 'mlx5_0'
	Port 1:
		State: Active
-- dump/alpha/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence --
17
-- dump/node2/ethtool_S_ens3np0_before.txt --
NIC statistics:
     link_down_events_phy: 1
-- dump/node2/ethtool_S_ens3np0_after_10s.txt --
NIC statistics:
     link_down_events_phy: 3
`

func tarOf(t testing.TB, fsys fstest.MapFS) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fsys)) {
		if err := w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(fsys[name].Data)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		w.Write(fsys[name].Data)
	}
	w.Close()
	return b.Bytes()
}

func gzipOf(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zipOf(t testing.TB, fsys fstest.MapFS) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fsys)) {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(fsys[name].Data)
	}
	w.Close()
	return b.Bytes()
}

// told is what an inventory knows, without where it was read.
func told(inv *evidence.Inventory, w *telemetry.Window) (out []string) {
	for _, h := range inv.Hosts {
		out = append(out, "host "+h.Name)
		for _, n := range h.NICs {
			out = append(out, fmt.Sprint("  ", n.Device, " ", n.State))
		}
	}
	for id := range telemetry.SeriesCount {
		for _, k := range w.Keys(id) {
			p, _ := w.Points(k)
			d, ok := w.Delta(k)
			out = append(out, fmt.Sprint(id, " ", k.Object, " ", p.Samples[0].Count, " grew ", d, ok))
		}
	}
	return out
}

// xzOf stores bytes as an xz file: one block of chunks that are not packed, without a sum.
func xzOf(b []byte) []byte {
	sealed := func(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)) }
	filled := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	flags := []byte{0, 0}
	out := append([]byte(xz.Magic), flags...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(flags))
	out = append(out, sealed([]byte{2, 0, 0x21, 1, 24, 0, 0, 0})...)
	chunk, begin := byte(1), len(out)-12
	for part := range slices.Chunk(b, 1<<16) {
		out = append(append(out, chunk, byte((len(part)-1)>>8), byte(len(part)-1)), part...)
		chunk = 2
	}
	out = append(out, 0)
	index := binary.AppendUvarint([]byte{0, 1}, uint64(len(out)-begin))
	index = sealed(filled(binary.AppendUvarint(index, uint64(len(b)))))
	foot := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1)), flags...)
	out = append(filled(out), index...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(foot))
	return append(append(out, foot...), "YZ"...)
}

// A folder and every archive of it say the same.
func TestArchives(t *testing.T) {
	content := tree(collected)
	inv, w, err := LoadFS(content)
	if err != nil {
		t.Fatal(err)
	}
	want := told(inv, w)
	if diff := cmp.Diff([]string{
		"host alpha", "  mlx5_0 ACTIVE",
		"nic_link_downs_total node2/ens3np0 1 grew 2 true", "nic_out_of_sequence_total alpha/mlx5_0 17 grew 0 false",
	}, want); diff != "" {
		t.Fatal(diff)
	}
	packed := tarOf(t, content)
	for name, data := range map[string][]byte{
		"c.tar": packed, "c.tar.gz": gzipOf(packed), "c.tgz": gzipOf(packed), "c.tar.xz": xzOf(packed), "c.txz": xzOf(packed), "c.zip": zipOf(t, content),
		"inner.zip": zipOf(t, fstest.MapFS{"c.tar.gz": {Data: gzipOf(packed)}}),
		"outer.tar": tarOf(t, fstest.MapFS{"c.zip": {Data: zipOf(t, content)}}),
	} {
		t.Run(name, func(t *testing.T) {
			inv, w, err := LoadFS(fstest.MapFS{name: {Data: data}})
			if err != nil {
				t.Fatal(err)
			}
			got := told(inv, w)
			if name == "inner.zip" { // cannot be opened twice, so only what the names tell is known of alpha
				got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "alpha") })
			}
			if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" && name != "inner.zip" {
				t.Error(diff, unread(inv))
			}
			if len(inv.Unreadable) != 0 && name != "inner.zip" {
				t.Error(unread(inv))
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
			disk, wd, err := Load([]string{filepath.Join(dir, name)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(told(inv, w), told(disk, wd)); diff != "" {
				t.Errorf("from a disk: %s", diff)
			}
		})
	}
}

// A sosreport names its host in its folder, and better in the files of the host.
func TestSosreport(t *testing.T) {
	const report = `
-- sosreport-gpu-a-01234567-2025-06-01-abcdefg/sos_commands/networking/ethtool_-a_ens3np0 --
Pause parameters for ens3np0:
RX:		on
TX:		on
-- sosreport-gpu-a-01234567-2025-06-01-abcdefg/sos_commands/infiniband/ibstat --
CA 'mlx5_0'
	Port 1:
		State: Down
`
	inv, _ := load(t, report)
	if len(inv.Hosts) != 1 || inv.Hosts[0].Name != "gpu-a" {
		t.Errorf("hosts %+v", inv.Hosts)
	}
	inv, _ = load(t, report+"-- sosreport-gpu-a-01234567-2025-06-01-abcdefg/sos_commands/host/hostname --\ngpu-b.example.org\n")
	if len(inv.Hosts) != 1 || inv.Hosts[0].Name != "gpu-b" || !inv.Hosts[0].Dev("ens3np0").Global.Known() {
		t.Errorf("hosts %+v", inv.Hosts)
	}
	for folder, want := range map[string]string{
		"sosreport-node1-2025-06-01-abcdefg": "node1", "sosreport-gpu-01-2025-06-01-abcdefg": "gpu-01", "sosreport-a.example.org-01234567-2025-06-01-x": "a",
		"sosreport": "", "report-node1": "", "sosreport-node1": "node1",
	} {
		if got := sosHost(folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

func TestHostFiles(t *testing.T) {
	for text, want := range map[string]string{
		"node1\n": "node1", "alpha.example.org": "alpha", "Linux beta 5.15.0-105-generic #115-Ubuntu SMP x86_64 GNU/Linux\n": "beta",
		"localhost.localdomain": "", "": "", "two words": "", "Static hostname: x": "", "no;thing": "",
	} {
		if got := hostIn(strings.NewReader(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if folder, host := (hostFolders{"": {host: "a"}, "x/y": {host: "b"}}).of("x/y/z/f"); folder != "x/y" || host != "b" {
		t.Errorf("%q %q", folder, host)
	}
	if _, host := (hostFolders{"": {host: "a"}}).of("x/f"); host != "a" {
		t.Errorf("%q", host)
	}
}

// Archives that are damaged, packed in an unknown way, or made to hurt are named, and what could be read is kept.
func TestBadArchives(t *testing.T) {
	content := tree(collected)
	packed := tarOf(t, content)
	bomb := gzipOf(bytes.Repeat([]byte("node1:1:1 [0] NCCL INFO Using network IB\n"), 100_000))
	nested := packed
	for range MaxLayers + 1 {
		nested = gzipOf(nested)
	}
	fsys := fstest.MapFS{
		"cut.tar":       {Data: packed[:len(packed)-1500]},
		"cut.tgz":       {Data: gzipOf(packed)[:200]},
		"cut.zip":       {Data: zipOf(t, content)[:300]},
		"empty.zip":     {Data: zipOf(t, nil)},
		"nested.tar.gz": {Data: nested},
		"cut.tar.xz":    {Data: xzOf(packed)[:3000]},
		"head.tar.xz":   {Data: []byte("\xfd7zXZ\x00\x00\x04")},
		"bad.log.xz":    {Data: append(xzOf([]byte("node3:1:1 [0] NCCL INFO Using network IB\n")), "more"...)},
		"new.tar.zst":   {Data: []byte("\x28\xb5\x2f\xfd\x00")},
	}
	inv, _, err := LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(unread(inv), "\n")
	for _, want := range []string{
		"cut.tar: cut off: unexpected EOF", "cut.tgz: cut off: unexpected EOF", "cut.zip: damaged zip archive", "empty.zip: archive without files", "nested.tar.gz: packed more than 4 times",
		"cut.tar.xz: cut off: unexpected EOF", "head.tar.xz: damaged xz file: unexpected EOF", "bad.log.xz:1: cut off: not as the xz format says: bytes behind the last stream", "new.tar.zst: packed with zstd",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in\n%s", want, got)
		}
	}
	if len(inv.Files) == 0 {
		t.Error("nothing was read of the archives that are cut")
	}
	s := newSession(Options{MaxUnpacked: 10_000})
	s.walk(fstest.MapFS{"bomb.gz": {Data: bomb}, "z.log": {Data: []byte("node2:1:1 [0] NCCL INFO Using network IB\n")}}, ".", root{}, 0)
	s.finish()
	inv, _, _ = s.result()
	if got := strings.Join(unread(inv), "\n"); !strings.Contains(got, "archives unpack to more than the limit") || s.unpacked > 10_000+(64<<10) {
		t.Errorf("%d bytes unpacked: %s", s.unpacked, got)
	}
	if len(inv.Files) != 2 {
		t.Errorf("what stands beside the bomb is lost: %+v", inv.Files)
	}
}

func TestEncryptedZip(t *testing.T) {
	data := zipOf(t, fstest.MapFS{"a.log": {Data: []byte("x")}})
	i := bytes.LastIndex(data, []byte("PK\x01\x02"))
	data[i+8] |= 1
	inv, _, err := LoadFS(fstest.MapFS{"a.zip": {Data: data}})
	if err != nil || !strings.Contains(strings.Join(unread(inv), ""), "encrypted") {
		t.Errorf("%v, %v", unread(inv), err)
	}
}

// Whatever bytes an archive has: no panic, and bounded output.
func FuzzArchive(f *testing.F) {
	content := tree(collected)
	f.Add(tarOf(f, content))
	f.Add(gzipOf(tarOf(f, content)))
	f.Add(zipOf(f, content))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSession(Options{MaxUnpacked: 1 << 20})
		s.walk(fstest.MapFS{"a": {Data: data}}, ".", root{}, 0)
		s.finish()
		inv, _, err := s.result()
		if err != nil || len(inv.Files)+len(inv.Unreadable) == 0 {
			t.Fatalf("the archive is nowhere: %v", err)
		}
		if s.unpacked > 2<<20 {
			t.Fatalf("%d bytes came out", s.unpacked)
		}
	})
}
