// Package cloud owns reading what a cloud tells of its network: the rules of security groups
// (aws ec2 describe-security-group-rules, describe-security-groups).
//
// They matter to EFA, whose packets are not IP: a rule for 0.0.0.0/0 does not let them through, one that names the
// group itself does.
package cloud

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxBytes is how much of an answer is read: AWS allows 1000 rules a group, of some 600 bytes each.
const MaxBytes = 8 << 20

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

// Rules gathers the lines of one answer, which is read when it is over: JSON has no lines.
type Rules struct {
	f    *fragment.Fragment
	text bytes.Buffer
	from int
}

// New makes a reader for one answer.
func New(f *fragment.Fragment) *Rules { return &Rules{f: f} }

// Starts tells whether a line begins an answer.
func Starts(line []byte) bool {
	return bytes.Contains(line, []byte(`"SecurityGroupRules"`)) || bytes.Contains(line, []byte(`"SecurityGroups"`))
}

// Parse reads an answer.
func Parse(r io.Reader, f *fragment.Fragment) error {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes))
	if err != nil {
		return err
	}
	return parse(text, f, 1)
}

// Line reads one line.
func (r *Rules) Line(line []byte, n int) bool {
	if r.from == 0 {
		r.from = n
		if t := bytes.TrimSpace(line); len(t) > 0 && t[0] != '{' {
			r.text.WriteByte('{') // the brace stood on a line of its own, which told nothing
		}
	}
	if r.text.Len()+len(line) > MaxBytes {
		return false
	}
	r.text.Write(line)
	r.text.WriteByte('\n')
	return true
}

// End reads what was gathered.
func (r *Rules) End() {
	if err := parse(r.text.Bytes(), r.f, r.from); err != nil {
		r.f.Inv.Unreadable = append(r.f.Inv.Unreadable, evidence.Unreadable{From: r.f.At(r.from), Why: "security groups: " + err.Error()})
	}
}

func parse(text []byte, f *fragment.Fragment, line int) error {
	var a answer
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&a); err != nil {
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
