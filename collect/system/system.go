// Package system owns reading what a host runs: its kernel and how that was started, the distribution, the RDMA
// software, and for how long.
package system

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Facts reads lines that stand by themselves:
//
//	Linux node1 5.15.0-105-generic #115-Ubuntu SMP Mon Apr 15 09:52:04 UTC 2024 x86_64 GNU/Linux     uname -a
//	Linux version 5.15.0-105-generic (buildd@host) (gcc ...) #115-Ubuntu SMP                         /proc/version
//	BOOT_IMAGE=/vmlinuz-5.15.0-105-generic root=UUID=.. ro iommu=pt                                  /proc/cmdline
//	MLNX_OFED_LINUX-24.04-0.6.6.0:                                                                   ofed_info -s
//	PRETTY_NAME="Ubuntu 22.04.4 LTS"                                                                 /etc/os-release
//	10:13:20 up 41 days,  1:51,  2 users,  load average: 0.10, 0.20, 0.30                            uptime
type Facts struct{ f *fragment.Fragment }

// New makes a reader for one input.
func New(f *fragment.Fragment) *Facts { return &Facts{f} }

// Starts tells whether a line is one of them.
func Starts(line []byte) bool {
	switch {
	case bytes.HasPrefix(line, []byte("Linux ")):
		return bytes.HasPrefix(line, []byte("Linux version ")) || bytes.HasSuffix(bytes.TrimSpace(line), []byte("GNU/Linux"))
	case bytes.HasPrefix(line, []byte("BOOT_IMAGE=")), bytes.HasPrefix(line, []byte("PRETTY_NAME=")):
		return true
	case bytes.HasPrefix(line, []byte("MLNX_OFED_LINUX-")), bytes.HasPrefix(line, []byte("OFED-internal-")), bytes.HasPrefix(line, []byte("DOCA-OFED-")):
		return bytes.HasSuffix(bytes.TrimSpace(line), []byte(":"))
	}
	return bytes.Contains(line, []byte(" load average: ")) && bytes.Contains(line, []byte(" up "))
}

// Line reads one line; false means that it is none of them.
func (r *Facts) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	at := r.f.At(n)
	if !Starts(line) {
		return t == ""
	}
	h := r.f.TheHost()
	words := strings.Fields(t)
	switch {
	case strings.HasPrefix(t, "Linux version ") && len(words) > 2:
		Version(h, "kernel", words[2], at)
	case strings.HasPrefix(t, "Linux ") && len(words) > 3:
		if r.f.Host == "" {
			r.f.Host, _, _ = strings.Cut(words[1], ".")
			h = r.f.TheHost()
		}
		Version(h, "kernel", words[2], at)
	case strings.HasPrefix(t, "BOOT_IMAGE="):
		Version(h, "cmdline", t, at)
	case strings.HasPrefix(t, "PRETTY_NAME="):
		Version(h, "distribution", strings.Trim(t[len("PRETTY_NAME="):], `"`), at)
	case strings.HasSuffix(t, ":"):
		Version(h, "MLNX_OFED", strings.TrimSuffix(t, ":"), at)
	default:
		if d, ok := uptime(t); ok {
			h.Uptime = evidence.Known(d, at)
		}
	}
	return true
}

// Version keeps a version under its name.
func Version(h *evidence.Host, name, value string, at evidence.Source) {
	const longest = 4096 // of a command line: COMMAND_LINE_SIZE is 2048 on x86
	if h.Versions == nil {
		h.Versions = map[string]evidence.Value[string]{}
	}
	h.Versions[name] = evidence.Known(value[:min(len(value), longest)], at)
}

// uptime reads "10:13:20 up 41 days,  1:51,  2 users, ..." (procps, uptime.c), in its forms: "up 5 min", "up  1:51".
func uptime(t string) (seconds int64, ok bool) {
	_, rest, _ := strings.Cut(t, " up ")
	for part := range strings.SplitSeq(rest, ",") {
		part = strings.TrimSpace(part)
		number, unit, _ := strings.Cut(part, " ")
		v, err := strconv.ParseUint(number, 10, 16)
		hours, minutes, clock := strings.Cut(part, ":")
		switch {
		case err == nil && strings.HasPrefix(unit, "day"):
			seconds, ok = seconds+int64(v)*24*hour, true
		case err == nil && strings.HasPrefix(unit, "min"):
			return seconds + int64(v)*60, true
		case clock:
			a, err1 := strconv.ParseUint(strings.TrimSpace(hours), 10, 8)
			b, err2 := strconv.ParseUint(minutes, 10, 8)
			if err1 == nil && err2 == nil {
				return seconds + int64(a)*hour + int64(b)*60, true
			}
			return seconds, ok
		default:
			return seconds, ok
		}
	}
	return seconds, ok
}

const hour = 3600

// CmdlineFile reads /proc/cmdline where its path tells what it is: not every loader puts BOOT_IMAGE first.
func CmdlineFile(f *fragment.Fragment, value []byte, n int) {
	if t := strings.TrimSpace(string(value)); t != "" {
		Version(f.TheHost(), "cmdline", t, f.At(n))
	}
}

// UptimeFile reads /proc/uptime: "350735.47 234388.90", of which the first is seconds since the start.
func UptimeFile(f *fragment.Fragment, value []byte, n int) {
	first, _, _ := strings.Cut(strings.TrimSpace(string(value)), " ")
	if s, err := strconv.ParseFloat(first, 64); err == nil && s >= 0 && s < 1e12 {
		f.TheHost().Uptime = evidence.Known(int64(s), f.At(n))
	}
}
