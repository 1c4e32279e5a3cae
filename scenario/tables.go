package scenario

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/workload"
)

// SeriesRow is one sample of series.parquet. Names and units are those of the telemetry catalogue (docs/series.md).
type SeriesRow struct {
	Series   string  `parquet:"series,dict"`
	Object   string  `parquet:"object,dict"` // "leaf1/Ethernet48"
	Priority *int32  `parquet:"priority,optional"`
	TimePS   int64   `parquet:"time_ps,delta"`
	Value    float64 `parquet:"value"` // in the unit of the series
	Unit     string  `parquet:"unit,dict"`
}

// FlowRow is one operation of flows.parquet.
type FlowRow struct {
	Op         int64  `parquet:"op,delta"`
	Kind       string `parquet:"kind,dict"` // send, compute, join
	Span       string `parquet:"span,dict"`
	Call       int64  `parquet:"call,delta"` // number of the span: the operations of one call have the same
	Collective string `parquet:"collective,dict"`
	Algorithm  string `parquet:"algorithm,dict"`
	Step       *int32 `parquet:"step,optional"`
	Warmup     bool   `parquet:"warmup"`
	Background bool   `parquet:"background"`
	SrcGPU     int32  `parquet:"src_gpu"`
	SrcHost    string `parquet:"src_host,dict"`
	DstGPU     *int32 `parquet:"dst_gpu,optional"`
	DstHost    string `parquet:"dst_host,dict"`
	Channel    int32  `parquet:"channel"`
	Priority   *int32 `parquet:"priority,optional"`
	Bytes      *int64 `parquet:"bytes,optional"`
	StartPS    *int64 `parquet:"start_ps,optional"` // null when it did not begin
	EndPS      *int64 `parquet:"end_ps,optional"`   // null when it did not end
}

// rowsAtOnce is how many rows are made before they are handed to the writer.
const rowsAtOnce = 4096

// table writes rows of one kind.
type table[T any] struct {
	w    *parquet.GenericWriter[T]
	rows []T
	n    int64
	err  error
}

func newTable[T any](w io.Writer) *table[T] {
	return &table[T]{w: parquet.NewGenericWriter[T](w, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("shunt", "", "")), rows: make([]T, 0, rowsAtOnce)}
}

func (t *table[T]) add(row T) {
	if t.rows = append(t.rows, row); len(t.rows) == rowsAtOnce {
		t.flush()
	}
}

func (t *table[T]) flush() {
	if t.err == nil && len(t.rows) > 0 {
		_, t.err = t.w.Write(t.rows)
	}
	t.n += int64(len(t.rows))
	t.rows = t.rows[:0]
}

func (t *table[T]) close() (rows int64, err error) {
	t.flush()
	if t.err == nil {
		t.err = t.w.Close()
	}
	if t.err != nil {
		return 0, fmt.Errorf("scenario: parquet: %w", t.err)
	}
	return t.n, nil
}

// writeSeries writes every sample of the run's window, series by series.
func (r *Run) writeSeries(w io.Writer) (rows int64, err error) {
	t := newTable[SeriesRow](w)
	for id := range telemetry.Catalogue {
		for _, k := range r.Window.Keys(telemetry.SeriesID(id)) {
			p, _ := r.Window.Points(k)
			row := SeriesRow{Series: telemetry.Catalogue[id].Name, Unit: telemetry.Catalogue[id].Unit, Object: k.Object}
			if k.Priority != telemetry.AnyPriority {
				prio := int32(k.Priority)
				row.Priority = &prio
			}
			for _, s := range p.Samples {
				row.TimePS, row.Value = s.At.PS(), s.Level
				if telemetry.Catalogue[id].Kind == telemetry.Counter {
					row.Value = float64(s.Count) * p.Scale
				}
				t.add(row)
			}
		}
	}
	return t.close()
}

// writeFlows writes every operation of the plan.
func (r *Run) writeFlows(w io.Writer) (rows int64, err error) {
	t := newTable[FlowRow](w)
	host := func(g fabric.GPUID) string { return r.Fabric.Nodes[r.Fabric.GPUs[g].Host].Name }
	for i := range r.Plan.Ops {
		op := &r.Plan.Ops[i]
		s := &r.Plan.Spans[op.Span]
		row := FlowRow{
			Op: int64(i), Kind: [...]string{workload.Send: "send", workload.Compute: "compute", workload.Join: "join", workload.Reduce: "reduce"}[op.Kind], Span: s.Name, Call: int64(op.Span),
			Collective: s.Collective.String(), Algorithm: s.Algorithm, Warmup: s.Warmup, Background: op.Background,
			SrcGPU: int32(op.Src), SrcHost: host(op.Src), Channel: int32(op.Channel),
		}
		if s.Step >= 0 {
			row.Step = pointer(int32(s.Step))
		}
		if op.Kind == workload.Send {
			row.DstGPU, row.DstHost = pointer(int32(op.Dst)), host(op.Dst)
			row.Priority, row.Bytes = pointer(int32(op.Priority)), pointer(int64(op.Bytes))
		}
		if at := r.Times[i]; !at.End.Before(at.Start) {
			row.StartPS, row.EndPS = pointer(at.Start.PS()), pointer(at.End.PS())
		} else if at.Start.PS() > 0 || r.Plan.Dependencies(workload.OpID(i)) == 0 && op.At == 0 {
			row.StartPS = pointer(at.Start.PS())
		}
		t.add(row)
	}
	return t.close()
}

func pointer[T any](v T) *T { return &v }
