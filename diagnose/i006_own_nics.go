package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// I006: two NICs of one host cannot reach each other.
//
// Symptom: status 12 between two addresses that both belong to one host, while pairs of hosts work. Mechanism:
// NCCL may send from one NIC of a host to another (PXN and rail layouts, or ranks that cannot use P2P or shared
// memory); the kernel takes the peer's address for a local one and resolves it to the sender's own MAC, or rails
// are not joined by the fabric. Evidence for: source and destination GID of the failed connection are on one
// host. Look-alikes: I005 (also between hosts), R004.
var causeOwnNICs = Cause{
	Code:     "I006",
	Title:    "NICs of one host cannot reach each other",
	Needs:    "an NCCL log with the GIDs of the failed connection, and the host's addresses (ip addr or show_gids)",
	Explains: []string{"R004", "J002", "J003", "I011"},
	Check:    checkOwnNICs,
}

func checkOwnNICs(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	broken := v.unreachable()
	owners := v.owners()
	unnamed := 0
	for _, e := range broken {
		if !e.Local.IsValid() || !e.Remote.IsValid() {
			unnamed++
			continue
		}
		a, okA := owners[e.Local.Unmap()]
		b, okB := owners[e.Remote.Unmap()]
		if !okA || !okB {
			unnamed++
			continue
		}
		if a.host != b.host || a.name == b.name {
			continue
		}
		host := orElse(a.host, e.Host)
		f := Finding{
			Title:      fmt.Sprintf("%s and %s of %s cannot reach each other", a.name, b.name, called(host)),
			Severity:   Critical,
			Confidence: named,
			Where:      []string{object(host, a.name), object(host, b.name)},
			Because:    "both ends of the failed connection are on one host: the kernel resolves the peer's address as its own, or the fabric does not join the two rails, so the packets never come back",
			Evidence: []Evidence{
				{Layer: "RDMA", What: "source of the failed connection", Seen: fmt.Sprintf("%s (%s)", e.Local.Unmap(), a.name), Role: "cause", From: e.From.String()},
				{Layer: "RDMA", What: "destination of the failed connection", Seen: fmt.Sprintf("%s (%s, the same host)", e.Remote.Unmap(), b.name), Role: "cause", From: e.From.String()},
				told(e, "effect"),
			},
			Not:     []string{"the path between hosts: neither end of this connection is on another host"},
			WrongIf: "connections between hosts fail in the same way",
			Fix: Fix{
				Text:     "join the rails in the fabric and give each interface its own routing table and neighbour entries; until then keep NCCL from using the network inside a host",
				Commands: []string{"export NCCL_NET_DISABLE_INTRA=1", "ib_write_bw -d DEVICE_A -x INDEX & ib_write_bw -d DEVICE_B -x INDEX ADDRESS_A"},
				Try:      []Change{{Setting: "NCCL_NET_DISABLE_INTRA", Value: "1"}},
			},
			Settle: fmt.Sprintf("ib_write_bw from %s to %s on the host itself", a.name, b.name),
		}
		if i := slices.IndexFunc(v.Inv.NCCL.Channels, func(c evidence.ChannelCount) bool { return c.Host == e.Host && c.Via == "P2P" }); i >= 0 {
			c := v.Inv.NCCL.Channels[i]
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "other connections inside the host", Seen: fmt.Sprintf("%d by P2P", c.Total), From: c.Example.String()})
		}
		return found(f)
	}
	switch {
	case len(broken) == 0:
		return ruledOut("no RDMA connection failed")
	case unnamed > 0:
		return cannotCheck("the GIDs of the failed connections, or whose they are (NCCL 2.18 or later, ip addr or show_gids)")
	}
	return ruledOut("the failed connections are between different hosts")
}
