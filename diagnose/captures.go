package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// needsCapture is what causes that packets show ask for.
const needsCapture = "a packet capture of RoCE (a mirror port, or tcpdump -w where the NIC lets the host see RDMA)"

// pair is all streams from one host to another, over all captures.
type pair struct {
	src, dst string
	streams  []*evidence.Stream
	back     []*evidence.Stream // of the other direction
}

func (p *pair) String() string { return p.src + " -> " + p.dst }

// sum adds up a number over the streams of the pair.
func (p *pair) sum(of func(*evidence.Stream) int) (n int) {
	for _, s := range p.streams {
		n += of(s)
	}
	return n
}

// tally adds up a tally, with its first frame.
func (p *pair) tally(of func(*evidence.Stream) evidence.Tally) (t evidence.Tally) {
	return tallied(p.streams, of)
}

func tallied(streams []*evidence.Stream, of func(*evidence.Stream) evidence.Tally) (t evidence.Tally) {
	for _, s := range streams {
		if one := of(s); one.Count > 0 {
			if t.Count == 0 {
				t.At = one.At
			}
			t.Count += one.Count
		}
	}
	return t
}

// pairs lists the pairs of hosts in the captures, by name.
func (v *View) pairs() []*pair {
	index := map[[2]string]*pair{}
	var all []*pair
	for i := range v.Inv.Captures {
		for j := range v.Inv.Captures[i].Streams {
			s := &v.Inv.Captures[i].Streams[j]
			k := [2]string{s.Src.String(), s.Dst.String()}
			p := index[k]
			if p == nil {
				p = &pair{src: k[0], dst: k[1]}
				index[k] = p
				all = append(all, p)
			}
			p.streams = append(p.streams, s)
		}
	}
	for _, p := range all {
		if back := index[[2]string{p.dst, p.src}]; back != nil {
			p.back = back.streams
		}
	}
	slices.SortFunc(all, func(a, b *pair) int { return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst)) })
	return all
}

// captured is how many RoCE frames the captures have.
func (v *View) captured() (n int) {
	for _, c := range v.Inv.Captures {
		n += c.RoCE
	}
	return n
}

// lostByCapture is how many packets the capturing hosts say they lost themselves.
func (v *View) lostByCapture() (n uint64) {
	for _, c := range v.Inv.Captures {
		n += c.Dropped
	}
	return n
}

// frames is a row about captured frames.
func frames(layer, what, role string, t evidence.Tally, expected string) Evidence {
	return Evidence{Layer: layer, What: what, Seen: count(t.Count, "frame"), Expected: expected, Role: role, From: t.At.String()}
}

// ofAll writes a share: "12 of 480 (2.5 %)".
func ofAll(n, all int) string {
	if all <= 0 {
		return fmt.Sprint(n)
	}
	percent := 100 * float64(n) / float64(all)
	if percent >= 10 {
		return fmt.Sprintf("%d of %d (%.0f %%)", n, all, percent)
	}
	return fmt.Sprintf("%d of %d (%.2g %%)", n, all, percent)
}
