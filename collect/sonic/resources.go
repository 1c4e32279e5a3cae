package sonic

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Resources reads crm show resources (sonic-utilities, crm/main.py): how much of the chip's tables is in use. There are three
// tables; ACL entries are counted by ACL table.
//
//	Resource Name           Used Count    Available Count
//	--------------------  ------------  -----------------
//	nexthop_group_member           512              32256
//
//	Stage    Bind Point    Resource Name      Used Count    Available Count
//	INGRESS  PORT          acl_group                  16                 232
//
//	Table ID         Resource Name      Used Count    Available Count
//	0x70000000005c6  acl_entry                1023                  1
type Resources struct {
	f *fragment.Fragment
	table
}

// NewResources makes a reader for one output.
func NewResources(f *fragment.Fragment) *Resources { return &Resources{f: f} }

// StartsResources tells whether a line is the head of one of the tables.
func StartsResources(line []byte) bool {
	return bytes.Contains(line, []byte("Resource Name")) && bytes.Contains(line, []byte("Used Count")) && bytes.Contains(line, []byte("Available Count"))
}

// Line reads one line; false means that it is not of the table.
func (r *Resources) Line(line []byte, n int) bool {
	switch {
	case StartsResources(line):
		r.head, r.columns = split(line), nil
		return true
	case r.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := r.cells(line)
	name := r.cell(row, "Resource Name")
	used, ok1 := counterOf(r.cell(row, "Used Count"))
	free, ok2 := counterOf(r.cell(row, "Available Count"))
	if !isResource(name) || !ok1 || !ok2 || used > maxInChip || free > maxInChip {
		return false
	}
	table := r.cell(row, "Table ID")
	if stage := r.cell(row, "Stage"); stage != "" {
		table = stage + " " + r.cell(row, "Bind Point")
	}
	at := r.f.At(n)
	h := r.f.Inv.Switch(r.f.Host).HardwareTable(name, table)
	h.Used, h.Available, h.From = evidence.Known(int64(used), at), evidence.Known(int64(free), at), at
	return true
}

// maxInChip is more than any chip has in one table; a larger number is none.
const maxInChip = 1 << 32

// isResource tells whether a cell names a table: small letters, digits and underscores, as crm has them.
func isResource(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
