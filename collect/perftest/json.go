package perftest

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Read reads what the tests write with --out_json (src/perftest_parameters.c, write_test_info_to_file and
// write_bw_report_to_file):
//
//	{"test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_0", "Number_of_qps": 1, "Connection_type": "RC",
//	               "Mtu": 4096, "Link_type": "Ethernet", "GID_index": 3, "rdma_cm_QPs": "OFF", ..},
//	 "results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 392.1, "BW_average": 391.9, "MsgRate": 0.747471}}
//
// The unit of the bandwidths depends on an option that is not told, so the rate is worked out from the size and the
// rate of messages, which is in millions a second always. Names of results are compared by their letters: they
// differ between versions.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var r struct {
		Info struct {
			Test       string `json:"test"`
			Device     string `json:"Device"`
			QPs        *int   `json:"Number_of_qps"`
			Connection string `json:"Connection_type"`
			MTU        *int   `json:"Mtu"`
			Link       string `json:"Link_type"`
			GID        *int   `json:"GID_index"`
			RDMACM     string `json:"rdma_cm_QPs"`
		} `json:"test_info"`
		Results map[string]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	if len(f.Inv.Perftests) >= MaxRuns {
		return nil
	}
	at := f.At(line)
	run := evidence.Perftest{Test: strings.ReplaceAll(r.Info.Test, "_", " "), Host: f.Host, Device: r.Info.Device, From: at}
	if run.Device == "" {
		run.Device = f.Device
	}
	for _, v := range []struct {
		from *int
		to   *evidence.Value[int]
	}{{r.Info.QPs, &run.QPs}, {r.Info.MTU, &run.MTU}, {r.Info.GID, &run.GIDIndex}} {
		if v.from != nil {
			*v.to = evidence.Known(*v.from, at)
		}
	}
	if r.Info.Link != "" {
		run.LinkLayer = evidence.Known(layer(r.Info.Link), at)
	}
	if r.Info.Connection != "" {
		run.Connection = evidence.Known(r.Info.Connection, at)
	}
	if r.Info.RDMACM != "" {
		run.RDMACM = evidence.Known(r.Info.RDMACM == "ON", at)
	}
	row, err := result(r.Results, at)
	if err == nil {
		run.Rows = append(run.Rows, row)
	}
	f.Inv.Perftests = append(f.Inv.Perftests, run)
	if strings.Contains(r.Info.Test, "Latency") {
		return nil
	}
	return err
}

var errNoRate = errors.New("a bandwidth whose unit is not told, and no rate of messages")

// result reads the one row such a file has.
func result(members map[string]json.RawMessage, at evidence.Source) (evidence.PerftestRow, error) {
	var size, iterations, peak, average, messages float64
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v, err := strconv.ParseFloat(string(members[name]), 64)
		if err != nil || v < 0 {
			continue
		}
		switch letters(name) {
		case "msgsize", "bytes":
			size = v
		case "niterations", "iterations":
			iterations = v
		case "bwpeak":
			peak = v
		case "bwaverage", "bwavg":
			average = v
		case "msgrate", "msgrateavg":
			messages = v
		}
	}
	rate := messages * 1e6 * size * 8
	if rate <= 0 || rate > 1e17 || size > 1<<40 {
		return evidence.PerftestRow{}, errNoRate
	}
	row := evidence.PerftestRow{Bytes: units.Bytes(size), Iterations: int64(min(iterations, 1<<53)), Average: units.Rate(math.Round(rate)), From: at}
	if average > 0 && peak > 0 && peak/average < 1e3 {
		row.Peak = units.Rate(math.Round(rate * peak / average))
	}
	return row, nil
}

// letters is a name in lower case without anything but letters, and without a unit in brackets.
func letters(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "[")
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, name)
}
