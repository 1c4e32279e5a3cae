package collect

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// item is a file that a walk met, or a place where it could not go on.
type item struct {
	input
	fsys fs.FS  // nil for standard input
	file string // in fsys
	why  string // it is not read; "" where it is
	once bool   // it cannot be read a second time: a pipe
}

// walker goes through folders, in the order of the names.
type walker struct {
	opt Options
	met func(item)
}

// root is where a walk began.
type root struct {
	show   string // how the user wrote it
	name   string // the folder's name where it tells something, else ""
	host   string // the host everything below is of, "" where no file tells
	below  string // the folder whose files told the host
	layers int    // archives the walk is inside of
}

// path goes through one path a user gave.
func (w walker) path(p string, above map[string]string) {
	if p == "-" {
		w.met(item{input: input{name: "standard input", show: "standard input"}, once: true})
		return
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		w.unread(p, reason(err))
	case info.IsDir():
		w.walk(os.DirFS(p), ".", root{show: p, name: above[p]}, 0)
	default:
		clean := filepath.ToSlash(filepath.Clean(p))
		w.met(item{
			input: input{name: path.Join(above[p], path.Base(clean)), show: clean}, fsys: os.DirFS(filepath.Dir(p)), file: path.Base(clean), once: !info.Mode().IsRegular(),
		})
	}
}

// walk goes through a folder. Links to folders are followed below a folder named infiniband alone, where /sys/class keeps
// its devices behind links; elsewhere they lead in circles.
func (w walker) walk(fsys fs.FS, dir string, from root, depth int) {
	if depth > w.opt.MaxDepth {
		w.unread(join(from.show, dir), fmt.Sprintf("more than %d folders deep", w.opt.MaxDepth))
		return
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		w.unread(join(from.show, dir), reason(err))
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
				w.unread(join(from.show, name), reason(err))
				continue
			}
			if mode = info.Mode().Type(); mode.IsDir() && path.Base(dir) != "infiniband" {
				continue
			}
		}
		switch {
		case mode.IsDir():
			w.walk(fsys, name, from, depth+1)
		case mode.IsRegular():
			w.met(item{input: from.input(name), fsys: fsys, file: name})
		default:
			w.unread(join(from.show, name), "not a regular file")
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

func (w walker) unread(show, why string) { w.met(item{input: input{show: show}, why: why}) }
