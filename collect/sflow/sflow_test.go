package sflow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// part is a sample or a record: its format, its length, and what is in it.
func part(format uint32, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	return append(words(format, uint32(len(all))), all...)
}

func datagram(samples ...[]byte) []byte {
	return append(append(words(5, 1), 192, 0, 2, 250), append(words(0, 1, 5000, uint32(len(samples))), bytes.Join(samples, nil)...)...)
}

func roce() []byte {
	return packet.AppendFrame(nil, packet.Packet{
		IP:  packet.IPHeader{Src: netip.MustParseAddr("192.0.2.1"), Dst: netip.MustParseAddr("192.0.2.2"), DSCP: 26, TTL: 64},
		BTH: packet.BTHHeader{Opcode: packet.RC | packet.WriteMiddle, QP: 1, PSN: 1}, Payload: make([]byte, 4096),
	})
}

// header is a raw header record that holds the first 128 bytes.
func header(frame []byte) []byte {
	return part(recordHeader, words(headerEthernet, uint32(len(frame)+4), 4, 128), frame[:128])
}

func counters(in, out uint64) []byte {
	b := words(12, 6)
	b = binary.BigEndian.AppendUint64(b, 400e9)
	b = append(b, words(1, 3)...)
	b = binary.BigEndian.AppendUint64(b, in)
	b = append(b, words(1, 0, 0, 7, 2, 0)...)
	b = binary.BigEndian.AppendUint64(b, out)
	return append(b, words(11, 0, 0, 9, 1<<32-1, 0)...)
}

func TestSamples(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "x.pcap")
	r := New(f)
	vendor := part(4413<<12|1, words(1, 2, 3))
	class := part(recordSwitch, words(100, 3, 100, 3))
	err := r.Datagram(datagram(
		vendor, // passed over
		part(sampleFlow, words(1, 12, 1000, 0, 0, 12, 13, 2), header(roce()), class),
		part(sampleFlowExpanded, words(2, 0, 12, 500, 0, 0, 0, 12, 0, 13, 1), header(roce())),
		part(sampleCounters, words(3, 12, 1), part(recordInterface, counters(1<<40, 1<<41))),
	), 7)
	if err != nil {
		t.Fatal(err)
	}
	r.Finish()
	length := units.Bytes(len(roce()) + 4)
	if len(inv.Flows) != 2 || inv.Flows[0].Bytes != 1000*length || inv.Flows[0].Priority != 3 || inv.Flows[1].Bytes != 500*length || inv.Flows[1].Priority != -1 {
		t.Errorf("flows %+v", inv.Flows)
	}
	if fl := inv.Flows[0]; fl.Application != evidence.RoCE || fl.Src != "192.0.2.1" || fl.From != (evidence.Source{File: "x.pcap", Line: 7}) {
		t.Errorf("flow %+v", fl)
	}
	got := map[string]uint64{}
	for _, s := range f.Samples {
		if s.Host != "192.0.2.250" || s.Device != "if12" {
			t.Errorf("sample %+v", s)
		}
		got[telemetry.Catalogue[s.Series].Name+" "+s.Counter] = s.Count
	}
	for name, want := range map[string]uint64{
		"switch_port_rx_bytes_total ifInOctets": 1 << 40, "switch_port_tx_bytes_total ifOutOctets": 1 << 41, "switch_port_dropped_total ifInDiscards": 7,
		"switch_port_dropped_total ifOutDiscards": 9, "switch_port_rx_errors_total ifInErrors": 2, "switch_port_tx_packets_total ifOutUcastPkts": 11, "switch_port_speed_bits_per_second ifSpeed": 400e9,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
}

// A number of records that no datagram can hold costs nothing, and a sample that is cut off is said.
func TestDamaged(t *testing.T) {
	r := New(fragment.New(&evidence.Inventory{}, "x"))
	many := datagram(part(sampleFlowExpanded, words(2, 0, 12, 500, 0, 0, 0, 12, 0, 13, 1<<32-1)))
	if n := testing.AllocsPerRun(10, func() {
		if err := r.Datagram(many, 1); err != nil {
			t.Error(err)
		}
	}); n > 2 {
		t.Errorf("%v allocations", n)
	}
	cut := datagram(part(sampleFlow, words(1, 12, 1000, 0, 0, 12, 13, 1), header(roce())))
	if err := r.Datagram(cut[:len(cut)-8], 1); !errors.Is(err, errShort) {
		t.Errorf("cut off: %v", err)
	}
	if err := r.Datagram([]byte("not sFlow at all, by any reading"), 1); !errors.Is(err, ErrNotSFlow) {
		t.Errorf("foreign: %v", err)
	}
}

func TestDump(t *testing.T) {
	one := datagram(part(sampleFlow, words(1, 12, 1000, 0, 0, 12, 13, 1), header(roce())))
	if !Starts(one) || Starts(one[4:]) {
		t.Error("the head is not told")
	}
	inv := &evidence.Inventory{}
	r := New(fragment.New(inv, "x"))
	if err := r.Dump(bytes.NewReader(bytes.Repeat(one, 500))); err != nil {
		t.Fatal(err)
	}
	r.Finish()
	if r.Datagrams != 500 || inv.Flows[0].Bytes != 500*1000*units.Bytes(len(roce())+4) {
		t.Errorf("%d datagrams, flows %+v", r.Datagrams, inv.Flows)
	}
}

func FuzzDump(f *testing.F) {
	f.Add(datagram(part(sampleFlow, words(1, 12, 1000, 0, 0, 12, 13, 1), header(roce())), part(sampleCounters, words(3, 12, 1), part(recordInterface, counters(1, 2)))))
	f.Add(datagram(part(sampleFlowExpanded, words(2, 0, 12, 500, 0, 0, 0, 12, 0, 13, 1), header(roce()))))
	f.Fuzz(func(t *testing.T, data []byte) {
		inv := &evidence.Inventory{}
		r := New(fragment.New(inv, "x"))
		_ = r.Dump(bytes.NewReader(data))
		r.Finish()
		for _, fl := range inv.Flows {
			if fl.Bytes < 0 {
				t.Errorf("flow %+v", fl)
			}
		}
	})
}
