// Package releases owns reading the bandwidths that people note for two releases of NCCL when one is slower: a table
// with a column of versions, or a line a release.
package releases

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxResults limits what is kept of all inputs.
const MaxResults = 1 << 10

// Notes reads
//
//	NCCL Version | Topology | Peak Performance
//	2.19.3       | topo1    | ~365 GB/s
//	2.20.5       | topo1    | ~41 GB/s
//
// and
//
//	NCCL 2.7.6: busbw drops to 0.x GB/s for some sizes; NCCL 2.5.7: ~10 GB/s
//
// A version has three parts, which tells it from a bandwidth, and the bandwidth that follows it is its own.
type Notes struct {
	f     *fragment.Fragment
	table bool // below a head with a column of versions
}

// New makes a reader for one input.
func New(f *fragment.Fragment) *Notes { return &Notes{f: f} }

// Starts tells whether a line is the head of such a table, or a note itself.
func Starts(line []byte) bool {
	at := bytes.Index(line, []byte("NCCL"))
	if at < 0 || len(line) > fragment.MaxText {
		return false
	}
	if bytes.IndexByte(line, '|') >= 0 && bytes.Contains(bytes.ToLower(line[at:]), []byte("version")) {
		return true
	}
	_, end := version(line[at:])
	return end > 0 && bytes.Contains(line[at+end:], []byte("GB/s"))
}

// Line reads one line; false means that it is no note.
func (r *Notes) Line(line []byte, n int) bool {
	if len(line) > fragment.MaxText {
		return false
	}
	if r.table && bytes.IndexByte(line, '|') >= 0 && !bytes.Contains(line, []byte("NCCL")) {
		r.row(strings.Split(string(bytes.Trim(line, " |\t")), "|"), n)
		return true
	}
	if len(bytes.Trim(line, "=-+| \t")) == 0 {
		return true
	}
	if !Starts(line) {
		r.table = false
		return false
	}
	if bytes.IndexByte(line, '|') >= 0 {
		r.table = true
		return true
	}
	rest := line
	for {
		release, end := version(rest)
		if end == 0 {
			return true
		}
		rest = rest[end:]
		_, next := version(rest)
		own := rest
		if next > 0 {
			own = rest[:next]
		}
		r.result(release, "", string(own), n)
	}
}

// row reads one row: a version, a bandwidth, and what else tells runs apart.
func (r *Notes) row(cells []string, n int) {
	release, bandwidth := "", ""
	var with []string
	for _, c := range cells {
		c = strings.TrimSpace(c)
		v, end := version([]byte(c))
		switch {
		case release == "" && end > 0 && end == len(c):
			release = v
		case bandwidth == "" && strings.Contains(c, "GB/s"):
			bandwidth = c
		case c != "":
			with = append(with, c)
		}
	}
	if release != "" {
		r.result(release, strings.Join(with, ", "), bandwidth, n)
	}
}

// result keeps the first bandwidth of a text.
func (r *Notes) result(release, with, text string, n int) {
	before, _, ok := strings.Cut(text, "GB/s")
	words := strings.FieldsFunc(before, func(c rune) bool { return c == ' ' || c == '~' || c == ':' || c == '\t' })
	if !ok || len(words) == 0 || len(r.f.Inv.Releases) >= MaxResults {
		return
	}
	number, below := strings.CutPrefix(words[len(words)-1], "<")
	if whole, cut := strings.CutSuffix(number, ".x"); cut { // "0.x" is anything below 1
		v, err := strconv.ParseUint(whole, 10, 16)
		if err != nil {
			return
		}
		number, below = strconv.FormatUint(v+1, 10), true
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0 && v < 1e5) {
		return
	}
	r.f.Inv.Releases = append(r.f.Inv.Releases, evidence.ReleaseResult{Release: release, With: with, BusBW: v, Below: below, From: r.f.At(n)})
}

// version finds the first version of NCCL in a text, "2.19.3", and where it ends; 0 where there is none.
func version(text []byte) (release string, end int) {
	for at := 0; at < len(text); at++ {
		if text[at] != '2' || at > 0 && (digit(text[at-1]) || text[at-1] == '.') {
			continue
		}
		end, parts := at, 1
		for end < len(text) && (digit(text[end]) || text[end] == '.' && end+1 < len(text) && digit(text[end+1])) {
			if text[end] == '.' {
				parts++
			}
			end++
		}
		if parts == 3 && end-at <= len("2.30.70") && text[at+1] == '.' {
			return string(text[at:end]), end
		}
		at = end
	}
	return "", 0
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
