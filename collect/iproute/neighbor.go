package iproute

import (
	"bytes"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxNeighbors limits the neighbours kept of one host: net.ipv6.neigh.default.gc_thresh3 is 1024 by default, and
// clusters raise it to some ten thousand.
const MaxNeighbors = 1 << 14

// Neighbors reads ip neigh (iproute2, ip/ipneigh.c):
//
//	192.0.2.1 dev ens3np0 lladdr 02:00:00:00:00:01 REACHABLE
//	192.0.2.9 dev ens3np0 FAILED
type Neighbors struct{ f *fragment.Fragment }

// NewNeighbors makes a reader for one output.
func NewNeighbors(f *fragment.Fragment) *Neighbors { return &Neighbors{f} }

// states are those of the kernel (NUD_ in include/uapi/linux/neighbour.h).
var states = map[string]bool{"INCOMPLETE": true, "REACHABLE": true, "STALE": true, "DELAY": true, "PROBE": true, "FAILED": true, "NOARP": true, "PERMANENT": true, "NONE": true}

// StartsNeighbors tells whether a line is an entry.
func StartsNeighbors(line []byte) bool {
	_, ok := neighbor(line)
	return ok
}

func neighbor(line []byte) (e evidence.Neighbor, ok bool) {
	if !bytes.Contains(line, []byte(" dev ")) {
		return e, false
	}
	words := strings.Fields(string(line))
	if len(words) < 4 || !states[words[len(words)-1]] {
		return e, false
	}
	address, err := netip.ParseAddr(words[0])
	if err != nil {
		return e, false
	}
	e = evidence.Neighbor{Address: address, State: words[len(words)-1]}
	for i := 1; i+1 < len(words); i++ {
		switch words[i] {
		case "dev":
			e.Dev = words[i+1]
		case "lladdr":
			e.MAC = words[i+1]
		}
	}
	return e, true
}

// Line reads one line; false means that it is no entry.
func (r *Neighbors) Line(line []byte, n int) bool {
	e, ok := neighbor(line)
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	e.From = r.f.At(n)
	addNeighbor(r.f.TheHost(), e)
	return true
}

func addNeighbor(h *evidence.Host, e evidence.Neighbor) {
	if len(h.Neighbors) < MaxNeighbors {
		h.Neighbors = append(h.Neighbors, e)
	}
}
