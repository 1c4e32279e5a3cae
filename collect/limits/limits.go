// Package limits owns reading what a host allows a process: locked memory (ulimit), the size of /dev/shm (df) and
// kernel parameters (sysctl).
package limits

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Memlock reads the limit on locked memory, in KiB or "unlimited":
//
//	$ ulimit -l
//	8192
//	max locked memory       (kbytes, -l) 65536                      ulimit -a
//	Max locked memory         8388608      8388608      bytes       /proc/PID/limits
type Memlock struct {
	f     *fragment.Fragment
	asked bool // "ulimit -l" stood before: a number alone is the answer
}

// NewMemlock makes a reader for one output.
func NewMemlock(f *fragment.Fragment) *Memlock {
	return &Memlock{f: f, asked: strings.Contains(f.File, "ulimit") || strings.Contains(f.File, "memlock")}
}

// StartsMemlock tells whether a line asks for the limit or tells it, or begins ulimit -a.
func StartsMemlock(line []byte) bool {
	return bytes.Contains(line, []byte("ulimit -l")) || bytes.HasPrefix(line, []byte("max locked memory")) || bytes.HasPrefix(line, []byte("Max locked memory")) ||
		bytes.HasPrefix(line, []byte("core file size ")) || bytes.HasPrefix(line, []byte("real-time non-blocking time ")) || bytes.HasPrefix(line, []byte("open files "))
}

// limit reads a line of ulimit -a (bash, builtins/ulimit.def): "open files                          (-n) 1024".
func limit(t string) (name, value string, ok bool) {
	name, rest, ok := strings.Cut(t, "(")
	_, value, ok2 := strings.Cut(rest, ")")
	if !ok || !ok2 || !strings.Contains(rest, "-") {
		return "", "", false
	}
	return strings.TrimSpace(name), strings.TrimSpace(value), name != "" && value != ""
}

// MaxLimits is how many limits are kept of one host; bash knows 17.
const MaxLimits = 64

// Line reads one line; false means that it is not of the output.
func (m *Memlock) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	h := m.f.TheHost()
	if name, value, ok := limit(t); ok {
		if h.Limits == nil {
			h.Limits = map[string]evidence.Value[string]{}
		}
		if len(h.Limits) < MaxLimits {
			h.Limits[name] = evidence.Known(value, m.f.At(n))
		}
		if name == "max locked memory" {
			m.limit(h, value, n)
		}
		return true
	}
	switch {
	case strings.HasSuffix(t, "ulimit -l"):
		m.asked = true
	case strings.HasPrefix(t, "max locked memory"):
		fields := strings.Fields(t)
		m.limit(h, fields[len(fields)-1], n)
	case strings.HasPrefix(t, "Max locked memory"):
		fields := strings.Fields(t)
		if len(fields) < 5 {
			return true
		}
		soft := fields[3]
		if v, err := strconv.ParseUint(soft, 10, 64); err == nil {
			soft = strconv.FormatUint(v/1024, 10) // this file tells bytes
		}
		m.limit(h, soft, n)
	case m.asked && t != "":
		m.asked = false
		return m.limit(h, t, n)
	default:
		return t == ""
	}
	return true
}

func (m *Memlock) limit(h *evidence.Host, v string, n int) bool {
	if _, err := strconv.ParseUint(v, 10, 64); err != nil && v != "unlimited" {
		return false
	}
	h.Memlock = evidence.Known(v, m.f.At(n))
	return true
}

// DF reads df, of which /dev/shm alone matters:
//
//	Filesystem      Size  Used Avail Use% Mounted on
//	shm              64M   64M     0 100% /dev/shm
type DF struct {
	f    *fragment.Fragment
	unit units.Bytes // of a bare number
}

// NewDF makes a reader for one output.
func NewDF(f *fragment.Fragment) *DF { return &DF{f: f, unit: 1024} }

// StartsDF tells whether a line is the head of df.
func StartsDF(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Filesystem ")) && bytes.Contains(line, []byte("Mounted on"))
}

// Line reads one line; false means that it is not of df.
func (d *DF) Line(line []byte, n int) bool {
	fields := strings.Fields(string(line))
	if len(fields) == 0 {
		return true
	}
	if fields[0] == "Filesystem" {
		d.unit = 1024
		if len(fields) > 1 && fields[1] == "1M-blocks" {
			d.unit = units.MiB
		}
		return true
	}
	if len(fields) < 6 {
		return false
	}
	if fields[5] != "/dev/shm" {
		return strings.HasPrefix(fields[5], "/")
	}
	size := fields[1]
	if v, err := strconv.ParseInt(size, 10, 40); err == nil && v >= 0 {
		d.f.TheHost().Shm = evidence.Known(units.Bytes(v)*d.unit, d.f.At(n))
	} else if b, err := units.ParseBytes(strings.TrimSuffix(size, "i")); err == nil {
		d.f.TheHost().Shm = evidence.Known(b, d.f.At(n))
	}
	return true
}

// Sysctl reads "net.ipv4.conf.all.arp_ignore = 0" and the same with "=" alone.
type Sysctl struct{ f *fragment.Fragment }

// MaxSysctl limits the parameters kept of one host; sysctl -a prints some thousand.
const MaxSysctl = 1 << 13

// NewSysctl makes a reader for one output.
func NewSysctl(f *fragment.Fragment) *Sysctl { return &Sysctl{f} }

var branches = [][]byte{[]byte("net."), []byte("vm."), []byte("kernel."), []byte("fs."), []byte("user."), []byte("dev.")}

// StartsSysctl tells whether a line is a kernel parameter.
func StartsSysctl(line []byte) bool {
	for _, b := range branches {
		if bytes.HasPrefix(line, b) {
			_, _, ok := parameter(line)
			return ok
		}
	}
	return false
}

func parameter(line []byte) (name, value string, ok bool) {
	n, v, ok := bytes.Cut(line, []byte("="))
	name = string(bytes.TrimSpace(n))
	return name, string(bytes.TrimSpace(v)), ok && name != "" && !strings.ContainsAny(name, " \t:")
}

// Line reads one line; false means that it is no parameter.
func (s *Sysctl) Line(line []byte, n int) bool {
	if !StartsSysctl(line) {
		return len(bytes.TrimSpace(line)) == 0
	}
	name, value, _ := parameter(line)
	if h := s.f.TheHost(); len(h.Sysctl) < MaxSysctl {
		h.Sysctl[name] = evidence.Known(value, s.f.At(n))
	}
	return true
}

// LocateSysctl finds the parameter a file of /proc/sys is of: proc/sys/net/core/rmem_max is net.core.rmem_max; ok is
// false for any other path.
func LocateSysctl(p string) (name string, ok bool) {
	i := strings.LastIndex("/"+p, "/proc/sys/")
	if i < 0 {
		return "", false
	}
	name = ("/" + p)[i+len("/proc/sys/"):]
	return strings.ReplaceAll(name, "/", "."), name != ""
}

// SysctlFile reads a file of /proc/sys.
func SysctlFile(f *fragment.Fragment, name string, value []byte, n int) {
	if h := f.TheHost(); len(h.Sysctl) < MaxSysctl {
		h.Sysctl[name] = evidence.Known(strings.Join(strings.Fields(string(value)), " "), f.At(n))
	}
}
