package nettest

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Iperf reads the text of iperf3 (src/iperf_locale.c): what it prints each second is left out, the sums count.
//
//	Connecting to host 192.0.2.2, port 5201
//	[  5] local 192.0.2.1 port 41222 connected to 192.0.2.2 port 5201
//	[  5]   0.00-10.00  sec  10.9 GBytes  9.37 Gbits/sec   12             sender
//	[SUM]   0.00-10.00  sec  43.6 GBytes  37.4 Gbits/sec  210             receiver
type Iperf struct {
	f    *fragment.Fragment
	test evidence.NetTest
	sum  bool // a line of all streams was read
	n    int
}

// NewIperf makes a reader for one output.
func NewIperf(f *fragment.Fragment) *Iperf { return &Iperf{f: f} }

// StartsIperf tells whether a line begins a run.
func StartsIperf(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Connecting to host ")) && bytes.Contains(line, []byte(", port ")) || bytes.HasPrefix(line, []byte("[ ID] Interval "))
}

// Line reads one line; false means that it is not of iperf3.
func (r *Iperf) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	switch {
	case strings.HasPrefix(t, "Connecting to host "):
		r.End()
		peer, _, _ := strings.Cut(t[len("Connecting to host "):], ",")
		r.test, r.sum, r.n = evidence.NetTest{Tool: "iperf3", Test: "tcp", Host: r.f.Host, Peer: peer, From: r.f.At(n)}, false, n
	case strings.HasPrefix(t, "iperf3: error - "):
		r.begun(n)
		r.test.Failed = t[len("iperf3: error - "):]
	case strings.HasSuffix(t, " sender"), strings.HasSuffix(t, " receiver"):
		r.total(strings.Fields(strings.TrimPrefix(t, "[SUM]")), strings.HasPrefix(t, "[SUM]"), n)
	default:
		return t == "" || strings.HasPrefix(t, "[") || strings.HasPrefix(t, "- -") || strings.HasPrefix(t, "iperf ") || strings.HasPrefix(t, "Reverse mode") || strings.HasPrefix(t, "Accepted")
	}
	return true
}

func (r *Iperf) begun(n int) {
	if r.n == 0 {
		r.test, r.n = evidence.NetTest{Tool: "iperf3", Test: "tcp", Host: r.f.Host, From: r.f.At(n)}, n
	}
}

// total reads a sum. What was received is what the network carried, and goes before what was sent.
func (r *Iperf) total(words []string, sum bool, n int) {
	if r.sum && !sum {
		return
	}
	r.begun(n)
	for i, w := range words {
		scale, ok := bitUnits[w]
		if !ok || i == 0 {
			continue
		}
		v, err := strconv.ParseFloat(words[i-1], 64)
		if err != nil || v < 0 || v*scale > maxRate {
			return
		}
		sender := words[len(words)-1] == "sender"
		if !sender || !r.test.Rate.Known() || sum && !r.sum {
			r.test.Rate = evidence.Known(units.Rate(math.Round(v*scale)), r.f.At(n))
		}
		if sender && i+1 < len(words)-1 {
			if v, err := strconv.ParseInt(words[i+1], 10, 48); err == nil {
				r.test.Retransmits = evidence.Known(v, r.f.At(n))
			}
		}
	}
	r.sum = r.sum || sum
}

// bitUnits are those of iperf3, decimal (src/units.c).
var bitUnits = map[string]float64{"bits/sec": 1, "Kbits/sec": 1e3, "Mbits/sec": 1e6, "Gbits/sec": 1e9, "Tbits/sec": 1e12}

// maxRate is above what any path carries, and fits units.Rate.
const maxRate = 1e16

// End keeps the run.
func (r *Iperf) End() {
	if r.n > 0 && (r.test.Rate.Known() || r.test.Failed != "") {
		add(r.f.Inv, r.test)
	}
	r.n = 0
}

func add(inv *evidence.Inventory, t evidence.NetTest) {
	if len(inv.NetTests) < MaxTests {
		inv.NetTests = append(inv.NetTests, t)
	}
}

// sums are the totals of iperf3 -J.
type sums struct {
	Rate        *float64 `json:"bits_per_second"`
	Retransmits *int64   `json:"retransmits"`
	Lost        *float64 `json:"lost_percent"`
}

// ReadIperf reads iperf3 -J (src/iperf_api.c, iperf_json_finish).
func ReadIperf(f *fragment.Fragment, text []byte, line int) error {
	var a struct {
		Start struct {
			Connected []struct {
				Remote string `json:"remote_host"`
			} `json:"connected"`
			Test struct {
				Protocol string `json:"protocol"`
				Streams  int    `json:"num_streams"`
				Reverse  int    `json:"reverse"`
				Block    int64  `json:"blksize"`
			} `json:"test_start"`
		} `json:"start"`
		End struct {
			Sent     sums `json:"sum_sent"`
			Received sums `json:"sum_received"`
			Sum      sums `json:"sum"` // of UDP
		} `json:"end"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	at := f.At(line)
	t := evidence.NetTest{Tool: "iperf3", Test: strings.ToLower(a.Start.Test.Protocol), Host: f.Host, Failed: a.Error, From: at}
	if len(a.Start.Connected) > 0 {
		t.Peer = a.Start.Connected[0].Remote
	}
	if a.Start.Test.Streams > 0 {
		t.Streams = evidence.Known(a.Start.Test.Streams, at)
		t.Reverse = evidence.Known(a.Start.Test.Reverse == 1, at)
	}
	if a.Start.Test.Block > 0 {
		t.Message = evidence.Known(units.Bytes(a.Start.Test.Block), at)
	}
	for _, s := range []sums{a.End.Sum, a.End.Sent, a.End.Received} {
		if s.Rate != nil && *s.Rate >= 0 && *s.Rate < maxRate {
			t.Rate = evidence.Known(units.Rate(math.Round(*s.Rate)), at)
		}
		if s.Retransmits != nil {
			t.Retransmits = evidence.Known(*s.Retransmits, at)
		}
		if s.Lost != nil {
			t.Lost = evidence.Known(*s.Lost/100, at)
		}
	}
	add(f.Inv, t)
	return nil
}
