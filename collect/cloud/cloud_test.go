package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Both answers of AWS say the same in other words.
func TestRules(t *testing.T) {
	want := []evidence.CloudRule{{Egress: false, Protocol: "-1", Group: "sg-0a"}, {Egress: true, Protocol: "-1", CIDR: "0.0.0.0/0"}}
	for name, text := range map[string]string{
		"rules":  `{"SecurityGroupRules": [{"IsEgress": false, "IpProtocol": "-1", "ReferencedGroupInfo": {"GroupId": "sg-0a"}}, {"IsEgress": true, "IpProtocol": "-1", "CidrIpv4": "0.0.0.0/0"}]}`,
		"groups": `{"SecurityGroups": [{"IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-0a"}]}], "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]}]}`,
	} {
		inv := &evidence.Inventory{}
		if err := Read(fragment.New(inv, "f"), []byte(text), 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, inv.Security, cmpopts.IgnoreFields(evidence.CloudRule{}, "From")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"SecurityGroupRules": [{"IsEgress": 1}], "SecurityGroups": [{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		inv := &evidence.Inventory{}
		_ = Read(fragment.New(inv, "f"), []byte(text), 1) // an error is one of the answers
		if len(inv.Security) > len(text) {
			t.Fatal("more rules than bytes")
		}
	})
}
