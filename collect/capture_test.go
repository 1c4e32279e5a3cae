package collect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// captured is a capture of RoCE with one code point and of a TCP connection with another.
func captured(t *testing.T, roce, other uint8) []byte {
	t.Helper()
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	frames := [][]byte{
		packet.AppendFrame(nil, packet.Packet{IP: packet.IPHeader{Src: a, Dst: b, DSCP: roce, TTL: 64}, SrcPort: 0xc000, BTH: packet.BTHHeader{Opcode: packet.RC | packet.SendOnly, QP: 17}, Payload: make([]byte, 64)}),
		packet.AppendOther(nil, packet.MAC{}, packet.MAC{}, packet.IPHeader{Src: a, Dst: b, DSCP: other, TTL: 64, Protocol: packet.ProtocolTCP}, 40000, 873, 100),
	}
	var out bytes.Buffer
	w, err := packet.NewWriter(&out, packet.PCAP, packet.LinkEthernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.Write(int64(i), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Where the maps of the switches are known they tell the class of what has no tag; where they contradict each other, or
// say nothing of a code point, nobody does.
func TestClassesByTheSwitchesMap(t *testing.T) {
	config := func(maps string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"DSCP_TO_TC_MAP": ` + maps + `, "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "A"}, "Ethernet4": {"dscp_to_tc_map": "B"}}}`)}
	}
	for _, tc := range []struct {
		name, maps string
		want       []string
	}{
		{"one class for both", `{"A": {"26": "3", "24": "3"}, "B": {"26": "3", "24": "3"}}`, []string{"rocev2 3", "rsync 3"}},
		{"maps that differ in one", `{"A": {"26": "3", "24": "3"}, "B": {"26": "3", "24": "0"}}`, []string{"rocev2 3", "rsync -1"}},
		{"not in the maps", `{"A": {"26": "3"}, "B": {"26": "3"}}`, []string{"rocev2 3", "rsync -1"}},
		{"a map that is not there", `{"B": {"26": "4", "24": "4"}}`, []string{"rocev2 4", "rsync 4"}},
		{"no map", `{}`, []string{"rocev2 -1", "rsync -1"}},
	} {
		inv, _, err := LoadFS(fstest.MapFS{"leaf1/config_db.json": config(tc.maps), "a.pcap": {Data: captured(t, 26, 24)}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range inv.Flows {
			got = append(got, fmt.Sprint(f.Application, " ", f.Priority))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// Counters of sFlow come with the agent's clock, so two samples give a rate; where the clock went back they do not.
func TestSampledCountersHaveTimes(t *testing.T) {
	words := func(b []byte, v ...uint32) []byte {
		for _, w := range v {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	datagram := func(uptime uint32, octets uint64) []byte {
		record := words(nil, 12, 6)
		record = binary.BigEndian.AppendUint64(record, 400e9)
		record = words(record, 1, 3)
		record = binary.BigEndian.AppendUint64(record, 0)
		record = words(record, 0, 0, 0, 0, 0, 0)
		record = binary.BigEndian.AppendUint64(record, octets)
		record = words(record, 0, 0, 0, 0, 0, 0)
		sample := append(words(nil, 3, 12, 1, 1, uint32(len(record))), record...)
		b := append(words(nil, 5, 1), 192, 0, 2, 250)
		b = words(b, 0, 1, uptime, 1, 2, uint32(len(sample)))
		return append(b, sample...)
	}
	key := telemetry.Key{Series: telemetry.SwitchPortTxBytes, Object: "192.0.2.250/if12", Priority: telemetry.AnyPriority}
	load := func(second uint32) *telemetry.Window {
		_, w, err := LoadFS(fstest.MapFS{"a.sflow": {Data: append(datagram(5000, 1000), datagram(second, 6000)...)}})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := load(15000)
	if rate, ok := w.Rate(key); !ok || rate != 500 || w.To.Sub(w.From) != 10*units.Second {
		t.Errorf("%v, %v over %v; %v", rate, ok, w.To.Sub(w.From), w.Keys(telemetry.SwitchPortTxBytes))
	}
	w = load(4000) // it started anew
	if _, ok := w.Rate(key); ok {
		t.Error("a rate of a clock that went back")
	}
	if d, ok := w.Delta(key); !ok || d != 5000 {
		t.Errorf("%v, %v", d, ok)
	}
}
