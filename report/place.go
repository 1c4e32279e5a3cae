package report

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// place is where a line of evidence stands in an input.
type place struct {
	file string
	line int // 0 where the file as a whole is meant
}

var fileLine = regexp.MustCompile(`^(.+):([1-9]\d*)$`)

// placeOf finds the input that an observation was read from. An observation of a series is no place: its name
// stands for many samples.
func (r *Report) placeOf(from string) (place, bool) {
	if m := fileLine.FindStringSubmatch(from); m != nil && m[1] != standardInput {
		if n, err := strconv.Atoi(m[2]); err == nil {
			return place{m[1], n}, true
		}
	}
	for _, f := range r.Files {
		if f.Path == from && from != standardInput {
			return place{from, 0}, true
		}
	}
	return place{}, false
}

// standardInput is what the collectors call an input that has no file.
const standardInput = "standard input"

// placeOfFinding is where a finding shows best: at the first cause whose place is known, else at the first observation
// with a place, else in the scenario that was run.
func (r *Report) placeOfFinding(f diagnose.Finding) (place, bool) {
	var best place
	found := false
	for _, e := range f.Evidence {
		p, ok := r.placeOf(e.From)
		if ok && e.Role == "cause" {
			return p, true
		}
		if ok && !found {
			best, found = p, true
		}
	}
	if !found && r.Run != nil && r.Run.File != "" {
		return place{r.Run.File, 0}, true
	}
	return best, found
}

// identity is the same for the same fault in two reports: it is made of the code and the object at fault, and of no
// number that changes from run to run.
func identity(f diagnose.Finding) string {
	object := ""
	if len(f.Where) > 0 {
		object = f.Where[0]
	}
	sum := sha256.Sum256([]byte(f.Code + "\x00" + object))
	return hex.EncodeToString(sum[:16])
}

// layers are what the first letters of codes stand for, bottom up (package diagnose).
var layers = []struct {
	letter byte
	name   string
}{
	{'P', "physical"}, {'H', "host and PCIe"}, {'L', "link and flow control"}, {'I', "addressing"}, {'R', "RDMA"},
	{'C', "collective library"}, {'J', "job"}, {'S', "security"}, {'X', "configuration"}, {'U', "rules of your own"},
}

// LayerOf is the layer a code belongs to, "" where its letter stands for none.
func LayerOf(code string) string {
	for _, l := range layers {
		if strings.HasPrefix(code, string(l.letter)) {
			return l.name
		}
	}
	return ""
}
