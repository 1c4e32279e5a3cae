package scenario

import (
	"fmt"
	"io"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/internal/parquet"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/workload"
)

// seriesColumns are those of series.parquet, a row a sample. Names and units are those of the telemetry catalogue (docs/series.md).
var seriesColumns = []parquet.Column{
	{Name: "series", Kind: parquet.Text},
	{Name: "object", Kind: parquet.Text}, // "leaf1/Ethernet48"
	{Name: "priority", Kind: parquet.Int32, Optional: true},
	{Name: "time_ps", Kind: parquet.Int64},
	{Name: "value", Kind: parquet.Double}, // in the unit of the series
	{Name: "unit", Kind: parquet.Text},
}

// writeSeries writes every sample of the run's window, series by series.
func (r *Run) writeSeries(w io.Writer) (rows int64, err error) {
	t := parquet.NewWriter(w, seriesColumns)
	for id := range telemetry.Catalogue {
		series := &telemetry.Catalogue[id]
		for _, k := range r.Window.Keys(telemetry.SeriesID(id)) {
			p, _ := r.Window.Points(k)
			for _, s := range p.Samples {
				t.Text(0, series.Name)
				t.Text(1, k.Object)
				if k.Priority == telemetry.AnyPriority {
					t.Null(2)
				} else {
					t.Int32(2, int32(k.Priority))
				}
				t.Int64(3, s.At.PS())
				value := s.Level
				if series.Kind == telemetry.Counter {
					value = float64(s.Count) * p.Scale
				}
				t.Double(4, value)
				t.Text(5, series.Unit)
				t.EndRow()
			}
		}
	}
	return closed(t)
}

func closed(t *parquet.Writer) (rows int64, err error) {
	if rows, err = t.Close(); err != nil {
		return 0, fmt.Errorf("scenario: %w", err)
	}
	return rows, nil
}

// flowColumns are those of flows.parquet, a row an operation of the plan.
var flowColumns = []parquet.Column{
	{Name: "op", Kind: parquet.Int64},
	{Name: "kind", Kind: parquet.Text}, // send, compute, join
	{Name: "span", Kind: parquet.Text},
	{Name: "call", Kind: parquet.Int64}, // number of the span: the operations of one call have the same
	{Name: "collective", Kind: parquet.Text},
	{Name: "algorithm", Kind: parquet.Text},
	{Name: "step", Kind: parquet.Int32, Optional: true},
	{Name: "warmup", Kind: parquet.Bool},
	{Name: "background", Kind: parquet.Bool},
	{Name: "src_gpu", Kind: parquet.Int32},
	{Name: "src_host", Kind: parquet.Text},
	{Name: "dst_gpu", Kind: parquet.Int32, Optional: true},
	{Name: "dst_host", Kind: parquet.Text, Optional: true},
	{Name: "channel", Kind: parquet.Int32},
	{Name: "priority", Kind: parquet.Int32, Optional: true},
	{Name: "bytes", Kind: parquet.Int64, Optional: true},
	{Name: "start_ps", Kind: parquet.Int64, Optional: true}, // null when it did not begin
	{Name: "end_ps", Kind: parquet.Int64, Optional: true},   // null when it did not end
}

var opNames = [...]string{workload.Send: "send", workload.Compute: "compute", workload.Join: "join"}

// writeFlows writes every operation of the plan.
func (r *Run) writeFlows(w io.Writer) (rows int64, err error) {
	t := parquet.NewWriter(w, flowColumns)
	host := func(g fabric.GPUID) string { return r.Fabric.Nodes[r.Fabric.GPUs[g].Host].Name }
	for i := range r.Plan.Ops {
		op := &r.Plan.Ops[i]
		s := &r.Plan.Spans[op.Span]
		t.Int64(0, int64(i))
		t.Text(1, opNames[op.Kind])
		t.Text(2, s.Name)
		t.Int64(3, int64(op.Span))
		t.Text(4, s.Collective.String())
		t.Text(5, s.Algorithm)
		if s.Step >= 0 {
			t.Int32(6, int32(s.Step))
		} else {
			t.Null(6)
		}
		t.Bool(7, s.Warmup)
		t.Bool(8, op.Background)
		t.Int32(9, int32(op.Src))
		t.Text(10, host(op.Src))
		t.Int32(13, int32(op.Channel))
		if op.Kind == workload.Send {
			t.Int32(11, int32(op.Dst))
			t.Text(12, host(op.Dst))
			t.Int32(14, int32(op.Priority))
			t.Int64(15, int64(op.Bytes))
		} else {
			for _, col := range []int{11, 12, 14, 15} {
				t.Null(col)
			}
		}
		r.writeTimes(t, i)
		t.EndRow()
	}
	return closed(t)
}

// writeTimes writes when operation i began and ended. An operation that never began has no time of its own: its start is that of the
// run, which only one that waits for nothing can have.
func (r *Run) writeTimes(t *parquet.Writer, i int) {
	const start, end = 16, 17
	at := r.Times[i]
	ended := !at.End.Before(at.Start)
	if ended || at.Start.PS() > 0 || r.Plan.Dependencies(workload.OpID(i)) == 0 && r.Plan.Ops[i].At == 0 {
		t.Int64(start, at.Start.PS())
	} else {
		t.Null(start)
	}
	if ended {
		t.Int64(end, at.End.PS())
	} else {
		t.Null(end)
	}
}

func pointer[T any](v T) *T { return &v }
