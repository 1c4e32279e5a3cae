package ecmp

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strings"

	"github.com/shunt-network/shunt/packet"
)

// Fields are the header fields that a switch hashes, as a set.
type Fields uint16

// Fields of packets.
const (
	SrcIP Fields = 1 << iota
	DstIP
	Protocol
	SrcPort
	DstPort
	// QPN is the destination QPN of RoCE, bytes 5 to 7 behind the UDP header. SONiC's SWITCH_HASH has no name for it; switches that can hash it
	// take it as a user-defined field (Arista: load-balance sand profile, payload bytes 5-7).
	QPN
	// Symmetric puts the two ends in order before they are hashed, so that both directions of a connection take one hash.
	Symmetric
)

// FiveTuple is what ECMP is usually said to hash (SONiC: SRC_IP, DST_IP, IP_PROTOCOL, L4_SRC_PORT, L4_DST_PORT).
const FiveTuple = SrcIP | DstIP | Protocol | SrcPort | DstPort

// fieldNames has the names of single fields: ours, and SONiC's (SWITCH_HASH|GLOBAL, ecmp_hash).
var fieldNames = []struct {
	field       Fields
	name, sonic string
}{
	{SrcIP, "src-ip", "SRC_IP"}, {DstIP, "dst-ip", "DST_IP"}, {Protocol, "protocol", "IP_PROTOCOL"},
	{SrcPort, "src-port", "L4_SRC_PORT"}, {DstPort, "dst-port", "L4_DST_PORT"}, {QPN, "qpn", ""}, {Symmetric, "symmetric", ""},
}

// FieldNames lists what ParseFields takes, for completion and messages.
func FieldNames() []string {
	names := []string{"5-tuple", "3-tuple"}
	for _, f := range fieldNames {
		names = append(names, f.name)
	}
	return names
}

// ParseFields reads names joined by commas or plus signs: "5-tuple", "5-tuple,qpn", "src-ip,dst-ip", SONiC's names as well.
func ParseFields(text string) (Fields, error) {
	var out Fields
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '+' || r == ' ' }) {
		f, ok := fieldOf(word)
		if !ok {
			return 0, fmt.Errorf("there is no field %q; write some of %s", word, strings.Join(FieldNames(), ", "))
		}
		out |= f
	}
	if out&^Symmetric == 0 {
		return 0, fmt.Errorf("%q names no field to hash; write some of %s", text, strings.Join(FieldNames(), ", "))
	}
	return out, nil
}

func fieldOf(word string) (Fields, bool) {
	switch word {
	case "5-tuple":
		return FiveTuple, true
	case "3-tuple":
		return SrcIP | DstIP | Protocol, true
	}
	for _, f := range fieldNames {
		if word == f.name || f.sonic != "" && word == f.sonic {
			return f.field, true
		}
	}
	return 0, false
}

// String is the text that ParseFields reads.
func (f Fields) String() string {
	var names []string
	if f&FiveTuple == FiveTuple {
		names, f = append(names, "5-tuple"), f&^FiveTuple
	}
	for _, n := range fieldNames {
		if f&n.field != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// MarshalText writes the fields into JSON.
func (f Fields) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Count is how many fields are hashed.
func (f Fields) Count() int { return bits.OnesCount16(uint16(f &^ Symmetric)) }

// maxKey is the longest key: two IPv6 addresses, the protocol, two ports and a QPN.
const maxKey = 16 + 16 + 1 + 2 + 2 + 3

// appendKey appends what is hashed of a flow: the chosen fields in the order of the headers, big-endian as on the wire.
func (f Fields) appendKey(key []byte, x *Flow) []byte {
	src, dst, sport, dport := x.Src, x.Dst, x.SrcPort, x.DstPort
	if f&Symmetric != 0 && (dst.Less(src) || dst == src && dport < sport) {
		src, dst, sport, dport = dst, src, dport, sport
	}
	if f&SrcIP != 0 {
		key = appendAddr(key, src)
	}
	if f&DstIP != 0 {
		key = appendAddr(key, dst)
	}
	if f&Protocol != 0 {
		key = append(key, x.Protocol)
	}
	if f&SrcPort != 0 {
		key = append(key, byte(sport>>8), byte(sport))
	}
	if f&DstPort != 0 {
		key = append(key, byte(dport>>8), byte(dport))
	}
	if f&QPN != 0 && x.Protocol == packet.ProtocolUDP { // where there is no BTH, the switch's qualifier does not match
		key = append(key, byte(x.QPN>>16), byte(x.QPN>>8), byte(x.QPN))
	}
	return key
}

func appendAddr(key []byte, a netip.Addr) []byte {
	switch {
	case a.Is4() || a.Is4In6():
		b := a.As4()
		return append(key, b[:]...)
	case a.Is6():
		b := a.As16()
		return append(key, b[:]...)
	}
	return append(key, 0, 0, 0, 0) // not known: the same for all
}
