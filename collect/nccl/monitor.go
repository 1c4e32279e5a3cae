package nccl

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxRASEvents limits the events kept of all clients that watched.
const MaxRASEvents = 1 << 14

// monitor reads what RAS tells a client that watches (ncclras -m, NCCL 2.29 on):
//
//	RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...
//	[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 192.0.2.7 managing GPU 1
func (l *Log) monitor(f *fragment.Fragment, line []byte, n int) bool {
	if bytes.HasPrefix(line, []byte("RAS Monitor Mode")) {
		return true
	}
	const stamp = len("[2025-12-19 13:07:07] ")
	if len(line) < stamp || line[0] != '[' || line[stamp-2] != ']' || line[11] != ' ' {
		return false
	}
	event, rest, ok := bytes.Cut(line[stamp:], []byte(": "))
	if !ok || len(event) == 0 || len(bytes.Trim(event, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")) != 0 || !bytes.HasPrefix(rest, []byte("Process ")) {
		return false
	}
	peer, ok := rasProcess(string(rest))
	if !ok {
		return false
	}
	l.inv.NCCL.RASEvents = rasEvent(&l.inv.NCCL, evidence.RASEvent{Time: string(line[1 : stamp-2]), Event: string(event), Peer: peer, From: f.At(n)})
	return true
}

// rasEvent keeps an event. A process that is dead is lost as it is in a report.
func rasEvent(to *evidence.NCCL, e evidence.RASEvent) []evidence.RASEvent {
	if len(to.RASEvents) >= MaxRASEvents {
		return to.RASEvents
	}
	e.Peer.From = e.From
	if e.Event == "PEER_DEAD" {
		e.Peer.Dead, e.Peer.Unresponsive = true, true
		to.RASReports = append(to.RASReports, evidence.RASSummary{Lost: []evidence.RASRank{e.Peer}, From: e.From})
	}
	return append(to.RASEvents, e)
}

// ReadRASEvent reads an event in JSON.
func ReadRASEvent(f *fragment.Fragment, text []byte, line int) error {
	var e struct {
		Time  string `json:"timestamp"`
		Event string `json:"event"`
		Peer  struct {
			Host string `json:"host"`
			PID  int    `json:"pid"`
			GPUs []int  `json:"cuda_devs"`
		} `json:"peer"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	peer := evidence.RASRank{Rank: -1, GPU: -1, Host: e.Peer.Host, Process: e.Peer.PID}
	if len(e.Peer.GPUs) == 1 { // a process may have several
		peer.GPU = e.Peer.GPUs[0]
	}
	to := &f.Inv.NCCL
	to.RASEvents = rasEvent(to, evidence.RASEvent{Time: e.Time, Event: strings.ToUpper(e.Event), Peer: peer, From: f.At(line)})
	return nil
}
