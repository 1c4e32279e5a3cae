package nccl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func TestConnections(t *testing.T) {
	inv := &evidence.Inventory{}
	l, f, n := NewLog(inv, fragment.NewEvents(), true), fragment.New(inv, "nccl.log"), &inv.NCCL
	const log = `node2:20:21 [1] NCCL INFO Channel 00/02 :    0   1   2   3
node2:20:21 [1] NCCL INFO Channel 03/1 : 9[1] -> 1[1] [send] via NET/IB/1(8)/GDRDMA
node2:20:21 [1] NCCL INFO Channel 03/1 : 9[1] -> 1[1] [send] via NET/IB/1(8)/GDRDMA
node1:20:21 [1] NCCL INFO Channel 00 : 9[3d000] -> 1[1a000] [receive] via NET/Socket/0
node1:20:21 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM/read
node3:72:74 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/1/GDRDMA
node1:20:21 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] [send] via NET
node1:20:21 [1] NCCL INFO Channel 00/0 : x[1] -> 2[2] [send] via NET/IB/0
node1:20:21 [1] NCCL INFO Ring 00 : 5[3d000] -> 6[1a000] via NET/IB/0
`
	for i, line := range strings.Split(log, "\n") {
		l.Line(f, []byte(line), i+1)
	}
	if got := read(t, log).Connections; got != nil {
		t.Errorf("kept though nobody asked: %v", got)
	}
	want := []evidence.Connection{
		{Host: "node2", Src: 9, Dst: 1, Channel: 3, Index: 1, Send: true, Via: "NET/IB", Device: 1},
		{Host: "node2", Src: 9, Dst: 1, Channel: 3, Index: 1, Send: true, Via: "NET/IB", Device: 1},
		{Host: "node1", Src: 9, Dst: 1, Via: "NET/Socket"},
		{Host: "node3", Src: 0, Dst: 8, Channel: 1, Send: true, Via: "NET/AWS Libfabric", Device: 1},
	}
	if diff := cmp.Diff(want, n.Connections, cmpopts.IgnoreFields(evidence.Connection{}, "From")); diff != "" {
		t.Error(diff)
	}
	if n.MoreConnections != 0 {
		t.Errorf("%d connections past the limit", n.MoreConnections)
	}
}
