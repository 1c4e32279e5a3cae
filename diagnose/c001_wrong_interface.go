package diagnose

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C001: the processes talk over an interface that does not lead to the other hosts.
//
// Symptom: initialisation hangs or connections are refused. Mechanism: loopback and the bridges of container and
// virtual machine runtimes exist on every host, often with the same address; NCCL leaves lo and docker out by
// itself, but not veth and virbr, and setting NCCL_SOCKET_IFNAME drops that filter (src/misc/socket.cc,
// ncclFindInterfaces). MPI chooses on its own and does not read NCCL's variable. Evidence for: such an interface
// in the bootstrap line of a job of several hosts, one address on several hosts, or a connection to a bridge's
// address. Against: a job on one host, where lo is right. Look-alikes: I007.
var causeWrongInterface = Cause{
	Code:     "C001",
	Title:    "the job talks over an interface that does not lead to the other hosts",
	Needs:    "the NCCL or MPI log",
	Explains: []string{"I007", "J002", "J003", "I008"},
	Check:    checkWrongInterface,
}

// virtual tells whether an interface is one that no other host can be reached over, by the names that the kernel
// and the usual runtimes give: loopback, Docker, libvirt, LXC, CNI plugins, virtual pairs, and the USB network of
// a board controller.
func virtual(name string) bool {
	if name == "lo" {
		return true
	}
	for _, prefix := range []string{"docker", "veth", "virbr", "br-", "lxc", "lxd", "cni", "flannel", "cali", "podman", "kube-", "nodelocaldns", "tunl", "bmc", "usb", "enx"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func checkWrongInterface(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	f := Finding{
		Severity: Critical,
		Because:  "the interface exists on every host by itself, often with the same address, so a connection to it ends on the host it began on",
		WrongIf:  "all ranks of the job are on one host",
		Fix: Fix{
			Text:     "name the interface that leads to the other hosts, for NCCL and, where MPI starts the job, for MPI too",
			Commands: []string{"export NCCL_SOCKET_IFNAME==IFACE", "mpirun --mca btl_tcp_if_exclude lo,docker0 --mca oob_tcp_if_exclude lo,docker0 ..."},
		},
		Settle: "ip addr on two hosts: an interface that both can reach each other over",
	}
	if e, ok := v.noInterface(); ok {
		f.Title = fmt.Sprintf("%s has no interface with an address that NCCL can use", called(e.Host))
		f.Where = []string{called(e.Host)}
		f.Confidence = likely
		f.Because = "NCCL joins its processes over TCP even on one host; it leaves loopback and docker out, and found nothing else: the container has no network, or the interface has no address"
		f.WrongIf = "ip addr, where the job runs, shows an interface with an address"
		f.Fix = Fix{Text: "give the container the host's network, or a network of its own; on a single machine without one, let NCCL use loopback", Commands: []string{"docker run --network=host ...", "ip -br addr   # inside the container", "export NCCL_SOCKET_IFNAME=lo   # one host only"}}
		f.Settle = "ip -br addr inside the container"
		f.Evidence = []Evidence{told(e, "cause")}
		return found(f)
	}
	// A connection to an address that is the same on every host.
	for _, e := range v.said(evidence.ConnectFailed) {
		iface, at, ok := v.localOnly(e.Peer)
		if !ok {
			continue
		}
		who := "NCCL"
		if strings.Contains(e.File, "btl_tcp") || strings.Contains(e.File, "oob_tcp") {
			who = "MPI"
			f.Not = append(f.Not, "NCCL_SOCKET_IFNAME: MPI does not read it")
		}
		if e.What == "gloo" || e.What == "store" {
			who = map[string]string{"gloo": "Gloo", "store": "PyTorch's store"}[e.What]
			f.Because = "the host's own name is looked up to find its address, and the answer is one that every host has (Debian and Ubuntu put 127.0.1.1 into /etc/hosts), so a connection to it ends on the host it began on"
			f.Fix = Fix{
				Text:     "name the interface that leads to the other hosts, or mend the entry of the host's own name in /etc/hosts; a master address must be one that all hosts reach",
				Commands: []string{"export GLOO_SOCKET_IFNAME=IFACE NCCL_SOCKET_IFNAME==IFACE", "getent hosts $(hostname)", "grep -n 127.0 /etc/hosts"},
			}
			f.Not = append(f.Not, "NCCL_SOCKET_IFNAME: neither Gloo nor the store reads it")
		}
		f.Title = fmt.Sprintf("%s on %s connects to %s, the address of %s, which every host has", who, called(e.Host), e.Peer, iface)
		f.Where = []string{object(e.Host, iface)}
		f.Confidence = likely
		if at.File != "" {
			f.Confidence = named
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "interface with " + e.Peer, Seen: iface, Expected: "an interface of the cluster's network", Role: "cause", From: at.String()})
		}
		f.Evidence = append(f.Evidence, told(e, "effect"))
		return found(f)
	}
	sockets := v.Inv.NCCL.Sockets
	// One address in use on several hosts.
	byAddress := map[netip.Addr]evidence.SocketChoice{}
	for _, s := range sockets {
		if !s.Address.IsValid() || s.Address.IsLinkLocalUnicast() || s.Host == "" || s.Use == "" {
			continue
		}
		o, taken := byAddress[s.Address]
		if !taken {
			byAddress[s.Address] = s
			continue
		}
		if o.Host == s.Host {
			continue
		}
		f.Title = fmt.Sprintf("%s and %s both use %s on %s as their own address", o.Host, s.Host, s.Address.Unmap(), s.Interface)
		f.Where = []string{object(o.Host, o.Interface), object(s.Host, s.Interface)}
		f.Confidence = named
		f.Evidence = []Evidence{socketRow(o), socketRow(s)}
		f.Evidence = append(f.Evidence, tell(v.said(evidence.ConnectFailed), "effect")...)
		return found(f)
	}
	failed := v.said(evidence.ConnectFailed, evidence.WatchdogTimeout)
	for _, s := range sockets {
		if !virtual(s.Interface) || v.spans() != yes {
			continue
		}
		f.Title = fmt.Sprintf("%s uses %s for %s in a job of several hosts", called(s.Host), s.Interface, useOf(s))
		f.Where = []string{object(s.Host, s.Interface)}
		f.Confidence = likely
		f.Evidence = []Evidence{socketRow(s)}
		if e, ok := v.variable("NCCL_SOCKET_IFNAME", s.Host); ok {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "NCCL_SOCKET_IFNAME", Seen: e.Value, From: e.From.String()})
		}
		if len(failed) > 0 {
			f.Confidence = named
			f.Evidence = append(f.Evidence, tell(failed, "effect")...)
		}
		return found(f)
	}
	if len(sockets) == 0 {
		return cannotCheck("the interfaces in use (NCCL_DEBUG=INFO prints \"Bootstrap : Using\")")
	}
	return ruledOut("bootstrap and sockets use interfaces of the network: " + sockets[0].Interface)
}

// noInterface finds what old versions of NCCL say when they have no address to connect from: a socket of the family 0.
func (v *View) noInterface() (evidence.Event, bool) {
	if len(v.Inv.NCCL.Sockets) > 0 {
		return evidence.Event{}, false
	}
	for _, e := range v.said(evidence.OtherWarning) {
		if strings.Contains(e.Text, "Socket creation failed") && strings.Contains(e.Text, "Address family not supported") {
			return e, true
		}
	}
	return evidence.Event{}, false
}

func useOf(s evidence.SocketChoice) string {
	switch s.Use {
	case "data":
		return "data"
	case "oob":
		return "setting up connections"
	}
	return "bootstrap"
}

func socketRow(s evidence.SocketChoice) Evidence {
	seen := s.Interface
	if s.Address.IsValid() {
		seen += " " + s.Address.Unmap().String()
	}
	return Evidence{Layer: "collective", What: "interface for " + useOf(s) + " on " + called(s.Host), Seen: seen, Expected: "an interface of the cluster's network, with an address of its own", Role: "cause", From: s.From.String()}
}
