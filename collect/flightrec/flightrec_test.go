package flightrec

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// One dump in all the forms it comes in: JSON, and what Python's pickle makes of the same dictionary in protocols 2
// and 4.
const asJSON = `{"version":"2.10","comm_lib_version":"2.28.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},
"pg_status":{"0":{"last_enqueued_collective":3,"last_started_collective":-1,"last_completed_collective":2}},
"entries":[{"frames":[{"name":"f","filename":"a.py","line":7}],"record_id":0,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":2,"p2p_seq_id":0,"op_id":1,"profiling_name":"nccl:all_reduce",
"time_created_ns":1724779239936775119,"input_sizes":[[1024,8]],"input_dtypes":["BFloat16"],"output_sizes":[[1024,8]],"output_dtypes":["BFloat16"],"state":"completed","time_discovered_started_ns":null,
"time_discovered_completed_ns":1724779239975811724,"duration_ms":1.5,"retired":true,"timeout_ms":600000,"is_p2p":false},
{"process_group":["0","default_pg"],"collective_seq_id":3,"p2p_seq_id":0,"profiling_name":"nccl:all_gather","time_created_ns":1724779240000000000,"input_sizes":[[4]],"input_dtypes":["Float"],
"output_sizes":[[8]],"output_dtypes":["Float"],"state":"scheduled","is_p2p":false,"timeout_ms":600000}]}`

const protocol2 = "gAJ9cQAoWAcAAAB2ZXJzaW9ucQFYBAAAADIuMTBxAlgQAAAAY29tbV9saWJfdmVyc2lvbnEDWAYAAAAyLjI4LjlxBFgJAAAAcGdfY29uZmlncQV9cQZYAQAAADBxB31xCChYBAAAAG5hbWVxCWgHWA" +
	"QAAABkZXNjcQpYCgAAAGRlZmF1bHRfcGdxC1gFAAAAcmFua3NxDFgGAAAAWzAsIDFdcQ11c1gJAAAAcGdfc3RhdHVzcQ59cQ9oB31xEChYGAAAAGxhc3RfZW5xdWV1ZWRfY29sbGVjdGl2ZXERSwNY" +
	"FwAAAGxhc3Rfc3RhcnRlZF9jb2xsZWN0aXZlcRJK/////1gZAAAAbGFzdF9jb21wbGV0ZWRfY29sbGVjdGl2ZXETSwJ1c1gHAAAAZW50cmllc3EUXXEVKH1xFihYBgAAAGZyYW1lc3EXXXEYfXEZKG" +
	"gJWAEAAABmcRpYCAAAAGZpbGVuYW1lcRtYBAAAAGEucHlxHFgEAAAAbGluZXEdSwd1YVgJAAAAcmVjb3JkX2lkcR5LAFgFAAAAcGdfaWRxH0sAWA0AAABwcm9jZXNzX2dyb3VwcSBoB2gLhnEhWBEA" +
	"AABjb2xsZWN0aXZlX3NlcV9pZHEiSwJYCgAAAHAycF9zZXFfaWRxI0sAWAUAAABvcF9pZHEkSwFYDgAAAHByb2ZpbGluZ19uYW1lcSVYDwAAAG5jY2w6YWxsX3JlZHVjZXEmWA8AAAB0aW1lX2NyZW" +
	"F0ZWRfbnNxJ4oIz1NmmJSl7xdYCwAAAGlucHV0X3NpemVzcShdcSldcSooTQAESwhlYVgMAAAAaW5wdXRfZHR5cGVzcStdcSxYCAAAAEJGbG9hdDE2cS1hWAwAAABvdXRwdXRfc2l6ZXNxLl1xL11x" +
	"MChNAARLCGVhWA0AAABvdXRwdXRfZHR5cGVzcTFdcTJoLWFYBQAAAHN0YXRlcTNYCQAAAGNvbXBsZXRlZHE0WBoAAAB0aW1lX2Rpc2NvdmVyZWRfc3RhcnRlZF9uc3E1TlgcAAAAdGltZV9kaXNjb3" +
	"ZlcmVkX2NvbXBsZXRlZF9uc3E2igiM+rmalKXvF1gLAAAAZHVyYXRpb25fbXNxN0c/+AAAAAAAAFgHAAAAcmV0aXJlZHE4iFgKAAAAdGltZW91dF9tc3E5SsAnCQBYBgAAAGlzX3AycHE6iXV9cTso" +
	"aCBoIWgiSwNoI0sAaCVYDwAAAG5jY2w6YWxsX2dhdGhlcnE8aCeKCAAQK5yUpe8XaChdcT1dcT5LBGFhaCtdcT9YBQAAAEZsb2F0cUBhaC5dcUFdcUJLCGFhaDFdcUNoQGFoM1gJAAAAc2NoZWR1bG" +
	"VkcURoOoloOUrAJwkAdWV1Lg=="

const protocol4 = "gASVNQMAAAAAAAB9lCiMB3ZlcnNpb26UjAQyLjEwlIwQY29tbV9saWJfdmVyc2lvbpSMBjIuMjguOZSMCXBnX2NvbmZpZ5R9lIwBMJR9lCiMBG5hbWWUaAeMBGRlc2OUjApkZWZhdWx0X3BnlIwFcm" +
	"Fua3OUjAZbMCwgMV2UdXOMCXBnX3N0YXR1c5R9lGgHfZQojBhsYXN0X2VucXVldWVkX2NvbGxlY3RpdmWUSwOMF2xhc3Rfc3RhcnRlZF9jb2xsZWN0aXZllEr/////jBlsYXN0X2NvbXBsZXRlZF9j" +
	"b2xsZWN0aXZllEsCdXOMB2VudHJpZXOUXZQofZQojAZmcmFtZXOUXZR9lChoCYwBZpSMCGZpbGVuYW1llIwEYS5weZSMBGxpbmWUSwd1YYwJcmVjb3JkX2lklEsAjAVwZ19pZJRLAIwNcHJvY2Vzc1" +
	"9ncm91cJRoB2gLhpSMEWNvbGxlY3RpdmVfc2VxX2lklEsCjApwMnBfc2VxX2lklEsAjAVvcF9pZJRLAYwOcHJvZmlsaW5nX25hbWWUjA9uY2NsOmFsbF9yZWR1Y2WUjA90aW1lX2NyZWF0ZWRfbnOU" +
	"igjPU2aYlKXvF4wLaW5wdXRfc2l6ZXOUXZRdlChNAARLCGVhjAxpbnB1dF9kdHlwZXOUXZSMCEJGbG9hdDE2lGGMDG91dHB1dF9zaXplc5RdlF2UKE0ABEsIZWGMDW91dHB1dF9kdHlwZXOUXZRoLW" +
	"GMBXN0YXRllIwJY29tcGxldGVklIwadGltZV9kaXNjb3ZlcmVkX3N0YXJ0ZWRfbnOUTowcdGltZV9kaXNjb3ZlcmVkX2NvbXBsZXRlZF9uc5SKCIz6uZqUpe8XjAtkdXJhdGlvbl9tc5RHP/gAAAAA" +
	"AACMB3JldGlyZWSUiIwKdGltZW91dF9tc5RKwCcJAIwGaXNfcDJwlIl1fZQoaCBoIWgiSwNoI0sAaCWMD25jY2w6YWxsX2dhdGhlcpRoJ4oIABArnJSl7xdoKF2UXZRLBGFhaCtdlIwFRmxvYXSUYW" +
	"guXZRdlEsIYWFoMV2UaEBhaDOMCXNjaGVkdWxlZJRoOoloOUrAJwkAdWV1Lg=="

func show(inv *evidence.Inventory) (out []string) {
	for _, d := range inv.Flights {
		out = append(out, fmt.Sprint("rank ", d.Rank, " ", d.Version, " ", d.NCCL, " left ", d.Left))
		for _, g := range d.Groups {
			out = append(out, fmt.Sprint("  ", g.Name, " ", g.Description, " ", g.Ranks, " ", g.Enqueued, " ", g.Started, " ", g.Completed))
		}
		for _, o := range d.Ops {
			out = append(out, fmt.Sprint("  ", o.Group, " ", o.Seq, " ", o.Name, " ", o.State, " ", o.InSizes, " ", o.Type, " ", int64(o.InBytes.Or(-1)), " ", int64(o.OutBytes.Or(-1)), " ", o.Created, " ", o.Started, " ", o.Completed, " ", o.Duration, " ", o.Timeout))
		}
	}
	return out
}

func TestForms(t *testing.T) {
	want := []string{
		"rank 3 2.10 2.28.9 left 0", "  0 default_pg [0 1] 3 -1 2",
		"  0 2 nccl:all_reduce completed [[1024,8]] BFloat16 16384 16384 1724779239936775119 unknown 1724779239975811724 1.5 600000",
		"  0 3 nccl:all_gather scheduled [[4]] Float 16 32 1724779240000000000 unknown unknown unknown 600000",
	}
	for name, read := range map[string]func(f *fragment.Fragment) error{
		"JSON":       func(f *fragment.Fragment) error { return Read(f, []byte(asJSON), 1) },
		"protocol 2": func(f *fragment.Fragment) error { return ReadPickle(f, unbase64(t, protocol2)) },
		"protocol 4": func(f *fragment.Fragment) error { return ReadPickle(f, unbase64(t, protocol4)) },
	} {
		inv := &evidence.Inventory{}
		if err := read(fragment.New(inv, "dumps/nccl_trace_rank_3")); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, show(inv)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func unbase64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// torchPickle writes values in the way of torch::jit::Pickler, whose lists of numbers go through a function.
type torchPickle struct{ strings.Builder }

func (p *torchPickle) text(s string) {
	p.WriteByte('X')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.WriteString(s)
	p.WriteString("q\x07")
}

func (p *torchPickle) ints(v ...byte) {
	p.WriteString("ctorch.jit._pickle\nbuild_intlist\nq\x01(](")
	for _, n := range v {
		p.WriteByte('K')
		p.WriteByte(n)
	}
	p.WriteString("etR")
}

func TestTorchPickle(t *testing.T) {
	p := &torchPickle{}
	p.WriteString("\x80\x02}q\x00(")
	p.text("version")
	p.text("2.4")
	p.text("entries")
	p.WriteString("](}(")
	p.text("process_group")
	p.WriteString("(")
	p.text("0")
	p.text("default_pg")
	p.WriteString("t")
	p.text("is_p2p")
	p.WriteString("\x88")
	p.text("p2p_seq_id")
	p.WriteString("K\x05")
	p.text("input_sizes")
	p.WriteString("](")
	p.ints(4, 2)
	p.WriteString("e")
	p.text("time_created_ns")
	p.WriteString("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x17")
	p.WriteString("ueu.")
	inv := &evidence.Inventory{}
	if !StartsPickle([]byte(p.String())) {
		t.Error("begins nothing")
	}
	if err := ReadPickle(fragment.New(inv, "x"), []byte(p.String())); err != nil {
		t.Fatal(err)
	}
	d := inv.Flights[0]
	if o := d.Ops[0]; d.Rank != -1 || !o.P2P || o.Seq != 5 || o.InSizes != "[[4,2]]" || o.InBytes.Known() || o.Created != 0x17<<56 {
		t.Errorf("%+v", d)
	}
}

// A pickle that would call something is not read, and neither is one that is damaged or of something else.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"code":       {"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.", "names code to run"},
		"code, new":  {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "names code to run"},
		"object":     {"\x80\x02}b.", "opcode"},
		"cut":        {"\x80\x02}(X\xff\xff\xff\x00", "lost its end"},
		"other":      {"\x80\x02}.", "something else"},
		"no stack":   {"\x80\x02e.", "damaged"},
		"over mark":  {"\x80\x02](0", "damaged"},
		"no memo":    {"\x80\x02h\x05.", "damaged"},
		"wrong kind": {"\x80\x02]K\x01K\x02s.", "damaged"},
	} {
		err := ReadPickle(fragment.New(&evidence.Inventory{}, "x"), []byte(tc.data))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of each group the last calls are kept.
func TestLast(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"entries":[`)
	for i := range 200 {
		fmt.Fprintf(&b, `{"process_group":["%d",""],"collective_seq_id":%d},`, i%2, i)
	}
	b.WriteString(`{"process_group":["0",""],"collective_seq_id":200}]}`)
	inv := &evidence.Inventory{}
	if err := Read(fragment.New(inv, "x"), []byte(b.String()), 1); err != nil {
		t.Fatal(err)
	}
	d := inv.Flights[0]
	if len(d.Ops) != 2*MaxOps || d.Left != 201-2*MaxOps || d.Ops[len(d.Ops)-1].Seq != 200 {
		t.Errorf("%d kept, %d left", len(d.Ops), d.Left)
	}
}

func TestRankOf(t *testing.T) {
	for name, want := range map[string]int{"nccl_trace_rank_12": 12, "a/rank7.json": 7, "trace.pkl": -1, "nccl_trace_rank_0.pickle": 0, "": -1} {
		if got := rankOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func FuzzPickle(f *testing.F) {
	f.Add(unbase64(f, protocol2))
	f.Add(unbase64(f, protocol4))
	f.Add([]byte("\x80\x02]q\x00(h\x00h\x00e."))
	f.Fuzz(func(t *testing.T, data []byte) {
		StartsPickle(data)
		fr := fragment.New(&evidence.Inventory{}, "x")
		_, _ = ReadPickle(fr, data), Read(fr, data, 1) // an error is one of the answers
	})
}
