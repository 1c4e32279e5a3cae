package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C006: the libfabric plugin (EFA) has no provider, or cannot address a peer.
//
// Symptom: "Could not find any optimal provider" and then sockets, or "Unable to insert remote address into
// address vector". Mechanism: without an EFA device, or with a libfabric that lacks the efa provider, the plugin
// gives up and NCCL goes on to IB and sockets (the line about libibverbs that follows is a consequence). A peer
// that cannot be addressed: EFA is not IP, so a security group rule by CIDR does not cover it; the group must name
// itself as source and as destination. Evidence for: the plugin's line. Look-alikes: H005.
var causeOFI = Cause{
	Code:     "C006",
	Title:    "the libfabric plugin has no provider, or cannot address a peer",
	Needs:    "the NCCL log; the rules of the security group",
	Explains: []string{"H005", "C002", "J002", "J003"},
	Check:    checkOFI,
}

func checkOFI(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	failed := v.said(evidence.PluginFailed)
	if len(failed) == 0 {
		for _, c := range v.Inv.NCCL.Networks {
			if strings.Contains(c.Name, "Libfabric") {
				return ruledOut("the libfabric plugin is in use and reported no error")
			}
		}
		return notApplicable("no libfabric plugin in the log")
	}
	address := without(failed, func(e evidence.Event) bool {
		text := strings.ToLower(e.Text + " " + e.What)
		return !strings.Contains(text, "address vector") && !strings.Contains(text, "insert remote")
	})
	if len(address) > 0 {
		f := Finding{
			Title:    fmt.Sprintf("the libfabric plugin of %s cannot address a peer", names(eventHosts(address))),
			Severity: Critical, Confidence: named, Where: []string{called(address[0].Host)},
			Because:  "EFA traffic is not IP: a security group lets it pass only by rules that name the group itself, inbound and outbound; rules by CIDR do not cover it",
			Evidence: tell(address, "effect"),
			Not:      []string{"TCP between the hosts: it works by the CIDR rules and tells nothing about EFA"},
			WrongIf:  "the group already has both rules, and all instances of the job are in it and in one subnet",
			Fix: Fix{
				Text: "add two rules that allow all traffic with the group itself as source (inbound) and as destination (outbound)",
				Commands: []string{
					"aws ec2 authorize-security-group-egress --group-id SG --ip-permissions IpProtocol=-1,UserIdGroupPairs=[{GroupId=SG}]",
					"aws ec2 authorize-security-group-ingress --group-id SG --ip-permissions IpProtocol=-1,UserIdGroupPairs=[{GroupId=SG}]",
				},
			},
			Settle: "fi_pingpong -p efa between the two instances, and the rules of their security group",
		}
		if rows := v.securityRows(); len(rows) > 0 {
			f.Evidence = append(rows, f.Evidence...)
			f.Confidence = proven
			f.Title += ": the security group has no rule that names a group " + map[bool]string{true: "in either direction", false: "in one direction"}[len(rows) == 2]
		}
		return found(f)
	}
	if f, ok := v.fabricRefused(failed); ok {
		return found(f)
	}
	f := Finding{
		Title:    fmt.Sprintf("the libfabric plugin of %s found no provider", names(eventHosts(failed))),
		Severity: Critical, Confidence: named, Where: []string{called(failed[0].Host)},
		Because:  "without a provider the plugin gives up, and NCCL goes on to InfiniBand, which is not there, and then to sockets",
		Evidence: tell(failed, "cause"),
		Not:      []string{"libibverbs: the line about it comes after the plugin gave up and is a consequence"},
		WrongIf:  "the instance type has no EFA, and the plugin is only part of the image",
		Fix: Fix{
			Text:     "attach an EFA interface to the instance, hand its device to the container, and install a libfabric with the efa provider",
			Commands: []string{"fi_info -p efa", "lspci | grep -i efa", "ls /dev/infiniband"},
		},
		Settle: "fi_info -p efa where the job runs",
	}
	for _, e := range v.said(evidence.NoVerbsLibrary, evidence.NoDevice) {
		f.Evidence = append(f.Evidence, told(e, "effect"))
		break
	}
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "Socket" {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "network of " + called(c.Host), Seen: "Socket", Expected: "AWS Libfabric", Role: "effect", From: c.From.String()})
			break
		}
	}
	return found(f)
}

// fabricRefused tells apart the failures of the plugin that have a provider: libfabric of another age than the plugin was built
// with, a domain that cannot be opened, a request that failed under way.
func (v *View) fabricRefused(failed []evidence.Event) (Finding, bool) {
	says := func(words ...string) (evidence.Event, bool) {
		for _, e := range failed {
			text := strings.ToLower(e.Text + " " + e.What)
			for _, w := range words {
				if strings.Contains(text, w) {
					return e, true
				}
			}
		}
		return evidence.Event{}, false
	}
	f := Finding{
		Severity: Critical, Confidence: named, Evidence: tell(failed, "cause"),
		Not: []string{"libibverbs: the line about it comes after the plugin gave up and is a consequence"},
	}
	if e, ok := says("completed with error"); ok {
		f.Title = fmt.Sprintf("a request of the libfabric plugin failed on %s while data was sent", called(e.Host))
		f.Confidence = likely
		f.Because = "the provider gave the transfer up: the peer ended or cannot be reached (security group, subnet), or the two sides run other versions of the plugin or of libfabric"
		f.WrongIf = "another rank ended before: then this is the consequence"
		f.Fix = Fix{Text: "look for the first error of all ranks; compare the versions of the plugin, libfabric and the efa driver on all hosts; check that the security group lets its own members through", Commands: []string{"fi_info --version; modinfo efa | grep ^version", "fi_pingpong -p efa PEER", "FI_LOG_LEVEL=warn ..."}}
		f.Settle = "fi_pingpong between the same two hosts, and the versions on both"
		f.Not = nil
	} else if e, ok := says("couldn't set fi_opt", "protocol not available", "undefined symbol", "version mismatch"); ok {
		f.Title = fmt.Sprintf("the libfabric plugin of %s runs with another libfabric than it was built for", called(e.Host))
		f.Because = "the plugin asks for an option that this libfabric does not have, gives up, and NCCL goes on to InfiniBand and sockets"
		f.WrongIf = "fi_info shows the version the plugin was built with, where the job runs"
		f.Fix = Fix{Text: "use one set of plugin and libfabric (the EFA installer brings both), and look which libfabric the loader finds first", Commands: []string{"ldd $(ldconfig -p | grep -o '/.*libnccl-net.so' | head -1) | grep fabric", "fi_info --version", "echo $LD_LIBRARY_PATH"}}
		f.Settle = "ldd of the plugin, where the job runs"
	} else if e, ok := says("couldn't open a fabric access domain", "couldn't open fabric access domain", "access domain"); ok {
		f.Title = fmt.Sprintf("the libfabric plugin of %s cannot open its NIC (access domain)", called(e.Host))
		f.Because = "a provider was found, and the driver refuses to hand the NIC out: no right to the device, no network id for the job (the VNI of Slingshot comes from the launcher), or memory that cannot be locked"
		f.WrongIf = "fi_pingpong works where the job runs, as the same user"
		f.Fix = Fix{Text: "start the job by a launcher that gives it a network id, hand the device to the container, and lift the limit of locked memory", Commands: []string{"srun --network=single_node_vni,job_vni ...   # Slingshot", "ls -l /dev/cxi* /dev/infiniband", "ulimit -l"}}
		f.Settle = "FI_LOG_LEVEL=warn, and fi_pingpong where the job runs"
	} else {
		return Finding{}, false
	}
	f.Where = []string{called(failed[0].Host)}
	for _, c := range v.Inv.NCCL.Networks {
		if c.Name == "Socket" {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "network of " + called(c.Host), Seen: "Socket", Expected: "AWS Libfabric", Role: "effect", From: c.From.String()})
			break
		}
	}
	return f, true
}

// securityRows tells what the security group's rules allow, where they were read: a direction without a rule that
// names a group is what keeps EFA out.
func (v *View) securityRows() []Evidence {
	var rows []Evidence
	for _, egress := range []bool{true, false} {
		direction := "inbound"
		if egress {
			direction = "outbound"
		}
		var byCIDR *evidence.CloudRule
		self := false
		for i, r := range v.Inv.Security {
			if r.Egress != egress {
				continue
			}
			if r.Group != "" {
				self = true
			} else if byCIDR == nil {
				byCIDR = &v.Inv.Security[i]
			}
		}
		if len(v.Inv.Security) == 0 || self {
			continue
		}
		row := Evidence{Layer: "host", What: direction + " rules of the security group", Seen: "none that names a group", Expected: "one that names the group itself", Role: "cause", From: v.Inv.Security[0].From.String()}
		if byCIDR != nil {
			row.Seen, row.From = "only "+byCIDR.CIDR, byCIDR.From.String()
		}
		rows = append(rows, row)
	}
	return rows
}
