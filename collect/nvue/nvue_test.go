package nvue

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func port() *fragment.Fragment {
	f := fragment.New(&evidence.Inventory{}, "f")
	f.Host, f.Device = "leaf1", "swp1"
	return f
}

func samples(f *fragment.Fragment) (got []string) {
	for _, s := range f.Samples {
		if s.Count > 0 {
			got = append(got, fmt.Sprintf("%s %s %s/%d %d", s.Series, s.Counter, s.Device, s.Priority, s.Count))
		}
	}
	return got
}

const tables = `Ingress Buffer Statistics
============================
    priority-group  rx-frames  rx-buffer-discards  rx-shared-buffer-discards
    --------------  ---------  ------------------  -------------------------
    3               99         0 Bytes             0 Bytes                  

Egress Queue Statistics
==========================
    traffic-class  tx-frames  tx-bytes   tx-uc-buffer-discards  wred-discards  ecn-marked-frames
    -------------  ---------  ---------  ---------------------  -------------  -----------------
    0              2          128 Bytes  0 Bytes                0              0
    3              1204       5.20 MB    75.19 KB               4              17

PFC Statistics
=================
    switch-priority  rx-pause-frames  rx-pause-duration  tx-pause-frames  tx-pause-duration
    ---------------  ---------------  -----------------  ---------------  -----------------
    3                11               500                12               0                

Qos Port Statistics
======================
    Counter             Receive  Transmit
    ------------------  -------  --------
    ecn-marked-packets  n/a      17      
`

func TestTables(t *testing.T) {
	f := port()
	r := NewTable(f)
	for i, line := range strings.Split(tables, "\n") {
		r.Line([]byte(line), i+1)
	}
	want := []string{
		"switch_queue_tx_bytes_total tx-bytes swp1/0 128",
		"switch_queue_dropped_total tx-uc-buffer-discards swp1/3 76994", "switch_queue_dropped_total wred-discards swp1/3 4", "switch_queue_ecn_marked_total ecn-marked-frames swp1/3 17",
		"switch_pfc_rx_total rx-pause-frames swp1/3 11", "switch_pfc_tx_total tx-pause-frames swp1/3 12",
	}
	if diff := cmp.Diff(want, samples(f)); diff != "" {
		t.Error(diff)
	}
	f.Device, f.Samples = "", nil
	for i, line := range strings.Split(tables, "\n") {
		r.Line([]byte(line), i+1)
	}
	if len(f.Samples) > 0 {
		t.Error("counters of no port")
	}
}

func TestJSON(t *testing.T) {
	f := port()
	err := Read(f, []byte(`{"egress-queue-stats": {"3": {"tx-bytes": 5452595, "tx-frames": 1204, "tx-uc-buffer-discards": 76993, "ecn-marked-frames": 17, "wred-discards": "x"}, "9": {"tx-bytes": 1}},
		"pfc-stats": {"3": {"rx-pause-frames": 11, "tx-pause-frames": 12}}, "port-stats": {"rx-stats": 1}}`), 1)
	want := []string{
		"switch_queue_tx_bytes_total tx-bytes swp1/3 5452595", "switch_queue_dropped_total tx-uc-buffer-discards swp1/3 76993", "switch_queue_ecn_marked_total ecn-marked-frames swp1/3 17",
		"switch_pfc_rx_total rx-pause-frames swp1/3 11", "switch_pfc_tx_total tx-pause-frames swp1/3 12",
	}
	if diff := cmp.Diff(want, samples(f)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if Read(port(), []byte(`[]`), 1) == nil {
		t.Error("a list was read")
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte(tables))
	f.Add([]byte(`{"pfc-stats": {"3": {"rx-pause-frames": 1e3}}, "egress-queue-stats": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := port()
		_ = Read(fr, text, 1)
		r := NewTable(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			StartsTable(line)
			r.Line(line, 1)
		}
	})
}
