package nxos

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// Queuing reads show queuing interface, and show queuing pfc-queue interface, which tells of the PFC watchdog:
//
//	Egress Queuing for Ethernet2/1 [System]
//	|                              QOS GROUP 3                          |
//	|                |  Unicast       | OOBFC Unicast  |  Multicast     |
//	|        Tx Byts |            1200|               0|               0|
//	| WRED & Tail Drop Pkts |       1|               0|
//	Ingress MMU Drop Pkts                       10
//	COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount
//	   3         3         3  Active           7        Active                 8
//
//	Ethernet1/23 Interface PFC watchdog: [Enabled]
//	| QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]
//	|                       Shutdown|                   1|
//
// Unicast is what is read where there are columns: RoCE is nothing else.
type Queuing struct {
	f        *fragment.Fragment
	port     string
	group    int8 // -1 in the groups of control traffic and copies
	watchdog bool
	byCoS    bool // in the table by CoS
}

// NewQueuing makes a reader for one output.
func NewQueuing(f *fragment.Fragment) *Queuing { return &Queuing{f: f, group: -1} }

var queuingHeads = [][]byte{[]byte("Egress Queuing for "), []byte("Ingress Queuing for ")}

// StartsQueuing tells whether a line begins a port.
func StartsQueuing(line []byte) bool {
	line = bytes.TrimLeft(line, " ")
	return bytes.HasPrefix(line, queuingHeads[0]) || bytes.HasPrefix(line, queuingHeads[1]) || bytes.Contains(line, []byte(" Interface PFC watchdog: "))
}

// Line reads one line; false means that it is not of the output.
func (q *Queuing) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if StartsQueuing(line) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(t, "Egress Queuing for "), "Ingress Queuing for "))
		q.port, q.group, q.byCoS = "", -1, false
		if len(words) > 0 {
			q.port, _ = portName(words[0])
		}
		q.watchdog = strings.Contains(t, "PFC watchdog")
		if q.port != "" {
			q.f.Inv.Switch(q.f.Host).Port(q.port)
		}
		return true
	}
	switch {
	case t == "" || q.port == "":
	case strings.HasPrefix(t, "|"):
		q.row(strings.Split(strings.Trim(t, "|"), "|"), n)
	case strings.HasPrefix(t, "COS QOS Group"):
		q.byCoS = true
	case strings.HasPrefix(t, "Ingress MMU Drop Pkts"):
		count(q.f, telemetry.SwitchDropped, "Ingress MMU Drop Pkts", q.port, telemetry.AnyPriority, strings.TrimSpace(t[len("Ingress MMU Drop Pkts"):]), n)
	case q.byCoS:
		q.cos(strings.Fields(t), n)
	}
	return true
}

// row reads one row of the table of a group.
func (q *Queuing) row(cells []string, n int) {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if strings.Contains(cells[0], "QOS GROUP") {
		q.group = -1
		rest, _ := strings.CutPrefix(cells[0], "QOS GROUP ")
		number, _, _ := strings.Cut(rest, " ")
		if g, ok := class(number); ok {
			q.group = g
		}
		return
	}
	if q.group < 0 {
		return
	}
	for i := 0; i+1 < len(cells); i++ { // older systems have two counters in a row
		if c, ok := rows[cells[i]]; ok && c.watchdog == q.watchdog {
			count(q.f, c.id, cells[i], q.port, q.group, cells[i+1], n)
		}
	}
}

// rows are the counters of a group by the words of the table.
var rows = map[string]struct {
	id       telemetry.SeriesID
	watchdog bool
}{
	"Tx Byts": {telemetry.SwitchTxBytes, false}, "Dropped Pkts": {telemetry.SwitchQueueDropped, false}, "WRED & Tail Drop Pkts": {telemetry.SwitchQueueDropped, false},
	"WD & Tail Drop Pkts": {telemetry.SwitchQueueDropped, false}, "Q Depth Byts": {telemetry.SwitchQueueBytes, false},
	"Shutdown": {telemetry.SwitchPFCStorms, true}, "Restored": {telemetry.SwitchPFCStormsEnded, true}, "Total pkts dropped": {telemetry.SwitchPFCStormDrops, true},
}

// cos reads "3 3 3 Active 7 Active 8": what was sent and received of pauses in a priority.
func (q *Queuing) cos(cells []string, n int) {
	if len(cells) != 7 {
		return
	}
	if priority, ok := class(cells[0]); ok {
		count(q.f, telemetry.SwitchPFCTx, "TxCount", q.port, priority, cells[4], n)
		count(q.f, telemetry.SwitchPFCRx, "RxCount", q.port, priority, cells[6], n)
	}
}
