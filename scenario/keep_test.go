package scenario

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shunt-network/shunt/telemetry"
)

const ringFile = `title: a small ring
seed: 5
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, link: {rate: 400Gbps, delay: 500ns}}
job:
  collective: {kind: all_reduce, size: 1MiB, repeat: 2, warmup: 1}
`

func ranOn(t *testing.T, e Engine, set ...Setting) (*Run, *Log) {
	t.Helper()
	s, err := Source{File: "ring.yaml", Bytes: []byte(ringFile)}.With(set...)
	if err != nil {
		t.Fatal(err)
	}
	log := &Log{}
	r, err := s.RunOn(context.Background(), e, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

// seriesRow and flowRow are rows as another program reads them.
type seriesRow struct {
	Series   string  `parquet:"series"`
	Object   string  `parquet:"object"`
	Priority *int32  `parquet:"priority,optional"`
	TimePS   int64   `parquet:"time_ps"`
	Value    float64 `parquet:"value"`
	Unit     string  `parquet:"unit"`
}

type flowRow struct {
	Op       int64   `parquet:"op"`
	Kind     string  `parquet:"kind"`
	Span     string  `parquet:"span"`
	Step     *int32  `parquet:"step,optional"`
	Warmup   bool    `parquet:"warmup"`
	SrcHost  string  `parquet:"src_host"`
	DstHost  *string `parquet:"dst_host,optional"`
	Priority *int32  `parquet:"priority,optional"`
	Bytes    *int64  `parquet:"bytes,optional"`
	StartPS  *int64  `parquet:"start_ps,optional"`
	EndPS    *int64  `parquet:"end_ps,optional"`
}

// What was written is read back by the library's reader: every sample of the window and every operation of the plan.
func TestTablesReadBack(t *testing.T) {
	for _, e := range []Engine{Packets, Flows} {
		r, _ := ranOn(t, e)
		var b bytes.Buffer
		n, err := r.writeSeries(&b)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parquet.Read[seriesRow](bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || int64(len(rows)) != n {
			t.Fatalf("%s: %d of %d rows, %v", e, len(rows), n, err)
		}
		last := map[string]float64{}
		names := map[string]bool{}
		for i := range telemetry.Catalogue {
			names[telemetry.Catalogue[i].Name] = true
		}
		for _, row := range rows {
			if !names[row.Series] {
				t.Fatalf("%s: %q is no series of the catalogue", e, row.Series)
			}
			if row.Series == "nic_tx_bytes_total" && row.Priority != nil && *row.Priority == 3 {
				last[row.Object] = row.Value
			}
		}
		sum := 0.0
		for _, v := range last {
			sum += v
		}
		// Three all_reduces of 1 MiB among four: each rank sends 2*3/4 MiB, and headers and acknowledgements of 2 x 64 in 4096.
		if want := 3 * 4 * 1.5 * (1 << 20) * (1 + 128.0/4096); sum < want*0.99 || sum > want*1.01 {
			t.Errorf("%s: NICs sent %.0f bytes, want about %.0f", e, sum, want)
		}
		b.Reset()
		if n, err = r.writeFlows(&b); err != nil {
			t.Fatal(err)
		}
		ops, err := parquet.Read[flowRow](bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || int64(len(ops)) != n || len(ops) != len(r.Plan.Ops) {
			t.Fatalf("%s: %d of %d operations, %v", e, len(ops), len(r.Plan.Ops), err)
		}
		warm := 0
		for i, op := range ops {
			if op.Warmup {
				warm++
			}
			if op.EndPS == nil || *op.EndPS != r.Times[i].End.PS() || op.Kind == "send" && (op.Bytes == nil || *op.Bytes != int64(r.Plan.Ops[i].Bytes)) {
				t.Fatalf("%s: operation %d is %+v", e, i, op)
			}
		}
		if warm*3 != len(ops) {
			t.Errorf("%s: %d of %d operations are warm-up", e, warm, len(ops))
		}
	}
}

// Figures count what the run did, and what an engine does not know is absent.
func TestFigures(t *testing.T) {
	r, _ := ranOn(t, Packets)
	f := r.Figures()
	if f.Network == nil || f.Network.PacketHops == 0 || f.Completion == nil || len(f.Collectives) != 1 || f.Collectives[0].Time.Count != 2 {
		t.Errorf("packets: %+v", f)
	}
	busy := f.Collectives[0].BusBW
	if busy < 10 || busy > 50 { // a NIC of 50 GB/s, small messages
		t.Errorf("busbw %v", busy)
	}
	r, _ = ranOn(t, Flows)
	if g := r.Figures(); g.Network != nil || g.Hottest == nil || g.Collectives[0].BusBW < 0.95*busy || g.Collectives[0].BusBW > 1.05*busy {
		t.Errorf("flows: %+v", g)
	}
}

// A kept run appears whole or not at all, and what was there stays when writing fails.
func TestKeepIsWhole(t *testing.T) {
	r, log := ranOn(t, Packets)
	dir := filepath.Join(t.TempDir(), "run")
	k, err := r.Keep(dir, Kept{Title: "x"}, []byte(ringFile), log, false)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := LoadKept(dir); err != nil || back.Figures.Fingerprint != k.Figures.Fingerprint || len(back.Files) != 4 {
		t.Fatalf("%+v, %v", back, err)
	}
	for _, f := range k.Files {
		if src, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil || int64(len(src)) != f.Bytes {
			t.Errorf("%s: %d bytes, %v; want %d", f.Name, len(src), err, f.Bytes)
		}
	}
	if _, err := r.Keep(dir, Kept{}, nil, log, false); !errors.Is(err, ErrExists) {
		t.Errorf("kept over a run: %v", err)
	}
	// A writer that fails half way leaves neither a part nor a hole.
	if _, err := writeFile(filepath.Join(dir, "no", "such"), r.writeSeries); err == nil {
		t.Error("wrote into a folder that is not there")
	}
	if _, err := r.Keep(dir, Kept{Title: "y"}, []byte(ringFile), log, true); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		if e.Name() != "run" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	if back, _ := LoadKept(dir); back == nil || back.Title != "y" {
		t.Errorf("replaced by %+v", back)
	}
}

// A log is bounded and says what it left out.
func TestLogIsBounded(t *testing.T) {
	r, _ := ranOn(t, Packets)
	log := &Log{Entries: make([]Entry, MaxLog)}
	log.add(Entry{})
	log.Entries = log.Entries[:1]
	var b strings.Builder
	if _, err := r.writeEvents(&b, log); err != nil || log.Dropped != 1 || !strings.Contains(b.String(), `"kind":"dropped"`) {
		t.Errorf("%d dropped, %v", log.Dropped, err)
	}
}
