package sonic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// Counters reads show interfaces counters (sonic-utilities, scripts/portstat), which counts packets, and the rate in
// bytes; with fec-stats, FEC instead.
//
//	  IFACE    STATE            RX_OK        RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    TX_OK  TX_BPS ...
//	-----------  -------  ---------------  ------------  ---------  --------  --------  --------
//	Ethernet0        U  471,729,839,997  653.87 MB/s     12.77%         0    18,682         0
type Counters struct {
	f *fragment.Fragment
	table
}

// NewCounters makes a reader for one output.
func NewCounters(f *fragment.Fragment) *Counters { return &Counters{f: f} }

// StartsCounters tells whether a line is the head of the table.
func StartsCounters(line []byte) bool {
	return bytes.Contains(line, []byte("IFACE")) && bytes.Contains(line, []byte("STATE")) && (bytes.Contains(line, []byte("RX_OK")) || bytes.Contains(line, []byte("FEC_UNCORR")))
}

// Line reads one line; false means that it is not of the table.
func (c *Counters) Line(line []byte, n int) bool {
	switch {
	case StartsCounters(line):
		c.head, c.columns = split(line), nil
		return true
	case c.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := c.cells(line)
	port := c.cell(row, "IFACE")
	if !isPort(port) {
		return false
	}
	c.f.Inv.Switch(c.f.Host).Port(port)
	for _, x := range []struct {
		column string
		id     telemetry.SeriesID
	}{{"TX_OK", telemetry.SwitchTxPackets}, {"RX_ERR", telemetry.SwitchRxErrors}, {"TX_DRP", telemetry.SwitchDropped}, {"FEC_UNCORR", telemetry.SwitchFECUncorrectable}} {
		count(c.f, x.id, x.column, port, telemetry.AnyPriority, 1, c.cell(row, x.column), n)
	}
	if v, ok := rateOf(c.cell(row, "TX_BPS")); ok {
		c.f.Count(fragment.Counter{Series: telemetry.SwitchTxRate, Priority: telemetry.AnyPriority, Scale: 8}, "TX_BPS", port, 1, v, n)
	}
	return true
}

// Pause reads show pfc counters (sonic-utilities, scripts/pfcstat): one table for what was received, one for what was
// sent.
//
//	  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
//	---------  ------  ------  ------  ------  ------  ------  ------  ------
//	Ethernet0       0       0       0   1,204       0       0       0       0
type Pause struct {
	f *fragment.Fragment
	table
	id telemetry.SeriesID
}

// NewPause makes a reader for one output.
func NewPause(f *fragment.Fragment) *Pause { return &Pause{f: f} }

// StartsPause tells whether a line is the head of one of the tables.
func StartsPause(line []byte) bool {
	return bytes.Contains(line, []byte("PFC0")) && bytes.Contains(line, []byte("PFC7")) && (bytes.Contains(line, []byte("Port Rx")) || bytes.Contains(line, []byte("Port Tx")))
}

// Line reads one line; false means that it is not of the tables.
func (p *Pause) Line(line []byte, n int) bool {
	switch {
	case StartsPause(line):
		p.head, p.columns = split(line), nil
		p.id = telemetry.SwitchPFCRx
		if bytes.Contains(line, []byte("Port Tx")) {
			p.id = telemetry.SwitchPFCTx
		}
		return true
	case p.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := p.cells(line)
	if len(row) == 0 || len(p.head) == 0 || !isPort(row[0]) {
		return false
	}
	p.f.Inv.Switch(p.f.Host).Port(row[0])
	for prio := range 8 {
		name := "PFC" + strconv.Itoa(prio)
		count(p.f, p.id, name+p.head[0], row[0], int8(prio), 1, p.cell(row, name), n)
	}
	return true
}

// Queues reads show queue counters (sonic-utilities, scripts/queuestat), with --wredstat marks too:
//
//	     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
//	---------  -----  --------------  ---------------  -----------  ------------
//	Ethernet0    UC3             100          409,600            0             0
type Queues struct {
	f *fragment.Fragment
	table
}

// NewQueues makes a reader for one output.
func NewQueues(f *fragment.Fragment) *Queues { return &Queues{f: f} }

// StartsQueues tells whether a line is the head of the table.
func StartsQueues(line []byte) bool {
	return bytes.Contains(line, []byte("TxQ")) && (bytes.Contains(line, []byte("Counter/pkts")) || bytes.Contains(line, []byte("EcnMarked/pkts")))
}

// Line reads one line; false means that it is not of the table.
func (q *Queues) Line(line []byte, n int) bool {
	switch {
	case StartsQueues(line):
		q.head, q.columns = split(line), nil
		return true
	case q.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := q.cells(line)
	port := q.cell(row, "Port")
	if !isPort(port) {
		return false
	}
	// Unicast queues 0 to 7 serve the traffic classes; those of multicast (MC8...) carry no RoCE.
	number, unicast := strings.CutPrefix(q.cell(row, "TxQ"), "UC")
	queue, ok := small(number, 8)
	if !unicast || !ok {
		return true
	}
	q.f.Inv.Switch(q.f.Host).Port(port)
	for _, x := range []struct {
		column string
		id     telemetry.SeriesID
	}{{"Counter/bytes", telemetry.SwitchTxBytes}, {"Drop/pkts", telemetry.SwitchQueueDropped}, {"EcnMarked/pkts", telemetry.SwitchECNMarked}} {
		count(q.f, x.id, x.column, port, int8(queue), 1, q.cell(row, x.column), n)
	}
	return true
}
