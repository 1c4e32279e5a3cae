package packet_test

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// A capture is written and read back; the frame's ICRC is checked on the way.
func Example() {
	frame := packet.AppendFrame(nil, packet.Packet{
		IP:      packet.IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, ECN: packet.CE, TTL: 64},
		SrcPort: 49321, BTH: packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 17, PSN: 5}, Payload: []byte("gradient"),
	})
	var file bytes.Buffer
	w, err := packet.NewWriter(&file, packet.PCAPNG, packet.LinkEthernet, 400*units.Gbps)
	if err != nil {
		panic(err)
	}
	if err := w.Write(1_700_000_000_000_000_000, frame, len(frame)); err != nil {
		panic(err)
	}

	r, err := packet.NewReader(&file)
	if err != nil {
		panic(err)
	}
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		f := packet.Decode(rec.Link, rec.Data)
		src, dst, dscp, ecn, _ := f.IP()
		right, _ := f.Check()
		fmt.Printf("%d: %v -> %v QP %d PSN %d, DSCP %d, marked %v, ICRC right %v\n", rec.Number, src, dst, f.BTH.QP(), f.BTH.PSN(), dscp, ecn == packet.CE, right)
	}
	// Output:
	// 1: 192.0.2.1 -> 192.0.2.2 QP 17 PSN 5, DSCP 26, marked true, ICRC right true
}
