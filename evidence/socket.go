package evidence

import (
	"net/netip"

	"github.com/shunt-network/shunt/units"
)

// Socket is a connection of TCP or UDP that a host has open. RoCE is none: its queue pairs bypass the kernel.
type Socket struct {
	Host        string
	Protocol    string // "tcp", "udp"
	State       string // "ESTAB"
	Local, Peer netip.AddrPort
	Process     string             // "python3", where told
	Sent        Value[units.Bytes] // bytes the peer acknowledged, or that were sent
	Received    Value[units.Bytes]
	From        Source
}
