package diagnose

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// I008: two hosts have the same name.
//
// Symptom: ranks of different hosts try P2P or shared memory with each other and fail or hang. Mechanism: NCCL
// tells hosts apart by a hash of the host name and the boot id (src/misc/utils.cc, getHostHash); old versions and
// containers that share a boot id take equal names for one host. Evidence for: one name with two bootstrap
// addresses on the same interface. Look-alikes: a host with several interfaces, which shows other interface names.
var causeSameName = Cause{
	Code:     "I008",
	Title:    "two hosts have the same name",
	Needs:    "the NCCL log of all hosts",
	Explains: []string{"I007", "J002", "J003"},
	Check:    checkSameName,
}

func checkSameName(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	type seat struct{ host, iface string }
	seen := map[seat][]evidence.SocketChoice{}
	var order []seat
	addressed := 0
	for _, s := range v.Inv.NCCL.Sockets {
		if !s.Address.IsValid() || s.Host == "" {
			continue
		}
		addressed++
		k := seat{s.Host, s.Interface}
		same := func(o evidence.SocketChoice) bool { return o.Address == s.Address }
		if !slices.ContainsFunc(seen[k], same) {
			if len(seen[k]) == 0 {
				order = append(order, k)
			}
			seen[k] = append(seen[k], s)
		}
	}
	for _, k := range order {
		// NCCL takes the first address of one family, so processes of one host agree; two families do not count.
		var v4, v6 []evidence.SocketChoice
		for _, s := range seen[k] {
			if s.Address.Unmap().Is4() {
				v4 = append(v4, s)
			} else {
				v6 = append(v6, s)
			}
		}
		double := v4
		if len(v6) > len(v4) {
			double = v6
		}
		if len(double) < 2 {
			continue
		}
		var addresses []string
		f := Finding{
			Severity: Critical, Confidence: likely, Where: []string{k.host},
			Because: "NCCL tells hosts apart by a hash of name and boot id; where the hashes are equal, ranks on different hosts try shared memory and P2P with each other",
			WrongIf: fmt.Sprintf("%s is one machine that changed its address between the two lines", k.host),
			Fix:     Fix{Text: "give every host its own name, or set NCCL_HOSTID to something unique on each", Commands: []string{"hostnamectl set-hostname NAME", "export NCCL_HOSTID=$(cat /etc/machine-id)"}},
			Settle:  "hostname and cat /proc/sys/kernel/random/boot_id on each host",
		}
		for _, s := range double[:min(len(double), maxRows)] {
			addresses = append(addresses, s.Address.Unmap().String())
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "address of " + s.Interface + " on " + k.host, Seen: s.Address.Unmap().String(), Expected: "one address a name", Role: "cause", From: s.From.String()})
		}
		if k.host == "localhost" {
			f.Confidence = named
			f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "host name", Seen: "localhost", Expected: "a name of its own", Role: "cause", From: double[0].From.String()})
		}
		f.Title = fmt.Sprintf("%d hosts call themselves %s: %s", len(double), k.host, listed(addresses))
		return found(f)
	}
	if addressed == 0 {
		return cannotCheck("the bootstrap addresses of the processes (NCCL_DEBUG=INFO)")
	}
	return ruledOut("each host name has one address on each interface")
}

// localOnly tells whether an address, as a log prints it, is one that means the asking host itself wherever it
// is used: loopback, or a container runtime's bridge, which has the same address on every host.
func (v *View) localOnly(peer string) (iface string, from evidence.Source, ok bool) {
	a, err := netip.ParseAddr(peer)
	if err != nil {
		return "", evidence.Source{}, false
	}
	a = a.Unmap()
	if a.IsLoopback() {
		return "lo", evidence.Source{}, true
	}
	for _, h := range v.Inv.Hosts {
		for _, d := range h.Netdevs {
			if virtual(d.Name) && slices.ContainsFunc(d.Addresses, func(p netip.Prefix) bool { return p.Addr().Unmap() == a }) {
				return d.Name, d.At, true
			}
		}
	}
	// Docker gives docker0 the first address of 172.17.0.0/16 unless told otherwise (Docker Engine, "bip").
	if a == netip.AddrFrom4([4]byte{172, 17, 0, 1}) {
		return "docker0", evidence.Source{}, true
	}
	return "", evidence.Source{}, false
}
