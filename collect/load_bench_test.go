package collect

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"
)

// A training log with NCCL_DEBUG=INFO: a third NCCL's lines, the rest of a program that nothing here knows, which
// costs most because every format is asked about it.
func BenchmarkLoad(b *testing.B) {
	var log bytes.Buffer
	for r := range 256 {
		p := fmt.Sprintf("node%d:%d:%d [%d] NCCL INFO ", r/8, 1000+r%8, 2000+r%8, r%8)
		for c := range 16 {
			fmt.Fprintf(&log, "%sChannel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", p, c, r, r%8, (r+8)%256, r%8, c%4)
			for range 2 {
				fmt.Fprintf(&log, "[2025-06-01 10:00:00] iteration %d loss 2.31 tokens per second 41231 step time 0.412 s grad norm 0.91\n", c)
			}
		}
	}
	fsys := fstest.MapFS{"job.log": &fstest.MapFile{Data: log.Bytes()}}
	lines := bytes.Count(log.Bytes(), []byte("\n"))
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := LoadFS(fsys); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}
