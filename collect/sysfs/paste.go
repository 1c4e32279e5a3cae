package sysfs

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Paste reads "path:value" and "path: value" lines, and what ls says of a directory that is not there:
//
//	/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:2705
//	ls: cannot access '/sys/class/infiniband/bnxt_re0/ports/1/counters': No such file or directory
type Paste struct {
	f    *fragment.Fragment
	tree *Tree
}

// NewPaste makes a reader that gathers in tree, whose Finish is called after the last line.
func NewPaste(f *fragment.Fragment, tree *Tree) *Paste { return &Paste{f, tree} }

var root = []byte("/sys/class/infiniband/")

// StartsPaste tells whether a line speaks of a file of the tree.
func StartsPaste(line []byte) bool { return bytes.Contains(line, root) }

// Line reads one line; false means that it does not speak of the tree.
func (p *Paste) Line(line []byte, n int) bool {
	i := bytes.Index(line, root)
	if i < 0 {
		return len(bytes.TrimSpace(line)) == 0
	}
	rest := line[i:]
	if end := bytes.Index(rest, []byte("': ")); end >= 0 { // quoted by ls, cat and grep in their errors
		p.absent(string(rest[:end]), string(bytes.TrimSpace(rest[end+3:])), n)
		return true
	}
	name, value, ok := bytes.Cut(rest, []byte(":"))
	if !ok {
		if name, value, ok = bytes.Cut(rest, []byte(" ")); !ok {
			return true // a path alone
		}
	}
	if at, ok := Locate(string(bytes.TrimSpace(name))); ok {
		p.tree.File(p.f, at, value, n)
	}
	return true
}

// absent notes that a file or directory could not be read.
func (p *Paste) absent(name, why string, n int) {
	at, ok := Locate(name)
	if !ok || at.Port == 0 {
		return
	}
	nic := p.f.TheHost().NIC(at.Device, at.Port)
	if (at.Name == "counters" || at.Name == "hw_counters") && !nic.Counters.Known() {
		nic.Counters = evidence.Missing[string](why, p.f.At(n))
	}
}
