// Package mlxconfig owns reading mlxconfig query: the settings of an NVIDIA NIC's firmware.
package mlxconfig

import (
	"bytes"
	"io"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxSettings limits the settings kept of all inputs; one device has some three hundred.
const MaxSettings = 1 << 17

// Query reads one output (mstflint, mlxconfig):
//
//	Device #1:
//	----------
//	Device type:    ConnectX6
//	Configurations:                              Next Boot
//	         PCI_WR_ORDERING                     force_relax(1)
//
// With -e a row has default, current and next boot; the middle one is in force. Settings are named
// "mlxconfig.PCI_WR_ORDERING".
type Query struct {
	f       *fragment.Fragment
	rows    bool
	current int // which of the values is in force
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Query { return &Query{f: f} }

// Parse reads an output.
func Parse(r io.Reader, f *fragment.Fragment) error {
	q := New(f)
	return lines.Each(r, func(line []byte, n int) { q.Line(line, n) })
}

// Starts tells whether a line is the head of the settings.
func Starts(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Configurations:")) && bytes.Contains(line, []byte("Next Boot"))
}

// Line reads one line; false means that it is not of the output.
func (q *Query) Line(line []byte, n int) bool {
	if Starts(line) {
		q.rows, q.current = true, 0
		if bytes.Contains(line, []byte("Current")) {
			q.current = 1
		}
		return true
	}
	f := strings.Fields(string(line))
	if len(f) == 0 {
		return true
	}
	if !q.rows || line[0] != ' ' && line[0] != '\t' && line[0] != '*' {
		return false
	}
	if f[0] == "*" { // differs from the default
		f = f[1:]
	}
	if len(f) < 2 || strings.Trim(f[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[].") != "" {
		return false
	}
	if len(q.f.Inv.Settings) < MaxSettings {
		value := f[min(1+q.current, len(f)-1)]
		q.f.Inv.Settings = append(q.f.Inv.Settings, evidence.Setting{Name: "mlxconfig." + f[0], Object: q.f.Host, Value: value, From: q.f.At(n)})
	}
	return true
}
