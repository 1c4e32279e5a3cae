package collect

import (
	"io"
	"path"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/irq"
	"github.com/shunt-network/shunt/collect/limits"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/collect/system"
	"github.com/shunt-network/shunt/evidence"
)

// leaf is a file of a copied /sys or /proc tree: its path tells what it is, its content is one value. Such a tree is
// listed once, not each of its thousands of files.
type leaf struct {
	format Format
	root   string // the folder it is listed as
	above  string // what stands above the file, where hosts and moments are named
	key    leafKey
	read   func(f *fragment.Fragment, value []byte, n int) // n is the line it stands on, 0 for a file of its own
}

// leafKey tells leaves apart. The same one turns up twice in a copy of all of /sys, below class and below devices.
type leafKey struct{ kind, name, file string }

// leafOf finds out whether a path is one of a leaf.
func (s *session) leafOf(name string) (leaf, bool) {
	if at, ok := sysfs.Locate(name); ok {
		root := at.Root
		return leaf{Sysfs, root, path.Dir(root), leafKey{"infiniband", at.Device, name[len(root):]}, func(f *fragment.Fragment, value []byte, n int) { s.tree.File(f, at, value, n) }}, true
	}
	if address, parent, file, ok := sysfs.LocatePCI(name); ok {
		root := folderAbove(name, "sys")
		return leaf{SysfsPCI, root, path.Dir(root), leafKey{"pci", address, parent + file}, func(f *fragment.Fragment, value []byte, n int) { s.pci.File(f, address, parent, file, value, n) }}, true
	}
	if netdev, file, ok := sysfs.LocateNet(name); ok {
		root := folderAbove(name, "sys")
		return leaf{SysfsNet, root, path.Dir(root), leafKey{"net", netdev, file + sysfs.AddressIn(name)}, func(f *fragment.Fragment, value []byte, n int) { sysfs.NetFile(f, netdev, file, name, value, n) }}, true
	}
	if number, file, ok := irq.Locate(name); ok {
		root := folderAbove(name, "irq")
		return leaf{IRQAffinity, root, path.Dir(root), leafKey{"irq", name, ""}, func(f *fragment.Fragment, value []byte, n int) { s.affinity.File(f, number, file, value, n) }}, true
	}
	if parameter, ok := limits.LocateSysctl(name); ok {
		root := folderAbove(name, "proc")
		return leaf{Sysctl, root, path.Dir(root), leafKey{"sysctl", parameter, ""}, func(f *fragment.Fragment, value []byte, n int) { limits.SysctlFile(f, parameter, value, n) }}, true
	}
	for file, read := range procFiles {
		if name == file || strings.HasSuffix(name, "/"+file) {
			root := folderAbove(name, "proc")
			return leaf{SystemFacts, root, path.Dir(root), leafKey{"proc", file, ""}, read}, true
		}
	}
	return leaf{}, false
}

// procFiles are files of /proc that hold one value and are told by their path.
var procFiles = map[string]func(f *fragment.Fragment, value []byte, n int){"proc/cmdline": system.CmdlineFile, "proc/uptime": system.UptimeFile}

// folderAbove is a path up to and with the last folder of a name.
func folderAbove(name, folder string) string {
	if i := strings.LastIndex("/"+name+"/", "/"+folder+"/"); i >= 0 {
		return name[:min(i+len(folder), len(name))]
	}
	return path.Dir(name)
}

// copied is one leaf that was read.
type copied struct {
	host string
	key  leafKey
	when moment
}

// leafFile reads one file of a copied tree.
func (s *session) leafFile(f *fragment.Fragment, l leaf, r io.Reader, in input) {
	key := copied{f.Host, l.key, momentOf(l.above + "/")}
	if s.copied[key] {
		return
	}
	s.copied[key] = true
	value, err := io.ReadAll(io.LimitReader(r, sysfs.MaxValue))
	if err != nil {
		s.unreadable(f.File, reason(err))
		return
	}
	root := in.show
	if rest, ok := strings.CutPrefix(in.name, l.root); ok {
		root = strings.TrimSuffix(in.show, rest)
	}
	if tree := string(l.format) + root; !s.trees[tree] {
		s.trees[tree] = true
		s.inv.Files = append(s.inv.Files, evidence.File{Path: root, Format: string(l.format), Host: f.Host})
	}
	l.read(f, value, 0)
}
