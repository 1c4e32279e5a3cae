// Package cloud owns reading what a cloud tells of its network: the rules of security groups
// (aws ec2 describe-security-group-rules, describe-security-groups).
//
// They matter to EFA, whose packets are not IP: a rule for 0.0.0.0/0 does not let them through, one that names the
// group itself does.
package cloud

import (
	"encoding/json"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxRules limits the rules kept of one answer.
const MaxRules = 1 << 14

// answer is the part of both answers that is read; "UserIdGroupPairs" and "IpPermissions" are of the older one.
type answer struct {
	SecurityGroupRules []struct {
		IsEgress            bool
		IPProtocol          string `json:"IpProtocol"`
		CidrIPv4            string `json:"CidrIpv4"`
		CidrIPv6            string `json:"CidrIpv6"`
		ReferencedGroupInfo struct {
			GroupID string `json:"GroupId"`
		}
	}
	SecurityGroups []struct {
		IPPermissions       []permission `json:"IpPermissions"`
		IPPermissionsEgress []permission `json:"IpPermissionsEgress"`
	}
}

type permission struct {
	IPProtocol string `json:"IpProtocol"`
	IPRanges   []struct {
		CidrIP string `json:"CidrIp"`
	} `json:"IpRanges"`
	UserIDGroupPairs []struct {
		GroupID string `json:"GroupId"`
	} `json:"UserIdGroupPairs"`
}

// Read reads an answer that begins on a line.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	add := func(egress bool, protocol, cidr, group string) {
		if len(f.Inv.Security) < MaxRules {
			f.Inv.Security = append(f.Inv.Security, evidence.CloudRule{Egress: egress, Protocol: protocol, CIDR: cidr, Group: group, From: f.At(line)})
		}
	}
	for _, r := range a.SecurityGroupRules {
		cidr := r.CidrIPv4
		if cidr == "" {
			cidr = r.CidrIPv6
		}
		add(r.IsEgress, r.IPProtocol, cidr, r.ReferencedGroupInfo.GroupID)
	}
	for _, g := range a.SecurityGroups {
		for _, half := range []struct {
			egress bool
			list   []permission
		}{{false, g.IPPermissions}, {true, g.IPPermissionsEgress}} {
			for _, p := range half.list {
				for _, c := range p.IPRanges {
					add(half.egress, p.IPProtocol, c.CidrIP, "")
				}
				for _, u := range p.UserIDGroupPairs {
					add(half.egress, p.IPProtocol, "", u.GroupID)
				}
			}
		}
	}
	return nil
}
