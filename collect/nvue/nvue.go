// Package nvue owns reading what NVUE of Cumulus Linux prints of a port's queues and pauses: nv show interface PORT
// counters qos and its parts, as tables and with -o json. Up to Cumulus Linux 5.4 the command is nv show interface PORT
// qos counters.
//
// No line names the port: the prompt with the command does, or the file's name.
package nvue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// counters are the columns that are read, by the first column of their table. The durations of pauses have no unit that
// is documented and are left out, as are the discards of the ingress buffer.
var counters = []struct {
	group string // member of the JSON form
	key   string // first column of the table
	names map[string]telemetry.SeriesID
}{
	{"egress-queue-stats", "traffic-class", map[string]telemetry.SeriesID{
		"tx-bytes": telemetry.SwitchTxBytes, "tx-uc-buffer-discards": telemetry.SwitchQueueDropped, "wred-discards": telemetry.SwitchQueueDropped, "ecn-marked-frames": telemetry.SwitchECNMarked,
	}},
	{"pfc-stats", "switch-priority", map[string]telemetry.SeriesID{"rx-pause-frames": telemetry.SwitchPFCRx, "tx-pause-frames": telemetry.SwitchPFCTx}},
}

// Table reads the tables:
//
//	Egress Queue Statistics
//	==========================
//	    traffic-class  tx-frames  tx-bytes  tx-uc-buffer-discards  wred-discards
//	    -------------  ---------  --------  ---------------------  -------------
//	    3              1204       5.2 MB    12 Bytes               0
//
// Of what is written in larger units only the bytes of a class are left out: what they grow by is lost in the rounding.
// tx-uc-buffer-discards are frames, although the tables write them as if they were bytes.
type Table struct {
	f       *fragment.Fragment
	head    []string
	columns []int // where they begin, from the line of dashes
	which   int   // index into counters, -1 in another table
}

// NewTable makes a reader for one output.
func NewTable(f *fragment.Fragment) *Table { return &Table{f: f, which: -1} }

// StartsTable tells whether a line is the head of one of the tables.
func StartsTable(line []byte) bool {
	line = bytes.TrimLeft(line, " ")
	if !bytes.HasPrefix(line, []byte(counters[0].key)) && !bytes.HasPrefix(line, []byte(counters[1].key)) {
		return false
	}
	return tableOf(bytes.Fields(line)) >= 0
}

func tableOf(head [][]byte) int {
	for i, c := range counters {
		if len(head) > 2 && string(head[0]) == c.key {
			for _, name := range head[1:] {
				if _, ok := c.names[string(name)]; ok {
					return i
				}
			}
		}
	}
	return -1
}

// Line reads one line; false means that it is not of the tables.
func (t *Table) Line(line []byte, n int) bool {
	words := bytes.Fields(line)
	switch {
	case len(words) == 0:
		return true
	case tableOf(words) >= 0:
		t.which, t.head, t.columns = tableOf(words), nil, nil
		for _, w := range words {
			t.head = append(t.head, string(w))
		}
		return true
	case len(bytes.Trim(line, "-= ")) == 0:
		t.dashes(line)
		return true
	}
	if !t.row(line, n) {
		t.which = -1 // the head of another table, or its rows
	}
	return true
}

// dashes takes the columns from the line under the head.
func (t *Table) dashes(line []byte) {
	t.columns = nil
	for i, c := range line {
		if c == '-' && (i == 0 || line[i-1] != '-') {
			t.columns = append(t.columns, i)
		}
	}
	if len(t.columns) != len(t.head) {
		t.columns = nil
	}
}

func (t *Table) row(line []byte, n int) bool {
	if t.which < 0 || t.columns == nil || t.f.Device == "" {
		return t.which >= 0 && t.columns != nil
	}
	cell := func(i int) string {
		from, to := t.columns[i], len(line)
		if i+1 < len(t.columns) {
			to = t.columns[i+1]
		}
		if from >= len(line) {
			return ""
		}
		return strings.TrimSpace(string(line[from:min(to, len(line))]))
	}
	class, err := strconv.ParseUint(cell(0), 10, 3)
	if err != nil {
		return false
	}
	port := t.f.Device
	t.f.Inv.Switch(t.f.Host).Port(port)
	for i, name := range t.head {
		id, ok := counters[t.which].names[name]
		if !ok {
			continue
		}
		if v, exact, ok := amount(cell(i)); ok && (exact || id != telemetry.SwitchTxBytes) {
			add(t.f, id, name, port, int8(class), v, n)
		}
	}
	return true
}

// amount reads "12", "0 Bytes" or "75.19 KB", in powers of 1024; exact is false where it is rounded.
func amount(cell string) (v uint64, exact, ok bool) {
	number, unit, _ := strings.Cut(cell, " ")
	scale, known := map[string]float64{"": 1, "Bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}[unit]
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || !(x >= 0 && x*scale < 1<<63) {
		return 0, false, false
	}
	if v, err := strconv.ParseUint(number, 10, 64); err == nil && scale == 1 {
		return v, true, true
	}
	return uint64(x * scale), false, true
}

func add(f *fragment.Fragment, id telemetry.SeriesID, name, port string, priority int8, v uint64, n int) {
	f.Count(fragment.Counter{Series: id, Priority: priority, Scale: 1}, name, port, 1, v, n)
}

// Groups are the members by which the JSON form is told.
var Groups = []string{"egress-queue-stats", "pfc-stats", "ingress-buffer-stats", "port-stats"}

// Read reads nv show interface PORT counters qos -o json: {"egress-queue-stats": {"3": {"tx-frames": 1204, ...}}, ...}.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(text, &groups); err != nil {
		return err
	}
	if f.Device == "" {
		return nil
	}
	f.Inv.Switch(f.Host).Port(f.Device)
	for _, c := range counters {
		var classes map[string]map[string]json.RawMessage
		if groups[c.group] == nil || json.Unmarshal(groups[c.group], &classes) != nil {
			continue // port-stats and others have another shape
		}
		for class := range int8(8) {
			members := classes[strconv.Itoa(int(class))]
			for _, name := range ordered {
				var v uint64
				if id, ok := c.names[name]; ok && members[name] != nil && json.Unmarshal(members[name], &v) == nil {
					add(f, id, name, f.Device, class, v, line)
				}
			}
		}
	}
	return nil
}

// ordered are the names of all counters, in the order they are added in.
var ordered = []string{"tx-bytes", "tx-uc-buffer-discards", "wred-discards", "ecn-marked-frames", "rx-pause-frames", "tx-pause-frames"}
