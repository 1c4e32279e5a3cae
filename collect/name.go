package collect

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// People name files after what is in them: node1_ibstat.txt, node1/ethtool_S.txt, ibv_devinfo_node2.txt,
// ethtool_S_mlx5_0_before.txt, ethtool_S_after_10s.txt. What a name tells is used where the content does not.

// hostOf is the host a path speaks of, "" where none: a part of the file's name, else the nearest folder, that
// looks like a host.
func hostOf(name string) string {
	dir, base := path.Split(name)
	if host := debugFileHost(base); host != "" {
		return host
	}
	base = strings.TrimSuffix(base, path.Ext(base))
	for _, token := range strings.Split(withoutDevice(base), "_") {
		if hostLike(token) {
			return short(token)
		}
		for i, part := range strings.Split(token, ".") { // dmesg.node9.txt, ethtool_S_ens3np0.node3.txt
			if i > 0 && hostLike(part) && !driver(part) {
				return part
			}
		}
	}
	parts := strings.Split(strings.Trim(dir, "/"), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if host := sosHost(parts[i]); host != "" {
			return host
		}
		if hostLike(parts[i]) && deviceOf(parts[i]) == "" {
			return short(parts[i])
		}
	}
	return ""
}

// debugFileHost reads the host from the names people give NCCL_DEBUG_FILE, whose %h becomes the host and %p the process
// (ncclDebugInit in src/debug.cc of NCCL): nccl.%h.%p, nccl.%h.%p.log, and the inspector's HOST-pidNUMBER.log.
func debugFileHost(base string) string {
	base = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".txt"), ".jsonl"), ".log")
	if host, pid, ok := strings.Cut(base, "-pid"); ok && digits(pid) {
		return short(host)
	}
	parts := strings.Split(base, ".")
	n := len(parts)
	if n < 3 || !digits(parts[n-1]) || len(parts[n-1]) < 2 { // one digit is a rotated log's
		return ""
	}
	for _, p := range parts[1 : n-1] {
		if hostLike(p) {
			return p
		}
	}
	return ""
}

// short is a host's name without its domain, as NCCL prints it and evidence keeps it.
func short(host string) string {
	host, _, _ = strings.Cut(host, ".")
	return host
}

// hostLike tells whether a word can be a host's name: it begins with a letter, ends in a digit, and is neither a
// moment, a device, a model of a GPU nor the name of a tool. A host named "alpha" is not found, and nothing is
// invented.
func hostLike(w string) bool {
	w = short(w)
	if len(w) < 2 || !letter(w[0]) || w[len(w)-1] < '0' || w[len(w)-1] > '9' {
		return false
	}
	stem := strings.TrimRight(w, "0123456789")
	stem = strings.TrimRight(strings.ToLower(stem), "-")
	if notHosts[stem] || strings.HasSuffix(stem, "-v") || strings.HasPrefix(stem, "sys-class") {
		return false
	}
	for part := range strings.SplitSeq(w, "-") {
		if deviceLike(part) {
			return false
		}
	}
	return true
}

// notHosts are words that a number follows in the names of files without making them hosts.
var notHosts = map[string]bool{
	"t": true, "v": true, "s": true, "x": true, "p": true, "r": true, "step": true, "run": true, "sample": true, "test": true, "case": true, "job": true, "rank": true,
	"before": true, "after": true, "during": true, "day": true, "round": true, "try": true, "attempt": true, "iter": true, "part": true, "pass": true,
	"a": true, "h": true, "b": true, "l": true, "gb": true, "mi": true, "gaudi": true, // A100, H200, B200, L40, GB200, MI300
	"nccl": true, "rccl": true, "cuda": true, "ofed": true, "ib": true, "ipv": true, "log": true, "out": true, "stdout": true, "stderr": true, "trial": true, "exp": true,
	"cluster": true, "bundle": true, "dump": true, "data": true, "capture": true, "output": true, "result": true, "results": true, "set": true, "issue": true, "ticket": true,
	"bug": true, "incident": true, "session": true, "fabric": true, "site": true, "rack": true, "user": true, "tmp": true,
}

// driver tells whether a word is the name of a driver for RDMA, as in mlx5_core.
func driver(w string) bool {
	return slices.ContainsFunc(rdmaDevices, func(p string) bool { return strings.HasPrefix(p, w+"_") || p == w })
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// deviceOf is the RDMA device or interface a path's last part speaks of, "" where none.
func deviceOf(name string) string {
	base := path.Base(name)
	base = strings.TrimSuffix(base, path.Ext(base))
	if i := rdmaDevice(base); i >= 0 {
		return base[i : i+rdmaLength(base[i:])]
	}
	for _, token := range strings.FieldsFunc(base, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		if deviceLike(token) {
			return token
		}
	}
	return ""
}

func withoutDevice(base string) string {
	if i := rdmaDevice(base); i >= 0 {
		return strings.Trim(base[:i]+base[i+rdmaLength(base[i:]):], "_")
	}
	return base
}

// rdmaDevices begin the names of RDMA devices: mlx5_0, mlx5_bond_0, mlx4_0, bnxt_re0, irdma0, hfi1_0, ionic_0.
var rdmaDevices = []string{"mlx5_bond_", "mlx5_ib", "mlx5_", "mlx4_", "bnxt_re", "irdma", "hfi1_", "ionic_", "efa_"}

// rdmaDevice is where the name of an RDMA device begins in s, -1 where there is none.
func rdmaDevice(s string) int {
	for _, p := range rdmaDevices {
		if i := strings.Index(s, p); i >= 0 && i+len(p) < len(s) && s[i+len(p)] >= '0' && s[i+len(p)] <= '9' {
			return i
		}
	}
	return -1
}

func rdmaLength(s string) int {
	for _, p := range rdmaDevices {
		if strings.HasPrefix(s, p) {
			n := len(p)
			for n < len(s) && s[n] >= '0' && s[n] <= '9' {
				n++
			}
			return n
		}
	}
	return 0
}

// netdevs begin the names systemd and the kernel give to interfaces (systemd.net-naming-scheme(7)), and those of switch
// ports where switchdev drivers name them (swp1).
var netdevs = []string{"eth", "ens", "enp", "eno", "enx", "ibp", "ibs", "ib", "bond", "rdma", "hsn", "net", "swp"}

// deviceLike tells whether a word is the name of an interface: a known beginning, then a digit.
func deviceLike(w string) bool {
	for _, p := range netdevs {
		if rest, ok := strings.CutPrefix(w, p); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return rdmaDevice(w) == 0
}

// moment is when a file was made in relation to others like it.
type moment struct {
	order   int
	known   bool // the name tells the order
	elapsed units.Duration
	timed   bool // and how much time had passed
}

// The order of the words for moments. Numbers (t0, sample2) order by themselves, and a span alone (_10s) is after.
const (
	momentBefore = iota
	momentDuring
	momentAfter
)

// momentOf reads the moment off a path: ethtool_before.txt, ethtool_after_10s.txt, ethtool_t1.txt, ethtool_2.txt, or
// the folder before/ or t0/ a whole collection stands in.
func momentOf(name string) moment {
	dir, base := path.Split(name)
	if m := momentIn(strings.TrimSuffix(base, path.Ext(base)), append(counted[:], "")); m.known {
		return m
	}
	folders := strings.Split(strings.Trim(dir, "/"), "/")
	for i := len(folders) - 1; i >= 0; i-- {
		if m := momentIn(folders[i], counted[:]); m.known {
			return m
		}
	}
	return moment{}
}

// momentIn reads the moment off one name. A number counts behind one of the words; behind "" it counts alone, which is
// right for files and wrong for folders, where numbers are ports, addresses and jobs.
func momentIn(name string, words []string) moment {
	var m moment
	number, numbered := 0, false
	for _, token := range strings.FieldsFunc(strings.ToLower(withoutDevice(name)), func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		if order, ok := moments[token]; ok {
			m.order, m.known = order, true
			continue
		}
		if d, ok := span(strings.TrimPrefix(strings.TrimPrefix(token, "after"), "t")); ok {
			m.elapsed, m.timed = d, true
			continue
		}
		for _, p := range words {
			digits, ok := strings.CutPrefix(token, p)
			if n, err := strconv.ParseUint(digits, 10, 40); ok && err == nil {
				number, numbered = int(n), true
				break
			}
		}
	}
	switch {
	case m.known:
	case m.timed:
		m.order, m.known = momentAfter, true
	case numbered:
		m.order, m.known = number, true
	}
	return m
}

// moments are the words for moments, in their order.
var moments = map[string]int{
	"before": momentBefore, "pre": momentBefore, "start": momentBefore, "begin": momentBefore, "baseline": momentBefore,
	"during": momentDuring, "mid": momentDuring,
	"after": momentAfter, "post": momentAfter, "end": momentAfter,
}

// counted are the words a number follows when it counts moments.
var counted = [...]string{"sample", "snapshot", "snap", "round", "iter", "step", "t", "s"}

// span reads "10s", "500ms", "5min".
func span(s string) (units.Duration, bool) {
	for _, u := range []struct {
		name string
		unit units.Duration
	}{{"ms", units.Millisecond}, {"sec", units.Second}, {"s", units.Second}, {"min", 60 * units.Second}, {"m", 60 * units.Second}} {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseUint(digits, 10, 20) // a million seconds are 12 days, and stay within picoseconds
			return units.Duration(n) * u.unit, err == nil
		}
	}
	return 0, false
}
