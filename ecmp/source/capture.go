package source

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// Capture lists the flows of a capture by 5-tuple and destination QPN, with their bytes on the wire. Acknowledgements and congestion notifications
// make no flow of their own: they are hashed too, but a link is not full of them. They are counted in a note.
func Capture(r io.Reader) (*ecmp.Set, error) {
	in, err := packet.NewReader(r)
	if err != nil {
		return nil, err
	}
	c := capture{set: &ecmp.Set{Bytes: true, Known: ecmp.FiveTuple | ecmp.QPN}, index: map[flowKey]int{}, ends: map[[2]netip.Addr]uint32{}}
	for {
		rec, err := in.Next()
		if err != nil {
			c.finish(err)
			return c.set, nil
		}
		c.frame(rec)
	}
}

type flowKey struct {
	src, dst     netip.Addr
	protocol     uint8
	sport, dport uint16
	qpn          uint32
}

type capture struct {
	set     *ecmp.Set
	index   map[flowKey]int
	ends    map[[2]netip.Addr]uint32 // both ends -> connection
	answers int                      // packets of flows that only answer
	other   int                      // packets that are neither TCP nor UDP
	past    int                      // packets of flows past the limit
	frames  int
}

func (c *capture) frame(rec packet.Record) {
	c.frames = rec.Number
	f := packet.Decode(rec.Link, rec.Data)
	src, dst, _, _, ok := f.IP()
	if !ok || f.UDP == nil && f.TCP == nil {
		if ok {
			c.other++
		}
		return
	}
	k := flowKey{src: src, dst: dst}
	switch {
	case f.UDP != nil:
		k.protocol, k.sport, k.dport = packet.ProtocolUDP, f.UDP.SrcPort(), f.UDP.DstPort()
	default:
		k.protocol, k.sport, k.dport = packet.ProtocolTCP, f.TCP.SrcPort(), f.TCP.DstPort()
	}
	if f.BTH != nil {
		k.qpn = f.BTH.QP()
		if op := f.BTH.Opcode(); op == packet.CNP || !op.Request() && len(f.Payload) == 0 {
			c.answers++
			return
		}
	}
	i, ok := c.index[k]
	if !ok {
		if len(c.set.Flows) >= ecmp.MaxFlows {
			c.past++
			return
		}
		i = len(c.set.Flows)
		c.index[k] = i
		// QPs between the same two addresses may be of one connection or of many; a capture does not tell, so each counts as one.
		c.set.Flows = append(c.set.Flows, ecmp.Flow{Src: src, Dst: dst, Protocol: k.protocol, SrcPort: k.sport, DstPort: k.dport, QPN: k.qpn, Conn: uint32(i)})
	}
	c.set.Flows[i].Bytes += units.Bytes(rec.Length)
}

func (c *capture) finish(err error) {
	note := func(n int, format string, args ...any) {
		if n > 0 {
			c.set.Notes = append(c.set.Notes, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	note(c.answers, "%d acknowledgements and congestion notifications make no flow of their own")
	note(c.other, "%d packets of other protocols than TCP and UDP were left out")
	note(c.past, "%d packets are of flows past the limit of %d", ecmp.MaxFlows)
	if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.set.Notes = append(c.set.Notes, fmt.Sprintf("the capture was not read to its end, after frame %d: %v", c.frames, err))
	}
	if len(c.set.Flows) > 0 {
		c.set.Notes = append(c.set.Notes, "a capture shows the flows of the place it was taken at, and not those of the whole job")
	}
}
