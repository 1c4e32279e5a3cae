package source

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// columns are those of a CSV of flows; the first two have to be there.
var columns = []string{"src", "dst", "proto", "sport", "dport", "qpn", "bytes", "conn"}

// StartsCSV tells whether a text begins with the header of a CSV of flows.
func StartsCSV(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(head), "\ufeff"), "\n")
	names := split(line)
	return slices.Contains(names, "src") && slices.Contains(names, "dst")
}

// split takes the names of a header apart.
func split(line string) []string {
	names := strings.Split(strings.TrimSpace(line), ",")
	for i, n := range names {
		names[i] = strings.ToLower(strings.Trim(strings.TrimSpace(n), `"`))
	}
	return names
}

// maxProblems is how many mistakes of a file are told: a wrong column is wrong on every line.
const maxProblems = 20

// CSV reads flows, one a line, under a header with the columns src and dst and any of proto, sport, dport, qpn, bytes and conn, in any order:
//
//	src,dst,proto,sport,dport,qpn,bytes
//	192.0.2.1,192.0.2.9,udp,49152,4791,17,8388608
//
// Without proto and dport a flow is one of RoCEv2 (UDP to 4791). Columns that are not there are not known; the source ports and QPNs of RoCE are
// then put in by rule. Every mistake is told with its line and column.
func CSV(file string, r io.Reader) (*ecmp.Set, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.TrimLeadingSpace, in.Comment, in.ReuseRecord = -1, true, '#', true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, readable(err))
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	c := reader{file: file, at: map[string]int{}, set: &ecmp.Set{}, conns: map[string]uint32{}}
	for i, n := range split(strings.Join(head, ",")) {
		switch {
		case !slices.Contains(columns, n):
			c.problem(1, i+1, fmt.Sprintf("there is no column %q; write some of %s", n, strings.Join(columns, ", ")))
		case c.has(n):
			c.problem(1, i+1, fmt.Sprintf("the column %s is there twice", n))
		default:
			c.at[n] = i
		}
	}
	for _, n := range columns[:2] {
		if !c.has(n) {
			c.problem(1, 1, "a column "+n+" is missing")
		}
	}
	for len(c.problems) == 0 || len(c.problems) < maxProblems && c.has("src") && c.has("dst") {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, column := 0, 0
			if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
				line, column = pe.Line, pe.Column
			}
			c.problem(line, column, readable(err).Error())
			break
		}
		line, _ := in.FieldPos(0)
		if len(c.set.Flows) >= ecmp.MaxFlows {
			c.problem(line, 1, fmt.Sprintf("there are more than %d flows", ecmp.MaxFlows))
			break
		}
		c.flow(record, func(i int) (int, int) { return in.FieldPos(i) })
	}
	if err := c.problems.Err(); err != nil {
		return nil, err
	}
	c.finish()
	return c.set, nil
}

// readable is an error of encoding/csv without its place, which stands in front anyway.
func readable(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

type reader struct {
	file     string
	at       map[string]int
	set      *ecmp.Set
	conns    map[string]uint32
	problems spec.Problems
}

func (c *reader) has(name string) bool { _, ok := c.at[name]; return ok }

func (c *reader) problem(line, column int, text string) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, spec.Problem{File: c.file, Line: line, Col: column, Text: text})
	}
}

// flow reads one line.
func (c *reader) flow(record []string, pos func(int) (int, int)) {
	f := ecmp.Flow{Conn: uint32(len(c.set.Flows))}
	roce(&f)
	cell := func(name string, read func(string) error) {
		i, ok := c.at[name]
		if !ok {
			return
		}
		if i >= len(record) {
			line, _ := pos(0)
			c.problem(line, 1, fmt.Sprintf("the line has %d of %d columns: %s is missing", len(record), len(c.at), name))
			return
		}
		if err := read(strings.TrimSpace(record[i])); err != nil {
			line, column := pos(i)
			c.problem(line, column, name+": "+err.Error())
		}
	}
	number := func(bits int, to func(uint64)) func(string) error {
		return func(text string) error {
			v, err := strconv.ParseUint(text, 0, bits)
			if err != nil {
				return fmt.Errorf("%q is no number from 0 to %d", text, uint64(1)<<bits-1)
			}
			to(v)
			return nil
		}
	}
	address := func(to *netip.Addr) func(string) error {
		return func(text string) error {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return fmt.Errorf("%q is no IP address", text)
			}
			*to = a.Unmap().WithZone("")
			return nil
		}
	}
	cell("src", address(&f.Src))
	cell("dst", address(&f.Dst))
	cell("proto", func(text string) (err error) { f.Protocol, err = protocol(text); return err })
	cell("sport", number(16, func(v uint64) { f.SrcPort = uint16(v) }))
	cell("dport", number(16, func(v uint64) { f.DstPort = uint16(v) }))
	cell("qpn", func(text string) error {
		if text == "" { // of a flow that is no RoCE
			return nil
		}
		return number(24, func(v uint64) { f.QPN = uint32(v) })(text)
	})
	cell("bytes", func(text string) error {
		b, err := units.ParseBytes(text)
		if err != nil || b < 0 {
			return fmt.Errorf("%q are no bytes; write 8388608 or 8MiB", text)
		}
		f.Bytes = b
		return nil
	})
	cell("conn", func(text string) error {
		id, ok := c.conns[text]
		if !ok {
			id = uint32(len(c.conns))
			c.conns[text] = id
		}
		f.Conn = id
		return nil
	})
	c.set.Flows = append(c.set.Flows, f)
}

func protocol(text string) (uint8, error) {
	switch strings.ToLower(text) {
	case "udp":
		return packet.ProtocolUDP, nil
	case "tcp":
		return packet.ProtocolTCP, nil
	}
	v, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is no protocol; write udp, tcp or a number", text)
	}
	return uint8(v), nil
}

// finish says what is known, and puts in what is not.
func (c *reader) finish() {
	s := c.set
	s.Known = ecmp.SrcIP | ecmp.DstIP
	for _, x := range []struct {
		name  string
		field ecmp.Fields
	}{{"proto", ecmp.Protocol}, {"sport", ecmp.SrcPort}, {"dport", ecmp.DstPort}, {"qpn", ecmp.QPN}} {
		if c.has(x.name) {
			s.Known |= x.field
		}
	}
	s.Bytes = c.has("bytes")
	all := len(s.Flows) > 0 && !slices.ContainsFunc(s.Flows, func(f ecmp.Flow) bool { return !f.RoCE() })
	if !c.has("proto") || !c.has("dport") {
		s.Modelled |= (ecmp.Protocol | ecmp.DstPort) &^ s.Known
		s.Notes = append(s.Notes, "without the columns proto and dport the flows count as RoCEv2 (UDP, port 4791)")
	}
	if missing := (ecmp.SrcPort | ecmp.QPN) &^ s.Known; missing != 0 && all {
		number(s, missing, 1)
		s.Notes = append(s.Notes, "not in the file, and put in by rule: "+missing.String()+" (QP numbers count up on each address from a drawn start; source ports as the Linux kernel makes them)")
	}
}
