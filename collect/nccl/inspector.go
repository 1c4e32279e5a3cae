package nccl

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxInspected limits the records of the inspector kept of all inputs: 1000 ranks with 250 operations each. A job
// writes one a rank and operation, so the first ones stand for the rest.
const MaxInspected = 1 << 18

// kinds are the names of nccl-tests for the functions NCCL names.
var kinds = map[string]string{
	"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast", "Reduce": "reduce",
	"Send": "send", "Recv": "recv", "SendRecv": "sendrecv", "AllToAll": "alltoall",
}

// ReadInspector reads one record of NCCL's inspector, a profiler plugin (ext-profiler/inspector/inspector.cc and json.cc,
// NCCL 2.28 on). Algorithm and protocol are there since version 4.2 of its format, transfers between two ranks since
// 5:
//
//	{"header":{"id":"0x7f..","rank":2,"n_ranks":8,"nnodes":1},
//	 "metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":17..,"hostname":"node1","pid":16},
//	 "coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,
//	              "coll_algobw_gbs":277.2,"coll_busbw_gbs":485.1}}
//
// The bandwidths are in GB/s, as nccl-tests define them.
func ReadInspector(f *fragment.Fragment, text []byte, line int) error {
	var r struct {
		Header struct {
			ID    string `json:"id"`
			Rank  *int   `json:"rank"`
			Ranks int    `json:"n_ranks"`
		} `json:"header"`
		Metadata struct {
			Host string `json:"hostname"`
		} `json:"metadata"`
		Coll *struct {
			Name   string  `json:"coll"`
			Seq    int64   `json:"coll_sn"`
			Bytes  int64   `json:"coll_msg_size_bytes"`
			Micros float64 `json:"coll_exec_time_us"`
			AlgBW  float64 `json:"coll_algobw_gbs"`
			BusBW  float64 `json:"coll_busbw_gbs"`
			Algo   string  `json:"coll_algo"`
			Proto  string  `json:"coll_proto"`
		} `json:"coll_perf"`
		P2P *struct {
			Name   string  `json:"p2p"`
			Seq    int64   `json:"p2p_sn"`
			Peer   *int    `json:"p2p_peer"`
			Bytes  int64   `json:"p2p_msg_size_bytes"`
			Micros float64 `json:"p2p_exec_time_us"`
			AlgBW  float64 `json:"p2p_algobw_gbs"`
			BusBW  float64 `json:"p2p_busbw_gbs"`
		} `json:"p2p_perf"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	at := f.At(line)
	if r.Metadata.Host != "" {
		f.Host, _, _ = strings.Cut(r.Metadata.Host, ".")
	}
	c := evidence.Call{Name: "inspector", Ranks: r.Header.Ranks, Step: -1, Wrong: -1, Table: -1, Host: f.Host, Comm: r.Header.ID, From: at}
	if r.Header.Rank != nil {
		c.Rank = evidence.Known(*r.Header.Rank, at)
	}
	var micros float64
	switch {
	case r.Coll != nil:
		c.Kind, c.Seq, c.Bytes, micros = kinds[r.Coll.Name], r.Coll.Seq, units.Bytes(r.Coll.Bytes), r.Coll.Micros
		c.AlgBW, c.BusBW, c.Algorithm, c.Protocol = r.Coll.AlgBW, r.Coll.BusBW, strings.ToLower(r.Coll.Algo), r.Coll.Proto
	case r.P2P != nil:
		c.Kind, c.Seq, c.Bytes, micros = kinds[r.P2P.Name], r.P2P.Seq, units.Bytes(r.P2P.Bytes), r.P2P.Micros
		c.AlgBW, c.BusBW = r.P2P.AlgBW, r.P2P.BusBW
		if r.P2P.Peer != nil {
			c.Peer = evidence.Known(*r.P2P.Peer, at)
		}
	default:
		return nil // statistics of a dump
	}
	if micros < 0 || micros > maxMicros || math.IsNaN(micros) {
		return nil
	}
	c.Time = units.Duration(micros * float64(units.Microsecond))
	if len(f.Inv.Calls) < MaxInspected {
		f.Inv.Calls = append(f.Inv.Calls, c)
	}
	return nil
}

// maxMicros is a day: no operation takes that long, and it fits picoseconds.
const maxMicros = 86400e6
