package sonic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/telemetry"
)

// table reads rows by the names of their columns.
type table struct {
	head    []string
	columns [][2]int // from the line of dashes; nil where it is missing or was squeezed
}

// cells takes a line apart: by the columns where they fit, else at two blanks and more.
func (t *table) cells(line []byte) []string {
	if t.columns != nil && t.fits(line) {
		row := make([]string, len(t.columns))
		for i, c := range t.columns {
			end := c[1]
			if i == len(t.columns)-1 {
				end = len(line)
			}
			if c[0] < len(line) {
				row[i] = strings.TrimSpace(string(line[c[0]:min(end, len(line))]))
			}
		}
		return row
	}
	return split(line)
}

// fits tells whether the gaps between columns are blank in a line.
func (t *table) fits(line []byte) bool {
	for i := 1; i < len(t.columns); i++ {
		for at := t.columns[i-1][1]; at < t.columns[i][0] && at < len(line); at++ {
			if line[at] != ' ' {
				return false
			}
		}
	}
	return true
}

// dashes takes the columns from the line under the head; false for any other line.
func (t *table) dashes(line []byte) bool {
	text := bytes.TrimRight(line, " \r")
	if len(bytes.TrimLeft(text, " ")) < 3 || len(bytes.Trim(text, "- ")) > 0 {
		return false
	}
	t.columns = nil
	for at := 0; at < len(text); {
		if text[at] != '-' {
			at++
			continue
		}
		end := at
		for end < len(text) && text[end] == '-' {
			end++
		}
		t.columns = append(t.columns, [2]int{at, end})
		at = end
	}
	if len(t.columns) != len(t.head) {
		t.columns = nil
	}
	return true
}

// cell is the cell below a head, "" where there is none.
func (t *table) cell(row []string, name string) string {
	for i, h := range t.head {
		if h == name && i < len(row) {
			return row[i]
		}
	}
	return ""
}

// split cuts at two blanks and more, which is what tabulate puts between columns.
func split(line []byte) (cells []string) {
	for part := range strings.SplitSeq(strings.TrimSpace(string(line)), "  ") {
		if part = strings.TrimSpace(part); part != "" {
			cells = append(cells, part)
		}
	}
	return cells
}

// counterOf reads "471,729,839,997"; "N/A" and what is cut off are no counters.
func counterOf(cell string) (uint64, bool) {
	v, err := strconv.ParseUint(strings.ReplaceAll(cell, ",", ""), 10, 64)
	return v, err == nil
}

// rateOf reads "653.87 MB/s": bytes, in powers of 1000 (sonic-utilities, utilities_common/netstat.py).
func rateOf(cell string) (bytesPerSecond uint64, ok bool) {
	number, unit, _ := strings.Cut(strings.ReplaceAll(cell, ",", ""), " ")
	v, err := strconv.ParseFloat(number, 64)
	scale, known := map[string]float64{"B/s": 1, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}[unit]
	if err != nil || !known || v < 0 || v*scale >= 1<<62 {
		return 0, false
	}
	return uint64(v * scale), true
}

// isPort tells whether a cell names a port of a switch, which is how a row is told from what follows the table.
func isPort(cell string) bool {
	rest, ok := strings.CutPrefix(cell, "Ethernet")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(strings.TrimLeft(rest, "-BPRIbcp_"), 10, 32) // Ethernet-BP0: the backplane of a chassis
	return err == nil || strings.Contains(rest, "/")
}

func count(f *fragment.Fragment, id telemetry.SeriesID, name, port string, priority int8, scale float64, cell string, n int) {
	if v, ok := counterOf(cell); ok {
		f.Count(fragment.Counter{Series: id, Priority: priority, Scale: scale}, name, port, 1, v, n)
	}
}
