package joblog

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// torch reads the watchdog of PyTorch's NCCL process groups (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp):
//
//	[rank0]:[E321 02:07:08.408 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout:
//	        WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=.., NumelOut=.., Timeout(ms)=600000) ran for 600060 milliseconds ...
//	[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, ..)   up to 1.12
//	... [Rank 0] Timeout at NCCL work: 1580, last enqueued NCCL work: 1580, last completed NCCL work: 1579.               2.3, 2.4
//	... [PG 0 Rank 0] Received a dump signal due to a collective timeout from rank 3 ... Last enqueued NCCL work: 12, ..  2.5
//	... [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1580,
//	        last enqueued NCCL work: 1582, last completed NCCL work: 1579.                              up to 2.5
//	... [PG ID 0 PG GUID 0(default_pg) Rank 118]  failure detected by watchdog at work sequence id: 2398459
//	        PG status: last enqueued work: 2398578, last completed work: 2398458                        2.6 on
//
// The states of the ranks tell a job whose ranks did not all call a collective from one whose data path failed.
func (l *Log) torch(f *fragment.Fragment, line []byte, n int) {
	i := bytes.Index(line, []byte("ProcessGroupNCCL"))
	text := line[i:]
	rank := int64(-1)
	if r, ok := numberAfter(text, "Rank "); ok {
		rank = r
	}
	switch {
	case bytes.Contains(text, []byte("Watchdog caught collective operation timeout")):
		e := evidence.Event{Kind: evidence.WatchdogTimeout, Host: f.Host, Rank: int(rank), File: "ProcessGroupNCCL.cpp", Time: torchTime(line[:i]), From: f.At(n)}
		e.Seq, _ = numberAfter(text, "SeqNum=")
		e.Elements, _ = numberAfter(text, "NumelIn=")
		e.What = string(between(text, "OpType=", ","))
		l.add(e, line)
	case bytes.Contains(text, []byte("ast enqueued")): // "Last" where it begins a sentence
		w := evidence.WorkState{Rank: int(rank), From: f.At(n), Enqueued: -1, Completed: -1, At: -1}
		for _, field := range []struct {
			to    *int64
			marks [3]string
		}{
			{&w.Enqueued, [3]string{"ast enqueued NCCL work:", "ast enqueued work:"}},
			{&w.Completed, [3]string{"ast completed NCCL work:", "ast completed work:"}},
			{&w.At, [3]string{"detected by watchdog at work:", "at work sequence id:", "Timeout at NCCL work:"}},
		} {
			for _, mark := range field.marks {
				if v, ok := numberAfter(text, mark); ok && mark != "" {
					*field.to = v
				}
			}
		}
		if w.Enqueued >= 0 && w.Completed >= 0 && len(l.inv.NCCL.Work) < MaxWork {
			l.inv.NCCL.Work = append(l.inv.NCCL.Work, w)
		}
	case bytes.Contains(text, []byte("terminated with exception: CUDA error")):
		_, what, _ := bytes.Cut(text, []byte("terminated with exception: "))
		l.add(evidence.Event{Kind: evidence.CudaError, Host: f.Host, Rank: int(rank), File: "ProcessGroupNCCL.cpp", Time: torchTime(line[:i]), What: string(what[:min(len(what), fragment.MaxText)]), From: f.At(n)}, line)
	case bytes.Contains(text, []byte("watchdog got stuck")):
		l.add(evidence.Event{Kind: evidence.OtherWarning, Host: f.Host, Rank: int(rank), File: "ProcessGroupNCCL.cpp", What: "watchdog got stuck", From: f.At(n)}, line)
	}
}

// torchTime is the time in glog's head: "E321 02:07:08.408271257 ", without the letter of the level.
func torchTime(head []byte) string {
	i := bytes.LastIndexByte(head, '[')
	if i < 0 || len(head)-i < 4 {
		return ""
	}
	return string(bytes.TrimSpace(head[i+2:]))
}
