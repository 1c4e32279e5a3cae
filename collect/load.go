package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// Limits on what is read. They stand far above any collection seen and far below what would hurt.
const (
	// MaxFiles: a host's /sys/class/infiniband has up to 12 000 files (16 ports with 256 GIDs), most are logs. It holds
	// for the files in folders, and again for those in the archives of one host.
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
	Parallel     int   // how many files are read at a time; 0: GOMAXPROCS
	Connections  bool  // keep the ends of connections that NCCL logs: a large job has a hundred thousand, and a diagnosis needs none
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
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
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
// is told in the inventory's Unreadable. What comes out depends on the files and their paths alone, not on how many are
// read at a time.
func Load(paths []string, opt Options) (*evidence.Inventory, *telemetry.Window, error) {
	return LoadContext(context.Background(), paths, opt)
}

// LoadContext is Load that ends early where ctx is done. It then returns what was read so far, together with the cause.
// A read that hangs, as of a network mount that is gone, is not ended.
func LoadContext(ctx context.Context, paths []string, opt Options) (*evidence.Inventory, *telemetry.Window, error) {
	q := newQueue(opt)
	above := foldersAbove(paths)
	for _, p := range paths {
		if ctx.Err() == nil {
			q.walker().path(p, above)
		}
	}
	return q.load(ctx)
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

// LoadFS reads a whole file system as Load reads a folder, with the default limits. Its files are opened by several
// goroutines.
func LoadFS(fsys fs.FS) (*evidence.Inventory, *telemetry.Window, error) {
	q := newQueue(Options{})
	q.walker().walk(fsys, ".", root{}, 0)
	return q.load(context.Background())
}

// reason is what went wrong without the path, which stands beside it anyway.
func reason(err error) string {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "interrupted"
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

// result ends the reading of a session that has everything.
func (s *session) result() (*evidence.Inventory, *telemetry.Window, error) {
	if s.opened == 0 {
		return nil, nil, &NothingReadError{Tried: s.inv.Unreadable}
	}
	adopt(s.inv, s.parts)
	unite(s.inv)
	nameEnds(s.inv)
	nameClasses(s.inv)
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
