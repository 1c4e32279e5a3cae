package collect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// Limits on what is read. They stand far above any collection seen and far below what would hurt.
const (
	// MaxFiles: a host's /sys/class/infiniband has up to 12 000 files (16 ports with 256 GIDs), most are logs.
	MaxFiles = 200_000
	// MaxDepth: node/sys/devices/pci.../infiniband/mlx5_0/ports/1/gid_attrs/types/0 is 14 deep.
	MaxDepth = 24
	// MaxFileBytes is how much of one file is read. What follows is named as not read.
	MaxFileBytes = 4 << 30
)

// Options change what Load reads. The zero value takes every default.
type Options struct {
	MaxFiles     int   // 0: MaxFiles
	MaxDepth     int   // 0: MaxDepth
	MaxFileBytes int64 // 0: MaxFileBytes
	MaxUnpacked  int64 // 0: MaxUnpacked
}

func (o Options) filled() Options {
	if o.MaxFiles <= 0 {
		o.MaxFiles = MaxFiles
	}
	if o.MaxDepth <= 0 {
		o.MaxDepth = MaxDepth
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = MaxFileBytes
	}
	if o.MaxUnpacked <= 0 {
		o.MaxUnpacked = MaxUnpacked
	}
	return o
}

// NothingReadError says that no input at all could be opened, and why for each.
type NothingReadError struct{ Tried []evidence.Unreadable }

func (e *NothingReadError) Error() string {
	if len(e.Tried) == 0 {
		return "collect: nothing to read"
	}
	var b strings.Builder
	b.WriteString("collect: nothing could be read")
	for _, u := range e.Tried[:min(len(e.Tried), 5)] {
		fmt.Fprintf(&b, "\n  %s: %s", u.From, u.Why)
	}
	return b.String()
}

// Load reads files, folders and archives of both; "-" is standard input. The error is a *NothingReadError: whatever else goes wrong
// is told in the inventory's Unreadable.
func Load(paths []string, opt Options) (*evidence.Inventory, *telemetry.Window, error) {
	s := newSession(opt)
	above := foldersAbove(paths)
	for _, p := range paths {
		s.path(p, above)
	}
	return s.result()
}

// foldersAbove finds the names of the folders the paths stand in, or are, where these tell the paths apart:
// "node1 node2", or "node1/nccl.log node2/nccl.log". A folder that all have in common is a case's, a job's or a
// user's and names no host.
func foldersAbove(paths []string) map[string]string {
	above, names := map[string]string{}, map[string]bool{}
	for _, p := range paths {
		clean := filepath.Clean(p)
		if info, err := os.Stat(clean); err != nil || !info.IsDir() {
			clean = filepath.Dir(clean)
		}
		above[p] = filepath.Base(clean)
		names[above[p]] = true
	}
	if len(names) < 2 {
		return nil
	}
	return above
}

// LoadFS reads a whole file system as Load reads a folder, with the default limits.
func LoadFS(fsys fs.FS) (*evidence.Inventory, *telemetry.Window, error) {
	s := newSession(Options{})
	s.walk(fsys, ".", root{}, 0)
	return s.result()
}

// root is where a walk began.
type root struct {
	show   string // how the user wrote it
	name   string // the folder's name where it tells something, else ""
	host   string // the host everything below is of, "" where no file tells
	below  string // the folder whose files told the host
	layers int    // archives the walk is inside of
}

// path reads one path a user gave.
func (s *session) path(p string, above map[string]string) {
	if p == "-" {
		s.stream(input{name: "standard input", show: "standard input"}, os.Stdin)
		return
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		s.unreadable(p, reason(err))
	case info.IsDir():
		s.walk(os.DirFS(p), ".", root{show: p, name: above[p]}, 0)
	default:
		clean := filepath.ToSlash(filepath.Clean(p))
		s.file(os.DirFS(filepath.Dir(p)), path.Base(clean), input{name: path.Join(above[p], path.Base(clean)), show: clean})
	}
}

// walk reads a folder. Links to folders are followed below a folder named infiniband alone, where /sys/class keeps
// its devices behind links; elsewhere they lead in circles.
func (s *session) walk(fsys fs.FS, dir string, from root, depth int) {
	if depth > s.opt.MaxDepth {
		s.unreadable(join(from.show, dir), fmt.Sprintf("more than %d folders deep", s.opt.MaxDepth))
		return
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		s.unreadable(join(from.show, dir), reason(err))
		return
	}
	if host := hostHere(fsys, dir, entries); host != "" {
		from.host, from.below = host, dir
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue // .git, .DS_Store, editors' copies
		}
		mode := e.Type()
		if mode&fs.ModeSymlink != 0 {
			info, err := fs.Stat(fsys, name)
			if err != nil {
				s.unreadable(join(from.show, name), reason(err))
				continue
			}
			if mode = info.Mode().Type(); mode.IsDir() && path.Base(dir) != "infiniband" {
				continue
			}
		}
		switch {
		case mode.IsDir():
			s.walk(fsys, name, from, depth+1)
		case mode.IsRegular():
			s.file(fsys, name, from.input(name))
		default:
			s.unreadable(join(from.show, name), "not a regular file")
		}
	}
}

// input is a file of a walk.
func (from root) input(name string) input {
	return input{name: path.Join(from.name, name), show: join(from.show, name), host: from.host, naming: from.host != "" && hostFile(below(from.below, name)), layers: from.layers}
}

// below is a path as seen from a folder above it.
func below(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

func join(show, name string) string { return filepath.ToSlash(filepath.Join(show, name)) }

// file reads one file of a file system.
func (s *session) file(fsys fs.FS, name string, in input) {
	if !s.count(in.show) {
		return
	}
	if in.naming {
		s.named(in)
		return
	}
	r, err := fsys.Open(name)
	if err != nil {
		s.unreadable(in.show, reason(err))
		return
	}
	defer r.Close()
	if in.layers > 0 {
		s.stream(in, s.metered(r))
		return
	}
	in.reopen = func() (io.ReadCloser, error) { return fsys.Open(name) }
	if at, ok := r.(io.ReaderAt); ok {
		if info, err := r.Stat(); err == nil {
			in.at, in.size = at, info.Size()
		}
	}
	s.stream(in, r)
}

// count counts a file; false means that it is past the limit.
func (s *session) count(show string) bool {
	s.files++
	if s.files == s.opt.MaxFiles+1 {
		s.unreadable(show, fmt.Sprintf("the first of the files past the limit of %d", s.opt.MaxFiles))
	}
	return s.files <= s.opt.MaxFiles
}

// reason is what went wrong without the path, which stands beside it anyway.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// result joins what was read.
func (s *session) result() (*evidence.Inventory, *telemetry.Window, error) {
	if s.opened == 0 {
		return nil, nil, &NothingReadError{Tried: s.inv.Unreadable}
	}
	s.nccl.Finish()
	s.tree.Finish()
	s.pci.Finish()
	s.affinity.Finish()
	adopt(s.inv, s.parts)
	unite(s.inv)
	nameEnds(s.inv)
	s.nameTests()
	return s.inv, timeline(s.inv, s.parts), nil
}

// nameTests gives the tables that do not say which test they are of the name of the one test that was run, where the
// command lines among the inputs run no other.
func (s *session) nameTests() {
	if len(s.tests) != 1 {
		return
	}
	for test := range s.tests {
		for i := range s.inv.Calls {
			if c := &s.inv.Calls[i]; c.Name == "" {
				c.Name, c.Kind = test, nccltests.KindOf(test)
			}
		}
		for i := range s.inv.Tables {
			if t := &s.inv.Tables[i]; t.Test == "" {
				t.Test = test
			}
		}
	}
}
