package spray

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/packet"
)

func render(t *testing.T, r AllowRule) Rendered {
	t.Helper()
	got, err := r.Render()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// u32 evaluates a test of iptables on a packet from its IP header on, as iptables-extensions(8) describes it: an offset whose four bytes are
// masked and shifted, @ to go on from there, and a range to lie in.
func u32(t *testing.T, test string, ip []byte) bool {
	t.Helper()
	location, bounds, _ := strings.Cut(test, "=")
	number := func(s string) int {
		v, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			t.Fatalf("%q in %q", s, test)
		}
		return int(v)
	}
	base, value := 0, 0
	for i, part := range strings.Split(location, "@") {
		if i > 0 {
			base += value
		}
		part = strings.NewReplacer("&", " & ", ">>", " >> ").Replace(part)
		words := strings.Fields(part)
		at := base + number(words[0])
		if at+4 > len(ip) {
			return false
		}
		value = int(binary.BigEndian.Uint32(ip[at:]))
		for ; len(words) > 2; words = words[2:] {
			if words[1] == "&" {
				value &= number(words[2])
			} else {
				value >>= number(words[2])
			}
		}
	}
	low, high, _ := strings.Cut(bounds, ":")
	return value >= number(low) && value <= number(high)
}

// The tests of the rules hold for packets with an id and for no others; options of the IPv4 header do not put them off.
func TestIptablesMatchesTheChecksum(t *testing.T) {
	text := render(t, AllowRule{For: BoxIptables}).Text
	var tests []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		_, rest, _ := strings.Cut(line, "--u32 '")
		test, _, ok := strings.Cut(rest, "'")
		if !ok || !strings.Contains(line, "-p udp --dport 4791 ") {
			t.Fatalf("%s", line)
		}
		if !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
	}
	if len(tests) != 2 {
		t.Fatalf("%q", tests)
	}
	const ethernet = 14
	for _, id := range []uint16{0, 1, 0x100, 0x8001, 0xffff} {
		four := roce(func(p *packet.Packet) { p.Checksum = id })[ethernet:]
		six := roce(overIPv6, func(p *packet.Packet) { p.Checksum = id })[ethernet:]
		options := slices.Insert(slices.Clone(four), 20, 1, 1, 1, 0) // three no-operations and the end
		options[0] = 0x46
		for name, got := range map[string]bool{"IPv4": u32(t, tests[0], four), "options": u32(t, tests[0], options), "IPv6": u32(t, tests[1], six)} {
			if got != (id != 0) {
				t.Errorf("%s with checksum %04x: match %t", name, id, got)
			}
		}
		// nftables: 16 bits from the 48th of the transport header.
		f := packet.Decode(packet.LinkEthernet, roce(func(p *packet.Packet) { p.Checksum = id }))
		if got := binary.BigEndian.Uint16(f.UDP[48/8:]); got != id {
			t.Errorf("@th,48,16 is %04x, want %04x", got, id)
		}
	}
	// The article's bits 8 to 15 miss this one.
	c := codec(t, LayoutPathHigh)
	if id := c.Encode(Context{QP: 7, Sequence: 3, Path: 0, Time: 9}); id == 0 || id>>8 != 0 {
		t.Errorf("path 0 of %s is %04x", LayoutPathHigh, id)
	}
}

func TestAllowRules(t *testing.T) {
	both := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	four := both[:1]
	for _, c := range []struct {
		name    string
		rule    AllowRule
		matches bool
		want    []string
		not     []string
	}{
		{"iptables", AllowRule{For: BoxIptables, From: both}, true, []string{
			"iptables -t raw -I PREROUTING -p udp -s 192.0.2.0/24 --dport 4791 -m u32 --u32 '0>>22&0x3C@4&0xFFFF=1:0xFFFF' -j CT --notrack\n",
			"\niptables -I FORWARD -p udp -s 192.0.2.0/24 --dport 4791 -m u32 --u32 '0>>22&0x3C@4&0xFFFF=1:0xFFFF' -j ACCEPT\n",
			"\nip6tables -I FORWARD -p udp -s 2001:db8::/32 --dport 4791 -m u32 --u32 '44&0xFFFF=1:0xFFFF' -j ACCEPT\n"}, nil},
		{"iptables, one family", AllowRule{For: BoxIptables, From: four, Chain: ChainInput}, true, []string{"-I INPUT"}, []string{"ip6tables", "FORWARD"}},
		{"nftables", AllowRule{For: BoxNftables}, true, []string{"type filter hook prerouting priority raw", "prerouting udp dport 4791 @th,48,16 != 0 notrack\n", "insert rule inet filter forward udp dport 4791 @th,48,16 != 0 accept\n"}, []string{"saddr"}},
		{"nftables, a table of its own name", AllowRule{For: BoxNftables, From: both, Table: "ip fw", Chain: ChainInput}, true, []string{"insert rule ip fw input ip saddr { 192.0.2.0/24 } udp", "ip6 saddr { 2001:db8::/32 } udp"}, nil},
		{"aws", AllowRule{For: BoxAWS, Group: "sg-0123456789abcdef0"}, false, []string{`aws ec2 authorize-security-group-ingress --group-id "sg-0123456789abcdef0" --ip-permissions "IpProtocol=udp,FromPort=4791,ToPort=4791,UserIdGroupPairs=[{GroupId=sg-0123456789abcdef0}]"`, "authorize-security-group-egress"}, []string{"$GROUP", "checksum"}},
		{"aws, no group", AllowRule{For: BoxAWS, From: both}, false, []string{"GROUP=${GROUP:?", `--group-id "$GROUP"`, "IpRanges=[{CidrIp=192.0.2.0/24}]", "Ipv6Ranges=[{CidrIpv6=2001:db8::/32}]"}, []string{"UserIdGroupPairs"}},
		{"terraform", AllowRule{For: BoxTerraform}, false, []string{`resource "aws_vpc_security_group_ingress_rule" "roce" {`, `resource "aws_vpc_security_group_egress_rule" "roce" {`, "  ip_protocol                  = \"udp\"\n", "  from_port                    = 4791\n", "referenced_security_group_id = var.security_group_id\n", `variable "security_group_id" {`}, nil},
		{"terraform, group and senders", AllowRule{For: BoxTerraform, Group: "sg-01234567", From: both}, false, []string{`security_group_id = "sg-01234567"`, `cidr_ipv4         = "192.0.2.0/24"`, `"roce_ipv6_0"`}, []string{"variable", "referenced"}},
	} {
		got := render(t, c.rule)
		if got.Matches != c.matches || len(got.Notes) == 0 {
			t.Errorf("%s: matches %t, notes %q", c.name, got.Matches, got.Notes)
		}
		for _, w := range c.want {
			if !strings.Contains(got.Text, w) {
				t.Errorf("%s lacks %q:\n%s", c.name, w, got.Text)
			}
		}
		for _, n := range c.not {
			if strings.Contains(got.Text, n) {
				t.Errorf("%s has %q:\n%s", c.name, n, got.Text)
			}
		}
	}
}

// What a user writes goes into commands: nothing that is not a prefix, a group or a name gets there.
func TestAllowRulesRefuse(t *testing.T) {
	for name, r := range map[string]AllowRule{
		"device":       {For: "pf"},
		"no prefix":    {For: BoxAWS, From: []netip.Prefix{{}}},
		"host bits":    {For: BoxAWS, From: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}},
		"group":        {For: BoxAWS, Group: "sg-1; reboot"},
		"short group":  {For: BoxAWS, Group: "sg-123"},
		"chain":        {For: BoxNftables, Chain: "output"},
		"table":        {For: BoxNftables, Table: "inet filter; flush ruleset"},
		"no family":    {For: BoxNftables, Table: "filter"},
		"other family": {For: BoxNftables, Table: "arp filter"},
		"digit":        {For: BoxNftables, Table: "inet 1st"},
	} {
		if _, err := r.Render(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
