package collect

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/xz"
)

// Limits on archives. What a small file unpacks to has no bound of its own.
const (
	// MaxUnpacked is how much comes out of all archives of one Load: the logs and counters of 1000 hosts are some
	// tens of gigabytes.
	MaxUnpacked = 64 << 30
	// MaxLayers is how many wrappings are taken off one file. A .tar.gz in a .zip has three.
	MaxLayers = 4
	// maxHeld is the size of an archive that is held in memory, where it cannot be read in place: a .zip inside
	// another archive, or from standard input, whose table of contents stands at its end.
	maxHeld = 256 << 20
)

// unpack reads a packed file as what is in it; false means that it is not packed.
func (s *session) unpack(in input, r *bufio.Reader) bool {
	head, _ := r.Peek(headBytes)
	var open func(input, *bufio.Reader)
	switch begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }; {
	case begins("\x1f\x8b"):
		open = s.gunzip
	case begins("BZh"):
		open = s.bunzip
	case begins(xz.Magic):
		open = s.unxz
	case begins("PK\x03\x04"), begins("PK\x05\x06"): // the second is an archive without files
		open = s.unzip
	case isTar(head):
		open = s.untar
	default:
		for _, p := range foreign {
			if begins(p.magic) {
				s.unreadable(in.show, p.why)
				return true
			}
		}
		return false
	}
	if in.layers >= MaxLayers {
		s.unreadable(in.show, fmt.Sprintf("packed more than %d times", MaxLayers))
		return true
	}
	in.layers++
	open(in, r)
	return true
}

// foreign are packings that are not read, and what to do with them.
var foreign = []struct{ magic, why string }{
	{"\x28\xb5\x2f\xfd", "packed with zstd: unpack it first (tar --zstd -xf, or zstd -d)"},
	{"7z\xbc\xaf\x27\x1c", "packed with 7-Zip: unpack it first"},
	{"Rar!\x1a\x07", "packed with RAR: unpack it first"},
}

// isTar tells whether a block is the head of a file in a tar archive: its checksum is right (POSIX.1-1988, ustar;
// the v7 format before it has the same).
func isTar(head []byte) bool {
	if len(head) < 512 || head[0] == 0 {
		return false
	}
	want, err := strconv.ParseUint(strings.Trim(string(head[148:156]), " \x00"), 8, 32)
	if err != nil {
		return false
	}
	sum := uint64(8 * ' ') // the checksum itself counts as blanks
	for i, c := range head[:512] {
		if i < 148 || i >= 156 {
			sum += uint64(c)
		}
	}
	return sum == want
}

func (s *session) gunzip(in input, r *bufio.Reader) {
	z, err := gzip.NewReader(r)
	if err != nil {
		s.unreadable(in.show, "damaged gzip file: "+err.Error())
		return
	}
	in.name = unpackedName(in.name, ".gz", ".tgz")
	s.stream(in, s.metered(z))
}

func (s *session) bunzip(in input, r *bufio.Reader) {
	in.name = unpackedName(in.name, ".bz2", ".tbz2")
	s.stream(in, s.metered(bzip2.NewReader(r)))
}

func (s *session) unxz(in input, r *bufio.Reader) {
	z, err := xz.NewReader(r)
	if err != nil {
		s.unreadable(in.show, "damaged xz file: "+err.Error())
		return
	}
	in.name = unpackedName(in.name, ".xz", ".txz")
	s.stream(in, s.metered(z))
}

// unpackedName is the name of what is in a packed file.
func unpackedName(name, suffix, tarSuffix string) string {
	if stem, ok := strings.CutSuffix(name, tarSuffix); ok {
		return stem + ".tar"
	}
	return strings.TrimSuffix(name, suffix)
}

// untar reads the files of a tar archive, in its order. A first pass over the archive, where it can be opened twice,
// finds the hosts its folders are of.
func (s *session) untar(in input, r *bufio.Reader) {
	hosts := hostFolders{}
	if in.reopen != nil {
		if again, err := in.reopen(); err == nil {
			hosts = findHosts(s.metered(peeled(again)))
			again.Close()
		}
	}
	base := strings.TrimSuffix(in.name, ".tar")
	t := tar.NewReader(r)
	files := 0
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.unreadable(in.show, "cut off: "+err.Error())
			break
		}
		name := path.Clean("/" + strings.ReplaceAll(h.Name, "\\", "/"))[1:]
		if h.Typeflag != tar.TypeReg || name == "" || hidden(name) {
			continue
		}
		files++
		if !s.count(join(in.show, name)) {
			return
		}
		inner := input{name: path.Join(base, name), show: join(in.show, name), host: in.host, layers: in.layers}
		if root, host := hosts.of(name); host != "" {
			inner.host, inner.name = host, path.Join(base, strings.TrimPrefix(strings.TrimPrefix(name, root), "/"))
			if hostFile(strings.TrimPrefix(strings.TrimPrefix(name, root), "/")) {
				s.named(inner)
				continue
			}
		}
		s.stream(inner, t)
		if s.unpacked > s.opt.MaxUnpacked {
			return // said by the reader that met the limit
		}
	}
	if files == 0 {
		s.opened++
		s.unreadable(in.show, "archive without files")
	}
}

// hidden tells whether a path has a part that begins with a dot, as folders are walked.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// findHosts reads through an archive for the files that name hosts.
func findHosts(r io.Reader) hostFolders {
	hosts := hostFolders{}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err != nil {
			return hosts // what is wrong is said when the files are read
		}
		name := path.Clean("/" + h.Name)[1:]
		if h.Typeflag == tar.TypeReg && len(hosts) < MaxFiles {
			hosts.add(name, t)
		}
	}
}

// peeled takes the compression off a file whose reader is opened a second time.
func peeled(r io.Reader) io.Reader {
	br := bufio.NewReaderSize(r, headBytes)
	for range MaxLayers {
		head, _ := br.Peek(len(xz.Magic))
		switch {
		case bytes.HasPrefix(head, []byte("\x1f\x8b")):
			z, err := gzip.NewReader(br)
			if err != nil {
				return br
			}
			br = bufio.NewReaderSize(z, headBytes)
		case bytes.HasPrefix(head, []byte("BZh")):
			br = bufio.NewReaderSize(bzip2.NewReader(br), headBytes)
		case bytes.HasPrefix(head, []byte(xz.Magic)):
			z, err := xz.NewReader(br)
			if err != nil {
				return br
			}
			br = bufio.NewReaderSize(z, headBytes)
		default:
			return br
		}
	}
	return br
}

// unzip reads the files of a zip archive as a folder. Its table of contents stands at its end.
func (s *session) unzip(in input, r *bufio.Reader) {
	at, size := in.at, in.size
	if at == nil {
		held, err := io.ReadAll(io.LimitReader(r, maxHeld+1))
		if err != nil || len(held) > maxHeld {
			s.unreadable(in.show, fmt.Sprintf("zip archive of more than %d MiB inside another or without a file: unpack it first", maxHeld>>20))
			return
		}
		at, size = bytes.NewReader(held), int64(len(held))
	}
	z, err := zip.NewReader(at, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // such paths are not walked
		s.unreadable(in.show, "damaged zip archive: "+err.Error())
		return
	}
	if len(z.File) == 0 {
		s.opened++
		s.unreadable(in.show, "archive without files")
		return
	}
	for _, f := range z.File {
		const encrypted = 1 // APPNOTE.TXT 4.4.4, bit 0
		if f.Flags&encrypted != 0 {
			s.opened++
			s.unreadable(in.show, "encrypted zip archive: unpack it first")
			return
		}
	}
	s.walk(z, ".", root{show: in.show, name: strings.TrimSuffix(in.name, ".zip"), host: in.host, layers: in.layers}, 0)
}

// metered counts what comes out of archives, and ends it at the limit.
func (s *session) metered(r io.Reader) io.Reader { return &meter{s, r} }

type meter struct {
	s *session
	r io.Reader
}

var errUnpacked = errors.New("archives unpack to more than the limit: unpack what matters first")

func (m *meter) Read(p []byte) (int, error) {
	if m.s.unpacked > m.s.opt.MaxUnpacked {
		return 0, errUnpacked
	}
	n, err := m.r.Read(p)
	m.s.unpacked += int64(n)
	return n, err
}
