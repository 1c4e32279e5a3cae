package nccltests

import (
	"encoding/json"
	"slices"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// half is one half of a row in JSON. "nwrong" is null where nothing was checked.
type half struct {
	Time   *float64 `json:"time"`     // us
	CPU    *float64 `json:"cpu_time"` // in place of it with -C
	AlgBW  float64  `json:"alg_bw"`
	BusBW  float64  `json:"bus_bw"`
	NWrong *float64 `json:"nwrong"`
}

// Read reads what nccl-tests write with -J (src/util.cu, writeBenchmarkLineBody and writeResultFooter):
//
//	{"nccl_version":..,"config":{"minimum_bytes":8,..,"devices":[{"rank":0,"hostname":"node1",..}]},
//	 "results":[{"size":8,..,"out_of_place":{"time":12.3,"alg_bw":0,"bus_bw":0,"nwrong":0},"in_place":{..},"experiment_name":"all_reduce_perf"}],
//	 "out_of_bounds":{"count":0,..},"average_bus_bandwidth":{"bandwidth":123.4,..}}
func Read(f *fragment.Fragment, text []byte, line int) error {
	var r struct {
		Config struct {
			MinBytes *int64 `json:"minimum_bytes"`
			Devices  []struct {
				Rank int    `json:"rank"`
				Host string `json:"hostname"`
			} `json:"devices"`
		} `json:"config"`
		Results []struct {
			Size int64  `json:"size"`
			Out  *half  `json:"out_of_place"`
			In   *half  `json:"in_place"`
			Name string `json:"experiment_name"`
		} `json:"results"`
		Out *struct {
			Count int64 `json:"count"`
		} `json:"out_of_bounds"`
		Average *struct {
			Bandwidth float64 `json:"bandwidth"`
		} `json:"average_bus_bandwidth"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	at := f.At(line)
	t := New(f)
	t.ranks = len(r.Config.Devices)
	for _, d := range r.Config.Devices {
		if !slices.Contains(t.hosts, d.Host) && len(t.hosts) < evidence.MaxPorts {
			t.hosts = append(t.hosts, d.Host)
		}
	}
	if r.Config.MinBytes != nil && *r.Config.MinBytes >= 0 {
		t.least = evidence.Known(units.Bytes(*r.Config.MinBytes), at)
	}
	if len(r.Results) > 0 {
		t.test = TestOf(r.Results[0].Name)
	}
	t.begin(line)
	if r.Out != nil {
		t.table().OutOfBounds = evidence.Known(r.Out.Count, at)
	}
	if r.Average != nil {
		t.table().AvgBusBW = evidence.Known(r.Average.Bandwidth, at)
	}
	for _, row := range r.Results {
		for i, h := range []*half{row.Out, row.In} {
			if h == nil || row.Size < 0 {
				continue
			}
			c := t.call(row.Size, line)
			c.InPlace = i == 1
			micros := h.Time
			if micros == nil {
				micros = h.CPU
			}
			if micros == nil || *micros < 0 || *micros > 1e12 || h.AlgBW < 0 || h.BusBW < 0 {
				continue
			}
			c.Time, c.AlgBW, c.BusBW = units.Duration(*micros*float64(units.Microsecond)), h.AlgBW, h.BusBW
			if h.NWrong != nil && *h.NWrong >= 0 && *h.NWrong < 1<<62 {
				c.Wrong = int64(*h.NWrong)
			}
			t.add(c, 3)
		}
	}
	return nil
}
