package cloud

import (
	"strings"
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
		if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, inv.Security, cmpopts.IgnoreFields(evidence.CloudRule{}, "From")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Line by line, from the first line that tells what it is, and with an end that is missing.
func TestLines(t *testing.T) {
	for text, rules := range map[string]int{
		"{\n    \"SecurityGroupRules\": [\n        {\"IsEgress\": true, \"IpProtocol\": \"-1\"}\n    ]\n}": 1,
		"    \"SecurityGroupRules\": [\n        {\"IsEgress\": true}":                                      0,
	} {
		inv := &evidence.Inventory{}
		r := New(fragment.New(inv, "f"))
		started := false
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			n++
			if started = started || Starts([]byte(line)); started {
				r.Line([]byte(line), n)
			}
		}
		r.End()
		if len(inv.Security) != rules || (rules == 0) != (len(inv.Unreadable) == 1) {
			t.Errorf("%q: %d rules, unreadable %+v", text, len(inv.Security), inv.Unreadable)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"SecurityGroupRules": [{"IsEgress": 1}], "SecurityGroups": [{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		inv := &evidence.Inventory{}
		_ = Parse(strings.NewReader(text), fragment.New(inv, "f")) // an error is one of the answers
		if len(inv.Security) > len(text) {
			t.Fatal("more rules than bytes")
		}
	})
}
