package diagnose

import (
	"fmt"
	"strconv"

	"github.com/shunt-network/shunt/evidence"
)

// I007: TCP connections between hosts are refused or filtered.
//
// Symptom: hosts ping each other, NCCL stops while it sets up. Mechanism: NCCL's bootstrap and proxies listen on
// ephemeral TCP ports (net.ipv4.ip_local_port_range), which a host firewall or a security group blocks. What the
// sender sees tells how: "No route to host" (113) is a REJECT with icmp-host-prohibited, as firewalld does;
// "Connection refused" (111) is a reset, by a REJECT with tcp-reset or because nobody listens any more; a timeout
// (110) is a DROP. Look-alikes: J003 (the peer had died before), C001 (an address that is the peer's only by name).
var causeTCPFiltered = Cause{
	Code:     "I007",
	Title:    "TCP between hosts is refused or filtered",
	Needs:    "the NCCL log; iptables -L of the hosts makes it certain",
	Explains: []string{"J003", "J002"},
	Check:    checkTCPFiltered,
}

func checkTCPFiltered(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	failed := without(v.said(evidence.ConnectFailed), func(e evidence.Event) bool { return v.neverRemote(e.Peer) })
	if len(failed) == 0 {
		return ruledOut("no TCP connection between hosts failed")
	}
	first := failed[0]
	var filters []evidence.Source
	filterHost := ""
	for _, h := range v.Inv.Hosts {
		if len(h.Filters) > 0 {
			filters, filterHost = h.Filters, h.Name
			break
		}
	}
	f := Finding{
		Title:      fmt.Sprintf("%s could not open a TCP connection to %s", called(first.Host), orElse(first.Peer, "a peer")),
		Severity:   Critical,
		Confidence: possible,
		Where:      []string{orElse(first.Peer, called(first.Host))},
		Because:    "NCCL sets up over TCP on ephemeral ports; a packet filter that lets ping and ssh through still stops it",
		Evidence:   tell(failed, "effect"),
		WrongIf:    "a process on the peer ended before this connection was tried",
		Fix: Fix{
			Text: "let the hosts of the job reach each other on all TCP ports of net.ipv4.ip_local_port_range (and UDP 4791 for RoCE), or narrow that range and open it",
			Commands: []string{
				"nc -l 44511 on the peer, then nc -vz PEER 44511 from here",
				"iptables -L -n -v; nft list ruleset; firewall-cmd --list-all",
				"sysctl net.ipv4.ip_local_port_range",
			},
		},
		Settle: "nc between the two hosts on a port of the ephemeral range",
	}
	switch {
	case errnoIs(first, 113, "No route to host"):
		f.Confidence = likely
		f.Because += "; \"No route to host\" on a host that answers ping is the answer of a rule that rejects with icmp-host-prohibited, as firewalld does"
	case errnoIs(first, 110, "timed out"):
		f.Confidence = likely
		f.Because += "; a timeout means that the packets were dropped without an answer"
	case errnoIs(first, 111, "refused"):
		f.Not = append(f.Not, "a filter that drops: the answer was a reset, so the peer's kernel was reached; nobody listened, or a rule rejects with tcp-reset")
	}
	if first.Port != 0 {
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "port", Seen: strconv.Itoa(first.Port), Expected: "an ephemeral port, open between the hosts", From: first.From.String()})
	}
	if len(filters) > 0 {
		f.Confidence = named
		f.Title += fmt.Sprintf(", and a packet filter of %s rejects or drops", called(filterHost))
		f.Evidence = append([]Evidence{{Layer: "host", What: "packet filter of " + called(filterHost), Seen: counted(len(filters), "rule that rejects or drops", "rules that reject or drop"), Role: "cause", From: filters[len(filters)-1].String()}}, f.Evidence...)
	}
	for _, h := range v.Inv.Hosts {
		for _, k := range h.Kernel {
			if k.Kind == "conntrack full" {
				f.Confidence = named
				f.Title = fmt.Sprintf("%s could not open a TCP connection to %s, and the connection table of %s is full", called(first.Host), orElse(first.Peer, "a peer"), called(h.Name))
				f.Because = "a full table of tracked connections makes the kernel drop the packets of new ones"
				f.Evidence = append([]Evidence{{Layer: "host", What: "kernel log of " + called(h.Name), Seen: shorten(k.Text), Role: "cause", From: k.From.String()}}, f.Evidence...)
				f.Fix = Fix{Text: "raise the limit of tracked connections, or exempt the cluster's network from tracking", Commands: []string{"sysctl -w net.netfilter.nf_conntrack_max=1048576", "conntrack -C"}}
				return found(f)
			}
		}
	}
	// A peer that had closed or crashed earlier refuses new connections: then the filter is not the first thing.
	if before := v.deathBefore(first); before != nil {
		f.Confidence = min(f.Confidence, weak)
		f.Evidence = append([]Evidence{told(*before, "cause")}, f.Evidence...)
		f.Not = append(f.Not, "nothing speaks against a peer that had ended before: see the first row")
	}
	return found(f)
}

// neverRemote tells whether an address cannot be another host's: loopback, or the bridge of a container runtime.
func (v *View) neverRemote(peer string) bool {
	_, _, local := v.localOnly(peer)
	return local
}

// deathBefore finds an event that says that a process had failed before another event.
func (v *View) deathBefore(e evidence.Event) *evidence.Event {
	for _, d := range v.Inv.NCCL.Events {
		if d.Sequence >= e.Sequence || d.From.File != e.From.File {
			continue
		}
		switch d.Kind {
		case evidence.PeerClosed, evidence.CudaError, evidence.CompletionError, evidence.AsyncEvent, evidence.ShmFailed, evidence.RegisterFailed, evidence.WatchdogTimeout:
			return &d
		}
	}
	return nil
}
