// Package flightrec owns reading the dumps of PyTorch's flight recorder: which collectives a rank last called, and how
// far each process group came. They come as pickles, one a rank, or as JSON.
//
// Read dump.go, then pickle.go.
package flightrec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Limits on what is kept: of each process group of a rank its last calls, which are what a hang is about.
const (
	MaxDumps  = 1 << 15
	MaxGroups = 256
	MaxOps    = 64 // of one group
	MaxBytes  = 64 << 20
)

// dump is a dump as PyTorch writes it (torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp; up
// to 2.5 NCCLUtils.cpp). Members came with versions: version 2.0 has pg_config, 2.3 pg_status.
type dump struct {
	Version string                 `json:"version"`
	NCCL    string                 `json:"nccl_version"`
	Library string                 `json:"comm_lib_version"`
	Groups  map[string]groupConfig `json:"pg_config"`
	Status  map[string]groupStatus `json:"pg_status"`
	Entries []entry                `json:"entries"`
}

type groupConfig struct {
	Name  string `json:"name"`
	Desc  string `json:"desc"`
	Ranks string `json:"ranks"` // "[0, 1, 2]"
}

type groupStatus struct {
	Enqueued  *int64 `json:"last_enqueued_collective"`
	Started   *int64 `json:"last_started_collective"`
	Completed *int64 `json:"last_completed_collective"`
}

type entry struct {
	Group     [2]string `json:"process_group"` // name and description
	Seq       int64     `json:"collective_seq_id"`
	P2PSeq    int64     `json:"p2p_seq_id"`
	P2P       bool      `json:"is_p2p"`
	Name      string    `json:"profiling_name"`
	State     string    `json:"state"`
	In        [][]int64 `json:"input_sizes"`
	Out       [][]int64 `json:"output_sizes"`
	InTypes   []string  `json:"input_dtypes"`
	OutTypes  []string  `json:"output_dtypes"`
	Created   int64     `json:"time_created_ns"`
	Started   *int64    `json:"time_discovered_started_ns"`
	Completed *int64    `json:"time_discovered_completed_ns"`
	Duration  *float64  `json:"duration_ms"`
	Timeout   *int64    `json:"timeout_ms"`
}

// Read reads a dump in JSON.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var d dump
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	d.write(f, line)
	return nil
}

// StartsPickle tells whether bytes begin a pickle of protocol 2 or later.
func StartsPickle(head []byte) bool {
	return len(head) > 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && bytes.IndexByte([]byte("}](cX\x95\x8c"), head[2]) >= 0
}

// ReadPickle reads a dump as the recorder writes it to a file.
func ReadPickle(f *fragment.Fragment, data []byte) error {
	top, err := unpickle(data)
	if err != nil {
		return err
	}
	d, err := ofPickle(top)
	if err != nil {
		return err
	}
	d.write(f, 0)
	return nil
}

// ofPickle takes the dump out of its values.
func ofPickle(top *value) (dump, error) {
	entries := top.member("entries")
	if entries == nil {
		return dump{}, errors.New("pickle of something else than a flight recorder")
	}
	d := dump{Version: str(top.member("version")), NCCL: str(top.member("nccl_version")), Library: str(top.member("comm_lib_version")), Groups: map[string]groupConfig{}, Status: map[string]groupStatus{}}
	each(top.member("pg_config"), func(name string, v *value) {
		d.Groups[name] = groupConfig{str(v.member("name")), str(v.member("desc")), str(v.member("ranks"))}
	})
	each(top.member("pg_status"), func(name string, v *value) {
		d.Status[name] = groupStatus{num(v.member("last_enqueued_collective")), num(v.member("last_started_collective")), num(v.member("last_completed_collective"))}
	})
	for _, v := range entries.list {
		e := entry{
			Name: str(v.member("profiling_name")), State: str(v.member("state")), In: sizes(v.member("input_sizes")), Out: sizes(v.member("output_sizes")),
			InTypes: texts(v.member("input_dtypes")), OutTypes: texts(v.member("output_dtypes")),
			Started: num(v.member("time_discovered_started_ns")), Completed: num(v.member("time_discovered_completed_ns")), Timeout: num(v.member("timeout_ms")),
		}
		if g := v.member("process_group"); g != nil && len(g.list) == 2 {
			e.Group = [2]string{str(g.list[0]), str(g.list[1])}
		}
		for _, n := range []struct {
			to   *int64
			name string
		}{{&e.Seq, "collective_seq_id"}, {&e.P2PSeq, "p2p_seq_id"}, {&e.Created, "time_created_ns"}} {
			if x := num(v.member(n.name)); x != nil {
				*n.to = *x
			}
		}
		if b := v.member("is_p2p"); b != nil {
			e.P2P = b.n == 1
		}
		if x := v.member("duration_ms"); x != nil && x.kind == float {
			e.Duration = &x.f
		}
		d.Entries = append(d.Entries, e)
	}
	return d, nil
}

// each calls f for the members of a dictionary.
func each(v *value, f func(name string, v *value)) {
	if v == nil || v.kind != dict {
		return
	}
	for i := 0; i+1 < len(v.list) && i < 2*MaxGroups; i += 2 {
		f(str(v.list[i]), v.list[i+1])
	}
}

func str(v *value) string {
	switch {
	case v == nil:
		return ""
	case v.kind == integer:
		return strconv.FormatInt(v.n, 10)
	}
	return v.s
}

func num(v *value) *int64 {
	if v == nil || v.kind != integer {
		return nil
	}
	return &v.n
}

func texts(v *value) (out []string) {
	if v == nil {
		return nil
	}
	for _, e := range v.list[:min(len(v.list), maxTensors)] {
		out = append(out, str(e))
	}
	return out
}

// maxTensors limits the tensors of one call that are looked at, and maxDims their dimensions.
const (
	maxTensors = 64
	maxDims    = 16
)

func sizes(v *value) (out [][]int64) {
	if v == nil {
		return nil
	}
	for _, tensor := range v.list[:min(len(v.list), maxTensors)] {
		dims := []int64{}
		for _, d := range tensor.list[:min(len(tensor.list), maxDims)] {
			dims = append(dims, d.n)
		}
		out = append(out, dims)
	}
	return out
}

// write puts a dump into the inventory.
func (d *dump) write(f *fragment.Fragment, line int) {
	if len(f.Inv.Flights) >= MaxDumps {
		f.Dropped++
		return
	}
	at := f.At(line)
	out := evidence.FlightDump{Rank: rankOf(f.File), Host: f.Host, Version: d.Version, NCCL: d.NCCL, From: at}
	if out.NCCL == "" {
		out.NCCL = d.Library
	}
	d.groups(&out)
	left := map[string]int{}
	for _, e := range d.Entries {
		left[e.Group[0]]++
	}
	for _, e := range d.Entries {
		if left[e.Group[0]]--; left[e.Group[0]] >= MaxOps {
			out.Left++
			continue
		}
		out.Ops = append(out.Ops, e.op(at))
	}
	f.Inv.Flights = append(f.Inv.Flights, out)
}

// groups lists the process groups by their names.
func (d *dump) groups(out *evidence.FlightDump) {
	var names []string
	for name := range d.Groups {
		names = append(names, name)
	}
	for name := range d.Status {
		if _, ok := d.Groups[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // numbers by their value
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:min(len(names), MaxGroups)] {
		c, s := d.Groups[name], d.Status[name]
		g := evidence.FlightGroup{Name: name, Description: c.Desc, Ranks: ranks(c.Ranks)}
		for _, v := range []struct {
			from *int64
			to   *evidence.Value[int64]
		}{{s.Enqueued, &g.Enqueued}, {s.Started, &g.Started}, {s.Completed, &g.Completed}} {
			if v.from != nil {
				*v.to = evidence.Known(*v.from, out.From)
			}
		}
		out.Groups = append(out.Groups, g)
	}
}

// ranks reads "[0, 1, 2]".
func ranks(list string) (out []int) {
	const most = 1 << 17
	for word := range strings.SplitSeq(strings.Trim(list, "[]"), ",") {
		if v, err := strconv.ParseUint(strings.TrimSpace(word), 10, 31); err == nil && len(out) < most {
			out = append(out, int(v))
		}
	}
	return out
}

// rankOf reads the rank off the name of a file: nccl_trace_rank_3 (TORCH_NCCL_DEBUG_INFO_TEMP_FILE and the rank behind
// it); -1 where it has none.
func rankOf(name string) int {
	base := path.Base(name)
	for strings.Contains(base, ".") {
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	i := len(base)
	for i > 0 && base[i-1] >= '0' && base[i-1] <= '9' {
		i--
	}
	v, err := strconv.ParseUint(base[i:], 10, 31)
	if err != nil {
		return -1
	}
	return int(v)
}

func (e *entry) op(at evidence.Source) evidence.FlightOp {
	op := evidence.FlightOp{
		Group: e.Group[0], Description: e.Group[1], Seq: e.Seq, P2P: e.P2P, Name: e.Name, State: e.State, InSizes: shapes(e.In), Created: e.Created, From: at,
	}
	if e.P2P {
		op.Seq = e.P2PSeq
	}
	if len(e.InTypes) > 0 {
		op.Type = e.InTypes[0]
	}
	op.InBytes, op.OutBytes = bytesOf(e.In, e.InTypes, at), bytesOf(e.Out, e.OutTypes, at)
	for _, v := range []struct {
		from *int64
		to   *evidence.Value[int64]
	}{{e.Started, &op.Started}, {e.Completed, &op.Completed}, {e.Timeout, &op.Timeout}} {
		if v.from != nil && *v.from != 0 {
			*v.to = evidence.Known(*v.from, at)
		}
	}
	if e.Duration != nil {
		op.Duration = evidence.Known(*e.Duration, at)
	}
	return op
}

func shapes(tensors [][]int64) string {
	if len(tensors) > maxTensors {
		tensors = tensors[:maxTensors]
	}
	return strings.ReplaceAll(fmt.Sprint(tensors), " ", ",")
}

// widths are the element sizes of PyTorch's types by their names (c10/core/ScalarType.h, toString).
var widths = map[string]int64{
	"Byte": 1, "Char": 1, "Bool": 1, "Float8_e5m2": 1, "Float8_e4m3fn": 1, "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}

// bytesOf adds up tensors; missing where a type is not known, or a size cannot be.
func bytesOf(tensors [][]int64, types []string, at evidence.Source) evidence.Value[units.Bytes] {
	const most = 1 << 50
	total := int64(0)
	for i, dims := range tensors {
		if len(types) == 0 {
			return evidence.Value[units.Bytes]{}
		}
		width, ok := widths[types[min(i, len(types)-1)]]
		if !ok {
			return evidence.Missing[units.Bytes]("element type "+types[min(i, len(types)-1)], at)
		}
		n := width
		for _, d := range dims {
			if d < 0 || d > most || n > most/max(d, 1) {
				return evidence.Missing[units.Bytes]("impossible size", at)
			}
			n *= d
		}
		if total += n; total > most {
			return evidence.Missing[units.Bytes]("impossible size", at)
		}
	}
	return evidence.Known(units.Bytes(total), at)
}
