package spray

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// fleetColumns are the columns of a fleet's table. Host and one of firmware and layout have to be there; order is free.
var fleetColumns = []string{"host", "device", "model", "firmware", "layout"}

// Limits of a table: more NICs than any cluster has, and a cell that no name or version fills.
const (
	maxFleet    = 1 << 20
	maxCell     = 256
	maxMistakes = 20 // told of at once
)

const byteOrderMark = "\xef\xbb\xbf"

// IsFleetTable tells by its first line whether a file is a table of a fleet.
func IsFleetTable(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte(byteOrderMark)), []byte("\n"))
	cells := strings.Split(strings.ToLower(strings.TrimSpace(string(line))), ",")
	host, other := false, false
	for _, c := range cells {
		c = strings.TrimSpace(c)
		host = host || c == "host"
		other = other || c == "firmware" || c == "layout"
	}
	return host && other
}

// ParseFleet reads a table of values with commas, whose first line names the columns: host, device, model, firmware, layout. Lines that
// begin with # are left out. All mistakes are told, with the file and the line.
func ParseFleet(file string, r io.Reader) ([]FleetNIC, error) {
	text := bufio.NewReader(r)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark { // spreadsheets write one
		text.Discard(len(byteOrderMark))
	}
	c := csv.NewReader(text)
	c.Comment, c.TrimLeadingSpace, c.FieldsPerRecord, c.ReuseRecord = '#', true, -1, true
	head, err := c.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: no line names the columns: %s", file, strings.Join(fleetColumns, ","))
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	at, err := fleetHead(head)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	var nics []FleetNIC
	var mistakes []error
	for len(mistakes) < maxMistakes {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		if err != nil && !errors.As(err, &bad) {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s:%d: %w", file, bad.Line, bad.Err))
			continue
		}
		line, _ := c.FieldPos(0)
		n := FleetNIC{From: fmt.Sprintf("%s:%d", file, line)}
		cells := []*string{&n.Host, &n.Device, &n.Model, &n.Firmware, (*string)(&n.Layout)}
		long := false
		for i, cell := range cells {
			if at[i] >= 0 && at[i] < len(record) {
				*cell = strings.Clone(strings.TrimSpace(record[at[i]]))
				long = long || len(*cell) > maxCell
			}
		}
		switch {
		case len(record) > len(head):
			mistakes = append(mistakes, fmt.Errorf("%s: %d values for %d columns", n.From, len(record), len(head)))
		case long:
			mistakes = append(mistakes, fmt.Errorf("%s: a value of more than %d bytes", n.From, maxCell))
		case n.Host == "":
			mistakes = append(mistakes, fmt.Errorf("%s: no host", n.From))
		case len(nics) == maxFleet:
			return nil, fmt.Errorf("%s: more than %d NICs", file, maxFleet)
		default:
			nics = append(nics, n)
		}
	}
	return nics, errors.Join(mistakes...)
}

// fleetHead finds the columns; -1 for one that is not there.
func fleetHead(head []string) ([]int, error) {
	at := make([]int, len(fleetColumns))
	for i := range at {
		at[i] = -1
	}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		found := false
		for j, column := range fleetColumns {
			if name != column {
				continue
			}
			if at[j] >= 0 {
				return nil, fmt.Errorf("column %q twice", name)
			}
			at[j], found = i, true
		}
		if !found {
			return nil, fmt.Errorf("no column is called %q: %s", name, strings.Join(fleetColumns, ", "))
		}
	}
	if at[0] < 0 || at[3] < 0 && at[4] < 0 {
		return nil, fmt.Errorf("host, and firmware or layout, have to be among the columns")
	}
	return at, nil
}
