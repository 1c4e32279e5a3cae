package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// answer is yes, no, or not known: an absent input is neither.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// release is an NCCL version.
type release [3]int

func (r release) less(s release) bool {
	for i := range r {
		if r[i] != s[i] {
			return r[i] < s[i]
		}
	}
	return false
}

// previous is an upper bound of what came before a version; patch numbers have no limit that matters.
func (r release) previous() release {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i] > 0 && r[i] != math.MaxInt {
			r[i]--
			for j := i + 1; j < len(r); j++ {
				r[j] = math.MaxInt
			}
			return r
		}
	}
	return r
}

// releases bounds the versions of NCCL in the job: the banners where there are any, else what the forms of its
// lines allow. A job may mix versions, so the bounds may lie apart even when each process told its own.
type releases struct {
	low, high release
	told      bool // by a banner
	From      evidence.Source
	text      string
}

// endless is the upper bound where nothing limits the version.
var endless = release{math.MaxInt, math.MaxInt, math.MaxInt}

// parseRelease reads "2.26.2" or "2.20"; what a short form leaves out is filled.
func parseRelease(s string, fill int) (r release, ok bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	s, _, _ = strings.Cut(s, "-")
	r = release{0, fill, fill}
	for i, part := range strings.SplitN(s, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return release{}, false
		}
		r[i] = n
	}
	return r, true
}

// nccl bounds the version of NCCL in the job.
func (v *View) nccl() releases {
	return once(v, func(f *facts) **releases { return &f.releases }, func() releases {
		n := &v.Inv.NCCL
		b := releases{high: endless}
		for _, seen := range n.Versions {
			r, ok := parseRelease(seen.Version, 0)
			if !ok {
				continue
			}
			if !b.told || r.less(b.low) {
				b.low = r
			}
			if !b.told || b.high.less(r) {
				b.high = r
			}
			if b.text == "" {
				b.text = seen.Version
			} else if b.text != seen.Version && !strings.Contains(b.text, seen.Version) {
				b.text += ", " + seen.Version
			}
			b.told, b.From = true, seen.From
		}
		if b.told {
			return b
		}
		if r, ok := parseRelease(n.Oldest, 0); ok {
			b.low, b.text = r, n.Oldest+" or later"
		}
		limit, before := strings.CutPrefix(n.Newest, "before ")
		if r, ok := parseRelease(limit, math.MaxInt); ok {
			b.high = r
			if before {
				b.high = r.previous()
			}
			b.text = strings.TrimPrefix(b.text+", "+n.Newest, ", ")
		}
		return b
	})
}

func (b releases) String() string {
	switch {
	case b.text == "":
		return "NCCL of an unknown version"
	case b.told:
		return "NCCL " + b.text
	}
	return fmt.Sprintf("NCCL %s (from the forms of its lines)", b.text)
}

// atLeast tells whether every process of the job runs this version or a later one.
func (b releases) atLeast(major, minor int) answer {
	r := release{major, minor, 0}
	switch {
	case !b.low.less(r):
		return yes
	case b.high.less(r):
		return no
	}
	return unknown
}

// some tells whether a process of the job may run a version in [from, to), given as major*100+minor, e.g. 221
// for 2.21: yes when the bounds lie inside, no when they lie outside.
func (b releases) some(from, to int) answer {
	low, high := release{from / 100, from % 100, 0}, release{to / 100, to % 100, 0}
	switch {
	case b.high.less(low) || !b.low.less(high):
		return no
	case b.told, !b.low.less(low) && b.high.less(high):
		return yes
	}
	return unknown
}
