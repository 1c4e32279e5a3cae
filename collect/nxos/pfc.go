package nxos

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// PFC reads show interface priority-flow-control:
//
//	============================================================
//	Port               Mode Oper(VL bmap)  RxPPP      TxPPP
//	============================================================
//	Ethernet1/2        Auto On   (8)       4088353    1890
//	Eth1/3             ON   On(8)          4885       3709920
//
// The bits of the map are the priorities that are paused. Whether it is decimal or hexadecimal shows only in maps of two
// digits, which are therefore not read.
type PFC struct{ f *fragment.Fragment }

// NewPFC makes a reader for one output.
func NewPFC(f *fragment.Fragment) *PFC { return &PFC{f} }

// StartsPFC tells whether a line is the head of the table.
func StartsPFC(line []byte) bool {
	return bytes.Contains(line, []byte("Oper(VL")) && bytes.Contains(line, []byte("RxPPP")) && bytes.Contains(line, []byte("TxPPP"))
}

// Line reads one line; false means that it is not of the table.
func (p *PFC) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if StartsPFC(line) || strings.Trim(t, "=- ") == "" {
		return true
	}
	cells := strings.Fields(t)
	port, ok := portName(cells[0])
	if !ok || len(cells) < 4 {
		return false
	}
	at := p.f.At(n)
	sp := p.f.Inv.Switch(p.f.Host).Port(port)
	priority := int8(telemetry.AnyPriority)
	middle := strings.Join(cells[2:len(cells)-2], "")
	oper, bits, mapped := strings.Cut(strings.TrimSuffix(middle, ")"), "(")
	on := strings.EqualFold(oper, "on")
	if v, err := strconv.ParseUint(bits, 10, 8); on && mapped && err == nil && len(bits) == 1 {
		var set [evidence.Priorities]bool
		enabled := 0
		for i := range 4 {
			if v>>i&1 == 1 {
				set[i], priority, enabled = true, int8(i), enabled+1
			}
		}
		if enabled != 1 {
			priority = telemetry.AnyPriority
		}
		if sp.QoS == nil {
			sp.QoS = &evidence.PortQoS{From: at}
		}
		sp.QoS.PFC = evidence.Known(set, at)
	}
	count(p.f, telemetry.SwitchPFCRx, "RxPPP", port, priority, cells[len(cells)-2], n)
	count(p.f, telemetry.SwitchPFCTx, "TxPPP", port, priority, cells[len(cells)-1], n)
	return true
}
