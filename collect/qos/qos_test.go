package qos

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line(line []byte, n int) bool }

func feed(t *testing.T, r reader, text string) {
	t.Helper()
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		n++
		if !r.Line([]byte(line), n) {
			t.Errorf("%q is not taken", line)
		}
	}
}

const whole = `DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
	prio:0 dscp:07,06,05,04,03,02,01,00,
	prio:3 dscp:31,30,29,28,27,26,25,24,
	prio:6 dscp:48,
default priority:
Receive buffer size (bytes): 130944,130944,0,0,0,0,0,0,max_buffer_size=262016
Cable len: 7
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   1   0   0   0   0   
	buffer      0   0   0   1   0   0   0   0   
tc: 0 ratelimit: unlimited, tsa: ets, bw: 40%
	 priority:  0
	 priority:  1
tc: 3 ratelimit: 10.0 Gbps, tsa: strict
	 priority:  3
`

func TestInterface(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = "ens3np0"
	feed(t, New(f), whole)
	q := inv.Host("").Dev("ens3np0").QoS
	if q == nil {
		t.Fatal("nothing was read")
	}
	if got := fmt.Sprint(q.Controller, " ", q.Trust, " ", q.Cable, " ", q.PFC, " ", q.Buffer); got != "OS dscp 7 [false false false true false false false false] [0 0 0 1 0 0 0 0]" {
		t.Error(got)
	}
	if q.MaxBuffer.Or(0) != 262016 || len(q.Buffers.Or(nil)) != 8 || q.Buffers.Or(nil)[1] != 130944 {
		t.Errorf("buffers %v of %v", q.Buffers, q.MaxBuffer)
	}
	m, _ := q.DSCP.Get()
	if m[26] != 3 || m[0] != 0 || m[48] != 6 || m[10] != -1 {
		t.Errorf("DSCP %v", m)
	}
	if got := fmt.Sprint(q.TC); got != "[0 0 -1 3 -1 -1 -1 -1]" {
		t.Error(got)
	}
	if len(q.Classes) != 2 || q.Classes[0].Share.Or(0) != 0.4 || q.Classes[1].Algorithm != "strict" || q.Classes[1].Share.Known() || q.Classes[1].Limit.Or("") != "10.0 Gbps" {
		t.Errorf("%+v", q.Classes)
	}
}

// What an old driver does not print stays unknown.
func TestOldDriver(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = "eth2"
	feed(t, New(f), "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   0   0   0   0   0\ntc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  1\n")
	q := inv.Host("").Dev("eth2").QoS
	if q.Trust.Known() || q.DSCP.Known() || q.Buffer.Known() || q.Buffers.Known() || q.Cable.Known() || !q.PFC.Known() {
		t.Errorf("%+v", q)
	}
}

func TestDCB(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Device = "eth2"
	feed(t, NewDCB(f), `pfc-cap 8 macsec-bypass off delay 0
prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
prio-tc 0:0 1:1 2:2 3:3 4:4
dscp-prio 26:3 48:6
`)
	q := inv.Host("").Dev("eth2").QoS
	pfc, _ := q.PFC.Get()
	m, _ := q.DSCP.Get()
	if !pfc[3] || pfc[2] || q.Buffer.Or([8]int{})[3] != 1 || q.TC.Known() || m[26] != 3 || m[24] != -1 {
		t.Errorf("%+v", q)
	}
}

func TestCMATOS(t *testing.T) {
	for _, text := range []string{"$ cma_roce_tos -d mlx5_0\n106", "cma_roce_tos -d mlx5_0 -t 106", "echo 106 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "cat /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos\n106"} {
		inv := &evidence.Inventory{}
		feed(t, NewCMATOS(fragment.New(inv, "f")), text)
		if v := inv.Host("").NIC("mlx5_0", 1).RoCETOS; v.Or(0) != 106 {
			t.Errorf("%q: %v", text, v)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("prio-pfc 0:on 9:on\ndscp-prio 99:1\ncma_roce_tos -d x -t 999\n12"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		readers := []reader{New(fr), NewDCB(fr), NewCMATOS(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			Starts(line)
			StartsDCB(line)
			StartsCMATOS(line)
			for _, r := range readers {
				r.Line(line, 1)
			}
		}
	})
}
