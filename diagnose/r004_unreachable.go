package diagnose

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// R004: a peer does not answer over RDMA, and nothing read says why.
//
// Symptom: status 12 (mlx5 syndrome 0x81), or a QP that cannot be moved to RTR because the neighbour was not
// resolved. Mechanism: packets were sent again until the last retry and never acknowledged. Right after the start
// this means that the path never worked (address, route, MTU, filter of UDP 4791, partition key); later it means
// that the path or the peer died for longer than retries x timeout. Everything that explains it is a cause of its
// own; this one is what is left, with the tests in order.
var causeUnreachable = Cause{
	Code:     "R004",
	Title:    "a peer does not answer over RDMA",
	Needs:    "the NCCL, UCX or perftest log",
	Explains: []string{"J002", "J003"},
	Check:    checkUnreachable,
}

func checkUnreachable(v *View) Verdict {
	if t, ok := v.failedPerftest(); ok {
		return found(perftestUnreachable(t))
	}
	if s, silent := v.silent(); silent {
		return s
	}
	broken := v.unreachable()
	if len(broken) == 0 {
		if len(v.said(evidence.WatchdogTimeout)) > 0 && !v.onlySockets() {
			return ruledOut("no RDMA connection used up its retries, although a collective timed out: the QPs are alive")
		}
		return ruledOut("no RDMA connection used up its retries")
	}
	first := broken[0]
	early, told := v.rightAfterStart()
	f := Finding{
		Severity: Critical, Confidence: possible,
		Where:    []string{orElse(first.Peer, "the peer of "+called(first.Host))},
		Evidence: tell(broken, "effect"),
		WrongIf:  "an earlier line, of a host whose log was not read, names a cause",
	}
	when := ""
	switch {
	case told && early:
		when = "; no data had passed before"
		f.Because = "the connection was made over TCP, but no RDMA packet was ever acknowledged: the address, the route, the MTU, or a filter of UDP 4791 keeps them from arriving"
		f.Fix = Fix{
			Text:     "test in this order: the GID index and its kind, the route from that address, the MTU, UDP 4791 in filters and security groups, VLAN and partition key",
			Commands: []string{"show_gids", "ib_write_bw -d DEVICE -x INDEX [PEER]", "ping -M do -s 4172 -I ADDRESS PEER", "iptables -L -n | grep 4791"},
		}
	default:
		if told {
			when = "; it had worked before"
		}
		f.Because = "the peer or the path to it was gone for longer than all retries take"
		f.Fix = Fix{
			Text:     "look first at the peer and its link at that time: link-down counters, kernel log, a process that ended; then at pause storms and drops on the path; then, if it happened at the start, at GID, route and MTU",
			Commands: []string{"ethtool -S IFACE | grep -E 'link_down|prio._pause|discards'", "dmesg -T | tail", "show_gids", "ib_write_bw -d DEVICE -x INDEX [PEER]"},
		}
	}
	f.Title = fmt.Sprintf("%s got no answer over RDMA from %s%s", names(eventHosts(broken)), orElse(first.Peer, "its peer"), when)
	f.Settle = "ib_write_bw between the two hosts, with the same device and GID index"
	if peer := v.commonPeer(broken); peer != "" {
		f.Title = fmt.Sprintf("%d connections got no answer over RDMA, all to %s%s", len(broken), peer, when)
		f.Where = []string{peer}
		f.Settle = "the log and the link counters of " + peer
	}
	f.Not = append(f.Not, notLinkDown(v)...)
	return found(f)
}

func perftestUnreachable(t evidence.Perftest) Finding {
	where := object(t.Host, t.Device)
	return Finding{
		Title:    fmt.Sprintf("the bandwidth test on %s got no answer over RDMA", where),
		Severity: Critical, Confidence: possible, Where: []string{where},
		Because:  "the two sides exchanged their addresses over TCP, but no RDMA packet was acknowledged: the address, the route, the MTU, or a filter of UDP 4791 keeps them from arriving",
		Evidence: []Evidence{{Layer: "RDMA", What: "result of the test", Seen: "status 12 (transport retries exceeded)", Role: "effect", From: t.Status.From.String()}},
		WrongIf:  "the other side was not started with the same options",
		Fix: Fix{
			Text:     "test in this order: with rdma_cm, with the index of the routed RoCE v2 GID on both sides, the route from that address, the MTU, UDP 4791 in filters",
			Commands: []string{"ib_write_bw -d DEVICE -R [PEER]", "show_gids; ib_write_bw -d DEVICE -x INDEX [PEER]", "ping -M do -s 4172 -I ADDRESS PEER", "iptables -L -n | grep 4791"},
		},
		Settle: "ib_write_bw -R between the same two hosts",
	}
}

// rightAfterStart tells whether the first error came before any data had passed. Rows of a benchmark and
// sequence numbers of collectives show that data had passed; a log with errors and without either that holds the
// start of the job shows that it had not.
func (v *View) rightAfterStart() (early, told bool) {
	n := &v.Inv.NCCL
	if len(v.Inv.Calls) > 0 || len(v.Inv.Steps) > 0 {
		return false, true
	}
	for _, e := range v.said(evidence.WatchdogTimeout) {
		if e.Seq > 100 { // the first collectives of a job are its parameter broadcasts; a hundred are past those
			return false, true
		}
	}
	if len(n.Versions)+len(n.Devices)+len(n.Networks) > 0 {
		return true, true
	}
	return false, false
}

// commonPeer is the one peer that connections of several hosts lost, "" where there is none.
func (v *View) commonPeer(broken []evidence.Event) string {
	if len(eventHosts(broken)) < 2 {
		return ""
	}
	peer := broken[0].Peer
	if peer == "" || slices.ContainsFunc(broken, func(e evidence.Event) bool { return e.Peer != peer }) {
		return ""
	}
	return peer
}
