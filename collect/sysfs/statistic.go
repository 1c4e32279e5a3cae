package sysfs

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
)

// Statistic reads rdma statistic show (iproute2, rdma/stat.c), which prints hw_counters over netlink:
//
//	link mlx5_0/1 rx_write_requests 4230 rx_read_requests 0 out_of_sequence 17 ...
//
// With -p the counters of a link stand on lines of their own, below it.
type Statistic struct {
	f      *fragment.Fragment
	device string
	port   int
}

// NewStatistic makes a reader for one output.
func NewStatistic(f *fragment.Fragment) *Statistic { return &Statistic{f: f} }

// StartsStatistic tells whether a line begins a link.
func StartsStatistic(line []byte) bool {
	_, _, ok := link(line)
	return ok
}

// link reads "link mlx5_0/1". "rdma link" prints the same with "state" behind, and is none.
func link(line []byte) (device string, port int, ok bool) {
	f := bytes.Fields(line[:min(len(line), 200)])
	if len(f) < 2 || string(f[0]) != "link" || len(f) > 2 && string(f[2]) == "state" {
		return "", 0, false
	}
	name, number, ok := strings.Cut(string(f[1]), "/")
	port, err := strconv.Atoi(number)
	return name, port, ok && err == nil && port > 0
}

// Line reads one line; false means that it is not of the output.
func (s *Statistic) Line(line []byte, n int) bool {
	words := strings.Fields(string(line))
	if device, port, ok := link(line); ok {
		s.device, s.port = device, port
		s.f.TheHost().NIC(device, port)
		words = words[2:]
	}
	if s.device == "" {
		return len(words) == 0
	}
	for i := 0; i+1 < len(words); i += 2 {
		v, err := strconv.ParseUint(words[i+1], 10, 64)
		if err != nil {
			return false
		}
		if c, ok := hwCounters[words[i]]; ok {
			s.f.Count(c, words[i], s.device, s.port, v, n)
		}
	}
	return true
}

// ReadStatistic reads rdma -j statistic show: the same in objects, whose members are the counters.
func ReadStatistic(f *fragment.Fragment, text []byte, line int) error {
	var links []map[string]json.RawMessage
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		var name string
		var port int
		if json.Unmarshal(l["ifname"], &name) != nil || json.Unmarshal(l["port"], &port) != nil || name == "" || port < 1 || port > 255 {
			continue
		}
		f.TheHost().NIC(name, port)
		for _, counter := range slices.Sorted(maps.Keys(l)) {
			c, ok := hwCounters[counter]
			if v, err := strconv.ParseUint(string(l[counter]), 10, 64); ok && err == nil {
				f.Count(c, counter, name, port, v, line)
			}
		}
	}
	return nil
}
