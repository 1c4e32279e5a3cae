package lspci

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// The tree of lspci -t, and -tv with names (pciutils, ls-tree.c):
//
//	-+-[0000:c9]-+-00.0  Intel Corporation Device
//	 |           \-01.0-[ca-cd]----00.0-[cb-cd]--+-00.0-[cc]----00.0  NVIDIA Corporation GH100
//	 |                                           \-01.0-[cd]----00.0  Mellanox Technologies MT2910
//	 \-[0000:00]-+-00.0  Intel Corporation Device
//
// A bus stands in brackets, what is on it behind. Where several devices are on one bus their lines hang off the same
// column, so what a column belongs to is remembered from the line that opened it.
type column struct {
	at          int
	domain, bus string // of the devices that hang off it
	parent      string // the bridge in front of the bus
	root        bool   // buses of root complexes hang off it
}

// startsTree tells whether a line is the first of a tree, or one that begins at a root complex.
func startsTree(line []byte) bool {
	t := bytes.TrimLeft(line, " |+-\\")
	return len(line)-len(t) > 0 && len(line)-len(t) <= 3 && len(t) > 6 && t[0] == '[' && (t[5] == ':' || t[6] == ':') && bytes.IndexByte(line[:len(line)-len(t)], '-') >= 0
}

// inTree tells whether a line goes on with a tree.
func (d *Devices) inTree(line []byte) bool {
	t := bytes.TrimLeft(line, " |")
	return len(d.columns) > 0 && len(t) > 3 && (t[0] == '+' || t[0] == '\\') && t[1] == '-'
}

// maxColumns limits how deep a tree may branch; bus numbers have eight bits.
const maxColumns = 256

// branch reads one line of a tree.
func (d *Devices) branch(line []byte, n int) {
	var on column
	placed := false // on tells where the device stands
	last := ""      // the device read last, a bridge where a bus follows
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '+' || c == '\\':
			if !placed {
				on, placed = d.columnAt(i), true
			} else {
				d.open(i, on)
			}
			i++
		case c == '[':
			end := bytes.IndexByte(line[i:], ']')
			if end < 0 {
				return
			}
			inside := string(line[i+1 : i+end])
			if domain, bus, ok := strings.Cut(inside, ":"); ok {
				if !placed || on.root {
					d.columns = d.columns[:min(len(d.columns), 1)]
				}
				on, placed, last = column{domain: domain, bus: bus}, true, ""
			} else {
				bus, _, _ := strings.Cut(inside, "-") // "ca-cd": the buses behind it; devices are on the first
				on = column{domain: on.domain, bus: bus, parent: last}
			}
			i += end + 1
		case hexDigit(c):
			if i+4 > len(line) || line[i+2] != '.' {
				return
			}
			last = evidence.PCIAddress(on.domain + ":" + on.bus + ":" + string(line[i:i+4]))
			name := ""
			if i+6 < len(line) && line[i+4] == ' ' && line[i+5] == ' ' {
				name = string(line[i+6:])
			}
			d.add(evidence.PCINode{Address: last, Parent: on.parent, Name: name, From: d.f.At(n)})
			if name != "" {
				return
			}
			i += 4
		default:
			i++
		}
	}
}

// columnAt finds what hangs off a column; the first one is that of the root complexes.
func (d *Devices) columnAt(at int) column {
	if len(d.columns) == 0 {
		d.columns = append(d.columns, column{at: at, root: true})
	}
	for i := len(d.columns) - 1; i >= 0; i-- {
		if d.columns[i].at == at {
			d.columns = d.columns[:i+1]
			return d.columns[i]
		}
	}
	return column{}
}

// open remembers what hangs off a column from here on.
func (d *Devices) open(at int, on column) {
	on.at = at
	for len(d.columns) > 0 && d.columns[len(d.columns)-1].at >= at {
		d.columns = d.columns[:len(d.columns)-1]
	}
	if len(d.columns) < maxColumns {
		d.columns = append(d.columns, on)
	}
}

func hexDigit(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
