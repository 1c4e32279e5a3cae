// Package qos owns reading how a NIC sorts traffic into priorities: mlnx_qos and cma_roce_tos of mlnx-tools, and dcb of
// iproute2.
//
// A RoCE packet is lossless only where its whole way is: the DSCP its queue pair sends has to be mapped to a priority
// that is trusted, has PFC on, and has a buffer. Each step stands in one of these outputs, and none of them names
// more than the interface it was asked for, if that.
package qos

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Interface reads mlnx_qos -i DEV (mlnx-tools, python/mlnx_qos and netlink's dcbnetlink). Sections are missing where
// the driver does not have them:
//
//	DCBX mode: OS controlled
//	Priority trust state: dscp
//	dscp2prio mapping:
//		prio:3 dscp:31,30,29,28,27,26,25,24,
//	Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016
//	Cable len: 7
//	PFC configuration:
//		priority    0   1   2   3   4   5   6   7
//		enabled     0   0   0   1   0   0   0   0
//		buffer      0   0   0   1   0   0   0   0
//	tc: 3 ratelimit: unlimited, tsa: ets, bw: 50%
//		 priority:  3
type Interface struct {
	f   *fragment.Fragment
	qos *evidence.QoS
	tc  int // of the "priority:" lines that follow, -1 before the first
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Interface { return &Interface{f: f, tc: -1} }

var heads = [][]byte{
	[]byte("DCBX mode:"), []byte("Priority trust state:"), []byte("dscp2prio mapping:"), []byte("Receive buffer size (bytes):"), []byte("PFC configuration:"), []byte("Cable len:"),
}

// Starts tells whether a line is one of mlnx_qos.
func Starts(line []byte) bool {
	for _, h := range heads {
		if bytes.HasPrefix(line, h) {
			return true
		}
	}
	return false
}

// Line reads one line; false means that it is not of this output.
func (r *Interface) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if t == "" {
		return true
	}
	at := r.f.At(n)
	key, value, _ := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	if key == "DCBX mode" || r.qos == nil {
		r.begin(n)
	}
	q := r.qos
	switch key {
	case "DCBX mode":
		who, _, _ := strings.Cut(value, " ")
		q.Controller = evidence.Known(who, at)
	case "Priority trust state":
		q.Trust = evidence.Known(value, at)
	case "dscp2prio mapping":
		q.DSCP = evidence.Known(noDSCP(), at)
	case "prio":
		r.dscp(value)
	case "Receive buffer size (bytes)":
		r.buffers(value, n)
	case "Cable len":
		if v, err := strconv.ParseUint(value, 10, 16); err == nil {
			q.Cable = evidence.Known(int(v), at)
		}
	case "PFC configuration", "default priority":
	case "tc":
		r.class(value, n)
	case "priority":
		if p, err := strconv.ParseUint(value, 10, 8); err == nil && p < evidence.Priorities && r.tc >= 0 {
			tc := q.TC.Or([evidence.Priorities]int{-1, -1, -1, -1, -1, -1, -1, -1})
			tc[p] = r.tc
			q.TC = evidence.Known(tc, at)
		}
	default:
		return r.row(t, at)
	}
	return true
}

func (r *Interface) begin(n int) {
	r.qos, r.tc = &evidence.QoS{From: r.f.At(n)}, -1
	r.f.TheHost().Dev(r.f.Device).QoS = r.qos
}

func noDSCP() (m evidence.DSCPMap) {
	for i := range m {
		m[i] = -1
	}
	return m
}

// dscp reads "3 dscp:31,30,29,28,27,26,25,24,".
func (r *Interface) dscp(value string) {
	number, list, ok := strings.Cut(value, " dscp:")
	priority, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
	m, known := r.qos.DSCP.Get()
	if !ok || err != nil || priority >= evidence.Priorities || !known {
		return
	}
	for word := range strings.SplitSeq(list, ",") {
		if d, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8); err == nil && int(d) < len(m) {
			m[d] = int8(priority)
		}
	}
	r.qos.DSCP = evidence.Known(m, r.qos.DSCP.From)
}

func (r *Interface) buffers(value string, n int) {
	var sizes []units.Bytes
	for word := range strings.SplitSeq(value, ",") {
		if most, ok := strings.CutPrefix(word, "max_buffer_size="); ok {
			if v, err := strconv.ParseUint(most, 10, 40); err == nil {
				r.qos.MaxBuffer = evidence.Known(units.Bytes(v), r.f.At(n))
			}
			continue
		}
		if v, err := strconv.ParseUint(strings.TrimSpace(word), 10, 40); err == nil && len(sizes) < evidence.Priorities {
			sizes = append(sizes, units.Bytes(v))
		}
	}
	if len(sizes) > 0 {
		r.qos.Buffers = evidence.Known(sizes, r.f.At(n))
	}
}

// class reads "3 ratelimit: unlimited, tsa: ets, bw: 50%".
func (r *Interface) class(value string, n int) {
	number, rest, _ := strings.Cut(value, " ")
	v, err := strconv.ParseUint(number, 10, 8)
	if err != nil || v >= evidence.Priorities {
		r.tc = -1
		return
	}
	r.tc = int(v)
	c := evidence.TrafficClass{Index: r.tc, From: r.f.At(n)}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "tsa":
			c.Algorithm = value
		case "ratelimit":
			c.Limit = evidence.Known(value, c.From)
		case "bw":
			if percent, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64); err == nil && percent >= 0 && percent <= 100 {
				c.Share = evidence.Known(percent/100, c.From)
			}
		}
	}
	if len(r.qos.Classes) < evidence.Priorities {
		r.qos.Classes = append(r.qos.Classes, c)
	}
}

// row reads the lines below "PFC configuration:".
func (r *Interface) row(t string, at evidence.Source) bool {
	words := strings.Fields(t)
	numbers, ok := eight(words[1:])
	switch {
	case words[0] == "priority":
		return true
	case words[0] == "enabled" && ok:
		var on [evidence.Priorities]bool
		for p, v := range numbers {
			on[p] = v != 0
		}
		r.qos.PFC = evidence.Known(on, at)
	case words[0] == "buffer" && ok:
		r.qos.Buffer = evidence.Known(numbers, at)
	default:
		return false
	}
	return true
}

func eight(words []string) (out [evidence.Priorities]int, ok bool) {
	if len(words) != len(out) {
		return out, false
	}
	for i, w := range words {
		v, err := strconv.ParseUint(w, 10, 8)
		if err != nil {
			return out, false
		}
		out[i] = int(v)
	}
	return out, true
}

// DCB reads what dcb of iproute2 shows of an interface (dcb/dcb_pfc.c, dcb_buffer.c, dcb_ets.c, dcb_app.c): pairs of
// numbers behind the name of a table. It does not name the interface.
//
//	prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
//	prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
//	prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7
//	dscp-prio 26:3 48:6
type DCB struct{ f *fragment.Fragment }

// NewDCB makes a reader for one output.
func NewDCB(f *fragment.Fragment) *DCB { return &DCB{f} }

var tables = [...]string{"prio-pfc ", "prio-buffer ", "prio-tc ", "dscp-prio ", "pfc-cap ", "ets-cap ", "buffer-size ", "tc-tsa ", "tc-bw "}

// StartsDCB tells whether a line is one of the output.
func StartsDCB(line []byte) bool {
	for _, t := range tables {
		if bytes.HasPrefix(line, []byte(t)) {
			return true
		}
	}
	return false
}

// Line reads one line; false means that it is not of this output.
func (d *DCB) Line(line []byte, n int) bool {
	if !StartsDCB(line) {
		return len(bytes.TrimSpace(line)) == 0
	}
	words := strings.Fields(string(line))
	at := d.f.At(n)
	dev := d.f.TheHost().Dev(d.f.Device)
	if dev.QoS == nil {
		dev.QoS = &evidence.QoS{From: at}
	}
	q := dev.QoS
	switch words[0] {
	case "prio-pfc":
		var on [evidence.Priorities]bool
		if pairs(words[1:], evidence.Priorities, func(p int, v string) { on[p] = v == "on" }) {
			q.PFC = evidence.Known(on, at)
		}
	case "prio-buffer", "prio-tc":
		var to [evidence.Priorities]int
		whole := pairs(words[1:], evidence.Priorities, func(p int, v string) { to[p] = number(v) })
		if whole && words[0] == "prio-tc" {
			q.TC = evidence.Known(to, at)
		} else if whole {
			q.Buffer = evidence.Known(to, at)
		}
	case "dscp-prio":
		m := noDSCP()
		pairs(words[1:], len(m), func(d int, v string) { m[d] = int8(number(v)) })
		q.DSCP = evidence.Known(m, at)
	}
	return true
}

// pairs reads "0:off 1:on"; true means that each index up to most was there.
func pairs(words []string, most int, set func(index int, value string)) bool {
	seen := 0
	for _, w := range words {
		index, value, ok := strings.Cut(strings.Trim(w, "[]"), ":")
		i, err := strconv.ParseUint(index, 10, 8)
		if !ok || err != nil || int(i) >= most {
			continue
		}
		set(int(i), value)
		seen++
	}
	return seen == most
}

func number(s string) int {
	v, err := strconv.ParseUint(s, 10, 7)
	if err != nil {
		return -1
	}
	return int(v)
}

// CMATOS reads cma_roce_tos -d mlx5_0, which prints one number: the type of service that connections made through
// rdma_cm send (mlnx-tools, sbin/cma_roce_tos). NCCL does not connect through it.
type CMATOS struct{ f *fragment.Fragment }

// NewCMATOS makes a reader for one output.
func NewCMATOS(f *fragment.Fragment) *CMATOS { return &CMATOS{f} }

// StartsCMATOS tells whether a line asks for the value.
func StartsCMATOS(line []byte) bool {
	return bytes.Contains(line, []byte("cma_roce_tos -d ")) || bytes.Contains(line, []byte("default_roce_tos"))
}

// Line reads one line; false means that it is not of this output.
func (c *CMATOS) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if StartsCMATOS(line) {
		c.asked(t, n)
		return true
	}
	v, err := strconv.ParseUint(t, 10, 8)
	if err != nil || c.f.Device == "" {
		return t == ""
	}
	c.f.TheHost().NIC(c.f.Device, 1).RoCETOS = evidence.Known(int(v), c.f.At(n))
	return true
}

// asked reads the device out of the command, and the value where the command sets it ("-t 106", "echo 106 >").
func (c *CMATOS) asked(t string, n int) {
	words := strings.Fields(t)
	set := int64(math.MaxInt64)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case w == "-d":
			c.f.Device = next
		case w == "-t", w == "echo":
			if v, err := strconv.ParseInt(next, 10, 9); err == nil && v >= 0 {
				set = v
			}
		case strings.Contains(w, "/rdma_cm/"):
			_, rest, _ := strings.Cut(w, "/rdma_cm/")
			c.f.Device, _, _ = strings.Cut(rest, "/")
		}
	}
	if set < math.MaxInt64 && c.f.Device != "" {
		c.f.TheHost().NIC(c.f.Device, 1).RoCETOS = evidence.Known(int(set), c.f.At(n))
	}
}
