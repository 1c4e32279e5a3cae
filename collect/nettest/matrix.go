package nettest

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxPairs limits the results kept of all tables of pairs: each of 256 hosts with each other.
const MaxPairs = 1 << 16

// Matrix reads tables of tests between pairs of hosts, as scripts around ib_write_bw and nccl-tests print them. No standard
// says how; two forms are common:
//
//	GB/s    node1  node2  node3        node1 - node2: 391.2 Gb/s
//	node1       -   48.1   24.0        node1 -> node3  24.0 GB/s
//	node2    48.0      -   24.1
//
// A row of the first form is the sender. Without a unit at its head the numbers are taken for Gbit/s: pairs are compared with
// each other, so only their ratio counts.
type Matrix struct {
	f     *fragment.Fragment
	names []string
	scale float64 // bit/s of one
}

// NewMatrix makes a reader for one table.
func NewMatrix(f *fragment.Fragment) *Matrix { return &Matrix{f: f, scale: 1e9} }

// rateUnits are the units such scripts print, in bit/s.
var rateUnits = map[string]float64{
	"gb/s": 8e9, "gb/sec": 8e9, "gbyte/s": 8e9, "gib/s": 8 * (1 << 30), "mb/s": 8e6, "mb/sec": 8e6, "mib/sec": 8 * (1 << 20), "mib/s": 8 * (1 << 20),
	"gbps": 1e9, "gbit/s": 1e9, "gbits/s": 1e9,
}

// unitOf finds a unit; ok is false for any other word. Gb is gigabits and GB gigabytes, so case counts there alone.
func unitOf(word string) (float64, bool) {
	word = strings.Trim(word, "()[],:")
	if strings.HasPrefix(word, "Gb/") {
		return 1e9, true
	}
	if strings.HasPrefix(word, "Mb/") {
		return 1e6, true
	}
	u, ok := rateUnits[strings.ToLower(word)]
	return u, ok
}

// hostWord tells whether a word looks like the name of a host: letters and a number.
func hostWord(w string) bool {
	if len(w) < 2 || len(w) > 64 || !letter(w[0]) || strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return false
	}
	return strings.ContainsAny(w, "0123456789") && !strings.HasPrefix(w, "GPU") && !strings.HasPrefix(w, "NIC") && !strings.HasPrefix(w, "mlx5") && !strings.HasPrefix(w, "CPU")
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// head reads the line with the names of the columns, nil where it is none.
func head(line []byte) (names []string, scale float64) {
	words := strings.Fields(string(line))
	scale = 1e9
	for len(words) > 0 && !hostWord(words[0]) {
		u, ok := unitOf(words[0])
		if ok {
			scale = u
		} else if len(words[0]) > 12 || words[0] == "#" {
			return nil, 0
		}
		words = words[1:]
		if ok || len(words) == 0 || !hostWord(words[0]) && !isUnit(words[0]) {
			break
		}
	}
	if len(words) < 3 {
		return nil, 0
	}
	seen := map[string]bool{}
	for _, w := range words {
		if !hostWord(w) || seen[w] {
			return nil, 0
		}
		seen[w] = true
	}
	return words, scale
}

func isUnit(w string) bool { _, ok := unitOf(w); return ok }

// between are the signs that stand between two hosts and their result.
var between = strings.NewReplacer(":", " ", "<->", " ", "->", " ", "=>", " ", ",", " ", "|", " ")

// pair reads "node1 - node2: 391.2 Gb/s"; the unit must be there, because nothing else tells such a line from prose.
func pair(line []byte) (a, b string, bits float64, ok bool) {
	words := strings.Fields(between.Replace(string(line)))
	var hosts []string
	number := 0.0
	for i, w := range words {
		switch u, unit := unitOf(w); {
		case w == "-" || w == "to" || w == "and":
		case unit && number > 0 && len(hosts) == 2:
			return hosts[0], hosts[1], number * u, i <= 6 && hosts[0] != hosts[1]
		case hostWord(w) && number == 0 && len(hosts) < 2:
			hosts = append(hosts, w)
		default:
			v, err := strconv.ParseFloat(w, 64)
			if err != nil || len(hosts) != 2 || number != 0 || v <= 0 || v > 1e7 {
				return "", "", 0, false
			}
			number = v
		}
	}
	return "", "", 0, false
}

// StartsMatrix tells whether a line begins such a table.
func StartsMatrix(line []byte) bool {
	t := bytes.TrimSpace(line)
	if len(t) == 0 || len(t) > 1<<14 || !letter(t[0]) {
		return false
	}
	// Every line of no other format comes here, so what cannot be one is told before it is taken apart.
	if last := t[bytes.LastIndexAny(t, " \t")+1:]; hostWord(string(last)) && !bytes.ContainsFunc(t, notOfNames) {
		if names, _ := head(t); names != nil {
			return true
		}
	}
	if !bytes.Contains(t, perSecond) && !bytes.Contains(t, bitsPerSecond) {
		return false
	}
	_, _, _, ok := pair(t)
	return ok
}

// perSecond and bitsPerSecond: every unit has one of them.
var perSecond, bitsPerSecond = []byte("/s"), []byte("bps")

// notOfNames tells whether a line with the rune has more than names and a unit.
func notOfNames(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune(" \t-_./\\|>()[],:#", r)
}

// Line reads one line; false means that it is not of the table.
func (m *Matrix) Line(line []byte, n int) bool {
	t := bytes.TrimSpace(line)
	if len(t) == 0 {
		return true
	}
	if names, scale := head(t); names != nil {
		m.names, m.scale = names, scale
		return true
	}
	if a, b, bits, ok := pair(t); ok {
		m.add(a, b, bits, n)
		return true
	}
	words := strings.Fields(string(t))
	if len(m.names) == 0 || len(words) != len(m.names)+1 || !hostWord(words[0]) {
		return false
	}
	for i, w := range words[1:] {
		v, err := strconv.ParseFloat(w, 64)
		if err == nil && v > 0 && v < 1e7 && m.names[i] != words[0] {
			m.add(words[0], m.names[i], v*m.scale, n)
		}
	}
	return true
}

func (m *Matrix) add(a, b string, bits float64, n int) {
	if len(m.f.Inv.NetTests) < MaxPairs {
		m.f.Inv.NetTests = append(m.f.Inv.NetTests, evidence.NetTest{Tool: "table", Test: "of pairs", Host: a, Peer: b, Rate: evidence.Known(units.Rate(bits), m.f.At(n)), From: m.f.At(n)})
	}
}
