package spray

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/packet"
)

// A PPCID makes a RoCEv2 packet one with a wrong UDP checksum, and devices on the way may drop it (S0.15): RoCE dies while ICMP and TCP
// work. Article 000 has the security group filter for it, and would let bits 8 to 15 of the field be other than 0. What is known of the
// devices is this.
//
// Linux. Connection tracking verifies the checksum of UDP packets that come in, unless it is 0, and calls a packet where it does not match
// invalid (net/netfilter/nf_conntrack_proto_udp.c, udp_error; net.netfilter.nf_conntrack_checksum turns it off for all). A rule that
// accepts is no help where one before it drops what is invalid: the packets must not be tracked. iptables and nftables can both look at
// the field itself. A socket of the host verifies too, and no rule changes that: Soft-RoCE, which receives over one, drops every
// PPCID (net/ipv4/udp.c, udp_queue_rcv_one_skb).
//
// Clouds. A security group of AWS names protocols, ports and peers (its API has no other field): it cannot be told about a checksum. Where
// packets with PPCIDs vanish behind a group that allows UDP 4791, something else verifies, which no rule of the group reaches. Whether
// AWS does so somewhere is not documented.
//
// A rule on bits 8 to 15 alone, as the article has it, misses ids whose high byte is 0: none of the layouts with a version, one in 256 of
// the others.

// Middlebox is a kind of device to render a rule for.
type Middlebox string

// Middleboxes.
const (
	BoxIptables  Middlebox = "iptables"
	BoxNftables  Middlebox = "nftables"
	BoxAWS       Middlebox = "aws"       // commands of its CLI, for a security group
	BoxTerraform Middlebox = "terraform" // the same as resources of the AWS provider
)

// Choices lists the middleboxes.
func (Middlebox) Choices() []string {
	return []string{string(BoxIptables), string(BoxNftables), string(BoxAWS), string(BoxTerraform)}
}

// AllowRule lets RoCEv2 packets with a PPCID through.
type AllowRule struct {
	For Middlebox
	// From are the senders; none means any, or for a security group its own members.
	From []netip.Prefix
	// Group is the id of the security group; "" leaves a variable.
	Group string
	// Chain is where a host puts the rule: "forward" for what passes through (as on a hypervisor), "input" for what it receives.
	Chain string
	// Table is the table of nftables, "inet filter" if empty.
	Table string
}

// Chains of an AllowRule.
const (
	ChainForward = "forward"
	ChainInput   = "input"
)

// Rendered is a rule as text.
type Rendered struct {
	For  Middlebox `json:"for"`
	Text string    `json:"text"`
	// Matches tells whether the rule looks at the checksum. Where it cannot, it allows the port.
	Matches bool     `json:"matches_checksum"`
	Notes   []string `json:"notes"`
}

// Render writes the rule. The text can be run as it is by a shell (iptables, aws), by nft -f (nftables), or applied (terraform).
func (r AllowRule) Render() (Rendered, error) {
	if r.Chain == "" {
		r.Chain = ChainForward
	}
	if r.Table == "" {
		r.Table = "inet filter"
	}
	if err := r.check(); err != nil {
		return Rendered{}, fmt.Errorf("spray: allow: %w", err)
	}
	switch r.For {
	case BoxIptables:
		return r.iptables(), nil
	case BoxNftables:
		return r.nftables(), nil
	case BoxAWS:
		return r.aws(), nil
	}
	return r.terraform(), nil
}

func (r *AllowRule) check() error {
	switch r.For {
	case BoxIptables, BoxNftables, BoxAWS, BoxTerraform:
	default:
		return fmt.Errorf("no rule for %q; there are %v", r.For, r.For.Choices())
	}
	for _, p := range r.From {
		if !p.IsValid() {
			return fmt.Errorf("a sender that is no prefix")
		}
		if p != p.Masked() {
			return fmt.Errorf("%s has bits behind its length; write %s", p, p.Masked())
		}
	}
	if r.Chain != ChainForward && r.Chain != ChainInput {
		return fmt.Errorf("chain %q: write %s or %s", r.Chain, ChainForward, ChainInput)
	}
	if r.Group != "" && !groupID(r.Group) {
		return fmt.Errorf("%q is no id of a security group: sg- and 8 or 17 hexadecimal digits", r.Group)
	}
	family, name, two := strings.Cut(r.Table, " ")
	if !two || family != "inet" && family != "ip" && family != "ip6" && family != "bridge" || !identifier(name) {
		return fmt.Errorf("table %q: a family (inet, ip, ip6, bridge) and a name", r.Table)
	}
	return nil
}

// groupID tells whether a text is the id of a security group: such texts are put into commands.
func groupID(s string) bool {
	digits, ok := strings.CutPrefix(s, "sg-")
	return ok && (len(digits) == 8 || len(digits) == 17) && strings.Trim(digits, "0123456789abcdef") == ""
}

func identifier(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return true
}

// senders splits the prefixes by family. With none, each family has one empty text.
func (r *AllowRule) senders() (four, six []string) {
	if len(r.From) == 0 {
		return []string{""}, []string{""}
	}
	for _, p := range r.From {
		if p.Addr().Is4() {
			four = append(four, p.String())
		} else {
			six = append(six, p.String())
		}
	}
	return four, six
}

// u32 tests of iptables (iptables-extensions(8)): four bytes at an offset, masked, within a range. In IPv4 the length of the header is in its
// first byte: 0>>22&0x3C is it in bytes, and @ goes on from there. In IPv6 the UDP header begins at 40, RoCEv2 having no extension
// headers. Four bytes from the fourth of the UDP header are its length and the checksum.
const (
	u32Four = "0>>22&0x3C@4&0xFFFF=1:0xFFFF"
	u32Six  = "44&0xFFFF=1:0xFFFF"
)

func (r *AllowRule) iptables() Rendered {
	var b strings.Builder
	four, six := r.senders()
	for _, f := range []struct {
		command, test string
		from          []string
	}{{"iptables", u32Four, four}, {"ip6tables", u32Six, six}} {
		for _, from := range f.from {
			if from != "" {
				from = " -s " + from
			}
			match := fmt.Sprintf("-p udp%s --dport %d -m u32 --u32 '%s'", from, packet.PortRoCE, f.test)
			fmt.Fprintf(&b, "%s -t raw -I PREROUTING %s -j CT --notrack\n", f.command, match)
			fmt.Fprintf(&b, "%s -I %s %s -j ACCEPT\n", f.command, strings.ToUpper(r.Chain), match)
		}
	}
	return Rendered{r.For, b.String(), true, r.hostNotes()}
}

// hostNotes is what rules of a host cannot do.
func (r *AllowRule) hostNotes() []string {
	notes := []string{
		"the first rule of each pair keeps the packets out of connection tracking, which takes a context id for a wrong checksum and calls them invalid",
		"packets without a context id, of NICs that write none, need a rule of their own",
	}
	if r.Chain == ChainInput {
		notes = append(notes, "a socket of the host verifies the checksum all the same: Soft-RoCE drops these packets whatever the rules")
	}
	return notes
}

func (r *AllowRule) nftables() Rendered {
	var b strings.Builder
	b.WriteString("add table inet roce_untracked\n" +
		"add chain inet roce_untracked prerouting { type filter hook prerouting priority raw; policy accept; }\n")
	four, six := r.senders()
	var matches []string
	if len(r.From) == 0 {
		matches = append(matches, "")
	} else {
		if len(four) > 0 {
			matches = append(matches, "ip saddr { "+strings.Join(four, ", ")+" } ")
		}
		if len(six) > 0 {
			matches = append(matches, "ip6 saddr { "+strings.Join(six, ", ")+" } ")
		}
	}
	for _, m := range matches { // 48 bits into the transport header, 16 bits: nft(8), raw payload expression
		m += fmt.Sprintf("udp dport %d @th,48,16 != 0", packet.PortRoCE)
		fmt.Fprintf(&b, "add rule inet roce_untracked prerouting %s notrack\n", m)
		fmt.Fprintf(&b, "insert rule %s %s %s accept\n", r.Table, r.Chain, m)
	}
	notes := append(r.hostNotes(), "the second rule goes into the chain that drops: an accept in a chain of its own does not keep another chain from dropping")
	return Rendered{r.For, b.String(), true, notes}
}

// groupNotes is what a security group cannot do.
func groupNotes() []string {
	return []string{
		"a security group cannot look at a checksum: the rule allows UDP 4791 as a whole",
		"where packets still vanish with the port allowed, something behind the group verifies checksums, and no rule reaches it: send RoCE without context ids",
		"EC2's own RDMA, EFA, is not RoCE and has no use for this rule",
	}
}

func (r *AllowRule) aws() Rendered {
	var b strings.Builder
	group := r.Group
	if group == "" {
		b.WriteString("GROUP=${GROUP:?the id of the security group}\n")
		group = "$GROUP"
	}
	peers := []string{"UserIdGroupPairs=[{GroupId=" + group + "}]"}
	if len(r.From) > 0 {
		peers = nil
		four, six := r.senders()
		for _, p := range four {
			peers = append(peers, "IpRanges=[{CidrIp="+p+"}]")
		}
		for _, p := range six {
			peers = append(peers, "Ipv6Ranges=[{CidrIpv6="+p+"}]")
		}
	}
	for _, way := range []string{"ingress", "egress"} {
		for _, peer := range peers {
			fmt.Fprintf(&b, "aws ec2 authorize-security-group-%s --group-id \"%s\" --ip-permissions \"IpProtocol=udp,FromPort=%d,ToPort=%d,%s\"\n", way, group, packet.PortRoCE, packet.PortRoCE, peer)
		}
	}
	return Rendered{r.For, b.String(), false, groupNotes()}
}

func (r *AllowRule) terraform() Rendered {
	var b strings.Builder
	group := `"` + r.Group + `"`
	if r.Group == "" {
		b.WriteString("variable \"security_group_id\" {\n  type        = string\n  description = \"security group of the hosts that speak RoCE\"\n}\n\n")
		group = "var.security_group_id"
	}
	type peer struct{ name, key, value string }
	peers := []peer{{"roce", "referenced_security_group_id", group}}
	if len(r.From) > 0 {
		peers = nil
		four, six := r.senders()
		for i, p := range four {
			peers = append(peers, peer{fmt.Sprintf("roce_ipv4_%d", i), "cidr_ipv4", `"` + p + `"`})
		}
		for i, p := range six {
			peers = append(peers, peer{fmt.Sprintf("roce_ipv6_%d", i), "cidr_ipv6", `"` + p + `"`})
		}
	}
	var blocks []string
	for _, way := range []string{"ingress", "egress"} {
		for _, p := range peers {
			attributes := []peer{
				{key: "security_group_id", value: group}, {key: "description", value: `"RoCEv2, with context ids in the UDP checksum"`},
				{key: "ip_protocol", value: `"udp"`}, {key: "from_port", value: fmt.Sprint(packet.PortRoCE)}, {key: "to_port", value: fmt.Sprint(packet.PortRoCE)}, p,
			}
			width := 0
			for _, a := range attributes {
				width = max(width, len(a.key))
			}
			block := fmt.Sprintf("resource \"aws_vpc_security_group_%s_rule\" \"%s\" {\n", way, p.name)
			for _, a := range attributes {
				block += fmt.Sprintf("  %-*s = %s\n", width, a.key, a.value)
			}
			blocks = append(blocks, block+"}\n")
		}
	}
	b.WriteString(strings.Join(blocks, "\n"))
	return Rendered{r.For, b.String(), false, groupNotes()}
}
