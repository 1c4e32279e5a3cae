package nccl

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxDiagnostics limits the lines kept of all reports: a report has some ten a communicator.
const MaxDiagnostics = 1 << 14

var diagWord = []byte("NCCL DIAG ")

// diag reads a line of NCCL's diagnostics (src/ras/diagnostics*.cc and src/include/diagnostics_log.h, NCCL 2.31 on):
//
//	node1:12345 NCCL DIAG === RAS Diagnostics ===
//	node1:12345 NCCL DIAG [OK]   NVLink: found 18 link(s) per device, all active across 8 ranks in comm 0x1234
//	node1:12345 NCCL DIAG [INFO] NCCL environment: NCCL_IB_HCA=mlx5_0 on rank(s) {4,5,6,7}
//	node1:12345 NCCL DIAG [INFO] Net device mlx5_0:1: rank(s) {8,9,...} (N=64) differ from rank 0 (net device type=Host, ...
//	node1:12345 NCCL DIAG [INFO] Xid 79 detected 1 time on host node3. The NVIDIA Xid catalog recommends ...
//
// The process is that of rank 0, or the one that was asked; what it speaks of may be any.
func (l *Log) diag(f *fragment.Fragment, left, text []byte, n int) Source {
	if _, token := lastToken(left); len(token) > 0 {
		if i := bytes.LastIndexByte(token, ':'); i > 0 {
			host := token[:i]
			for j := len(host) - 1; j >= 0; j-- {
				if !hostByte(host[j]) { // what the launcher put before it
					host = host[j+1:]
					break
				}
			}
			l.Host = l.name(before(host, "."))
		}
	}
	d := evidence.Diagnostic{Host: l.Host, From: f.At(n)}
	if d.Host == "" {
		d.Host = f.Host
	}
	t := string(bytes.TrimSpace(text))
	switch {
	case strings.HasPrefix(t, "[OK]"):
		d.OK, t = true, t[len("[OK]"):]
	case strings.HasPrefix(t, "[INFO]"):
		t = t[len("[INFO]"):]
	case strings.HasPrefix(t, "ERROR: "): // the report could not be made
		d.Check, d.Text = "diagnostics", t[len("ERROR: "):]
		l.keepDiag(d)
		return Checks
	default:
		return Checks // the first line and the last
	}
	t = strings.TrimSpace(t)
	d.Check, d.Text = checkOf(t)
	if _, comm, ok := strings.Cut(t, "comm 0x"); ok {
		d.Comm = comm[:len(comm)-len(strings.TrimLeft(comm, "0123456789abcdef"))]
	}
	d.Ranks, d.Of = rankSet(t)
	if d.Check == "NCCL environment" {
		if setting, _, ok := cutLast(d.Text, " on rank(s) "); ok {
			d.Name, d.Value, _ = strings.Cut(setting, "=")
		}
	}
	l.keepDiag(d)
	return Checks
}

func (l *Log) keepDiag(d evidence.Diagnostic) {
	if to := &l.inv.NCCL; len(to.Diagnostics) < MaxDiagnostics {
		to.Diagnostics = append(to.Diagnostics, d)
	}
}

// checkOf parts the name of a check from what it says. A device has a colon in its name, and the events of the kernel
// log stand without a name.
func checkOf(t string) (check, text string) {
	if rest, ok := strings.CutPrefix(t, "Net device "); ok {
		if name, text, ok := strings.Cut(rest, ": "); ok && !strings.Contains(name, " ") {
			return "Net device " + name, text
		}
	}
	if strings.HasPrefix(t, "Xid ") || strings.HasPrefix(t, "SXid ") {
		return "Xid/SXid", t
	}
	check, text, ok := strings.Cut(t, ": ")
	if !ok {
		return "", t
	}
	return check, text
}

// cutLast cuts at the last separator: a value may hold anything.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// rankSet reads "rank(s) {8,9,...} (N=64)" (rasDiagnosticsFormatRankSet). With names of more than eight ranks the number
// of all stands behind.
func rankSet(t string) (ranks []int, of int) {
	what, set, ok := cutLast(t, "{")
	if !ok || strings.HasSuffix(what, "link(s) ") { // of an NVSwitch
		return nil, 0
	}
	inside, rest, ok := strings.Cut(set, "}")
	if !ok {
		return nil, 0
	}
	for part := range strings.SplitSeq(inside, ",") {
		if v, left, ok := number([]byte(part)); ok && len(left) == 0 {
			ranks = append(ranks, v)
		} else if part != "..." {
			return nil, 0
		}
	}
	of = len(ranks)
	if all, ok := strings.CutPrefix(strings.TrimSpace(rest), "(N="); ok {
		if v, _, ok := number([]byte(all)); ok {
			of = v
		}
	}
	return ranks, of
}
