package joblog

import (
	"bytes"
	"encoding/hex"
	"net/netip"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// transfer reads engines that move tensors between hosts over verbs of their own, which print through glog. Mooncake's
// (mooncake-transfer-engine/src/transport/rdma_transport):
//
//	... rdma_context.cpp:125] RDMA device: mlx5_0, LID: 0, GID: (GID_Index 1) fe:80:00:00:00:00:00:00:9e:63:c0:ff:fe:65:ab:90
//	... rdma_endpoint.cpp:385] [Handshake] Failed to modify QP to RTR, check mtu, gid, peer lid, peer qp num: Connection timed out [110]
//	... worker_pool.cpp:294] Worker: Process failed for slice (..., local_nic: mlx5_0, peer_nic: node2:17000@mlx5_3, ...): transport retry counter exceeded
//
// The second is what others say, too (UCCL, NVSHMEM, and small programs): "Failed to modify QP to RTR: Connection timed out".
func (l *Log) transfer(f *fragment.Fragment, line []byte, n int) Source {
	switch {
	case bytes.Contains(line, []byte("RDMA device: ")) && bytes.Contains(line, []byte("(GID_Index ")):
		q := evidence.QPSetup{Host: f.Host, Device: -1, Name: string(between(line, "RDMA device: ", ",")), GIDIndex: -1, From: f.At(n)}
		lid, _ := numberAfter(line, "LID: ")
		index, ok := numberAfter(line, "(GID_Index ")
		if q.LID = int(lid); ok && lid == 0 { // with a LID it is InfiniBand, where the index selects no address
			q.GIDIndex = int(index)
		}
		if i := bytes.LastIndexByte(line, ' '); i >= 0 {
			q.GID = colonGID(bytes.TrimSpace(line[i+1:]))
		}
		if len(l.inv.NCCL.QPs) < MaxQPs {
			l.inv.NCCL.QPs = append(l.inv.NCCL.QPs, q)
		}
		return Mooncake
	case bytes.Contains(line, []byte("transport retry counter exceeded")) && bytes.Contains(line, []byte("local_nic: ")):
		e := evidence.Event{Kind: evidence.CompletionError, Status: 12, Host: f.Host, Rank: -1, File: "worker_pool.cpp", From: f.At(n)}
		e.Device = string(between(line, "local_nic: ", ","))
		peer, _, _ := bytes.Cut(between(line, "peer_nic: ", ","), []byte("@"))
		peer, _, _ = bytes.Cut(peer, []byte(":"))
		e.Peer = string(peer)
		l.add(e, line)
		return Mooncake
	case bytes.Contains(line, []byte("odify QP")) && bytes.Contains(line, []byte("to RTR")):
		errno := errnoOf(line)
		if errno == "" {
			return None
		}
		l.add(evidence.Event{Kind: evidence.ModifyQPFailed, Host: f.Host, Rank: -1, Errno: errno, From: f.At(n)}, line)
		return Mooncake
	}
	return None
}

// MaxQPs is how many set-ups of queue pairs are kept of these engines: one a device and process of the largest jobs.
const MaxQPs = 1 << 16

// colonGID reads a GID of 16 bytes with a colon behind each but the last.
func colonGID(b []byte) netip.Addr {
	digits := bytes.ReplaceAll(b, []byte(":"), nil)
	var raw [16]byte
	if len(digits) != 2*len(raw) {
		return netip.Addr{}
	}
	if _, err := hex.Decode(raw[:], digits); err != nil {
		return netip.Addr{}
	}
	return netip.AddrFrom16(raw)
}
