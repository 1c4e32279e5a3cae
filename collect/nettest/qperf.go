package nettest

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Qperf reads qperf (qperf.c; the tests are named in its help):
//
//	tcp_bw:
//	    bw  =  4.45 GB/sec
//	rc_rdma_write_lat:
//	    latency  =  1.9 us
//
// Its units are decimal. It does not name the peer: the command before it does.
type Qperf struct {
	f    *fragment.Fragment
	peer string
	at   int // index into Inv.NetTests, -1 before the first
}

// NewQperf makes a reader for one output.
func NewQperf(f *fragment.Fragment) *Qperf { return &Qperf{f: f, at: -1} }

// testNames begin the names of qperf's tests.
var testNames = []string{"tcp_", "udp_", "sctp_", "sdp_", "rds_", "rc_", "uc_", "ud_", "xrc_", "ver_rc_"}

// StartsQperf tells whether a line is the name of a test, or the command.
func StartsQperf(line []byte) bool {
	return testName(line) != "" || bytes.HasPrefix(line, []byte("qperf "))
}

func testName(line []byte) string {
	name, ok := strings.CutSuffix(string(line[:min(len(line), 64)]), ":")
	if !ok || strings.ContainsAny(name, " \t") || !strings.HasSuffix(name, "_bw") && !strings.HasSuffix(name, "_lat") && !strings.HasSuffix(name, "_bi_bw") {
		return ""
	}
	for _, p := range testNames {
		if strings.HasPrefix(name, p) {
			return name
		}
	}
	return ""
}

// Line reads one line; false means that it is not of qperf.
func (q *Qperf) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if rest, ok := strings.CutPrefix(t, "qperf "); ok {
		for _, w := range strings.Fields(rest) {
			if !strings.HasPrefix(w, "-") && testName([]byte(w+":")) == "" && strings.ContainsAny(w, ".:abcdefghijklmnopqrstuvwxyz") {
				q.peer = w
				break
			}
		}
		return true
	}
	if name := testName(line); name != "" {
		if q.at = -1; len(q.f.Inv.NetTests) < MaxTests {
			q.at = len(q.f.Inv.NetTests)
			q.f.Inv.NetTests = append(q.f.Inv.NetTests, evidence.NetTest{Tool: "qperf", Test: name, Host: q.f.Host, Peer: q.peer, From: q.f.At(n)})
		}
		return true
	}
	key, value, ok := strings.Cut(t, "=")
	if !ok || q.at < 0 {
		return t == ""
	}
	words := strings.Fields(value)
	if len(words) != 2 {
		return true
	}
	v, err := strconv.ParseFloat(words[0], 64)
	if err != nil || v < 0 {
		return true
	}
	test := &q.f.Inv.NetTests[q.at]
	at := q.f.At(n)
	switch strings.TrimSpace(key) {
	case "bw":
		if scale, ok := byteUnits[words[1]]; ok && v*scale*8 < maxRate {
			test.Rate = evidence.Known(units.Rate(math.Round(v*scale*8)), at)
		}
	case "latency":
		if scale, ok := timeUnits[words[1]]; ok && v < 1e6 {
			test.Latency = evidence.Known(units.Duration(v*float64(scale)), at)
		}
	}
	return true
}

var byteUnits = map[string]float64{"bytes/sec": 1, "KB/sec": 1e3, "MB/sec": 1e6, "GB/sec": 1e9, "TB/sec": 1e12}

var timeUnits = map[string]units.Duration{"ns": units.Nanosecond, "us": units.Microsecond, "ms": units.Millisecond, "sec": units.Second}
