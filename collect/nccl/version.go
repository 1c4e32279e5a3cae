package nccl

import (
	"bytes"
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// bounds collects what the forms of lines tell about the version: the newest of the versions that introduced a
// form that was seen, the oldest of those that dropped one. Each bound is named where its form is read; they were
// read off the sources of the tags v2.3.5 to v2.30.7 of NCCL.
type bounds struct {
	low, high    [3]int // low <= version < high; zero: no bound
	channelsSeen bool
}

func (b *bounds) atLeast(major, minor, patch int) {
	if v := [3]int{major, minor, patch}; less(b.low, v) {
		b.low = v
	}
}

func (b *bounds) below(major, minor, patch int) {
	if v := [3]int{major, minor, patch}; b.high == [3]int{} || less(v, b.high) {
		b.high = v
	}
}

// join narrows the bounds to those of another log.
func (b *bounds) join(o bounds) {
	b.atLeast(o.low[0], o.low[1], o.low[2])
	if o.high != [3]int{} {
		b.below(o.high[0], o.high[1], o.high[2])
	}
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func (b *bounds) write(n *evidence.NCCL) {
	if b.low != [3]int{} {
		n.Oldest = dotted(b.low)
	}
	if b.high != [3]int{} {
		n.Newest = lastBefore(b.high)
	}
}

// lastBefore is the newest version before v; without a patch number where v is the first of its series.
func lastBefore(v [3]int) string {
	if v[2] > 0 {
		return dotted([3]int{v[0], v[1], v[2] - 1})
	}
	return fmt.Sprintf("%d.%d", v[0], v[1]-1)
}

func dotted(v [3]int) string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// version records a banner: "2.26.2+cuda12.2", "2.18.1", "2.26.2 compiled with CUDA 12.4".
func (l *Log) version(b []byte, host string, at evidence.Source) {
	b = bytes.TrimLeft(b, " ")
	i := 0
	for i < len(b) && (digit(b[i]) || b[i] == '.') {
		i++
	}
	v := bytes.TrimRight(b[:i], ".")
	if bytes.IndexByte(v, '.') < 0 || !l.first(familyVersion, host, v) {
		return
	}
	l.inv.NCCL.Versions = append(l.inv.NCCL.Versions, evidence.VersionSeen{Version: string(v), Host: host, From: at})
}
