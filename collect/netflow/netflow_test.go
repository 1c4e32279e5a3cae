package netflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

var exporter = netip.MustParseAddr("192.0.2.250")

func u16(b []byte, v ...uint16) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

func u32(b []byte, v ...uint32) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// five is a datagram of version 5 with one record of RoCE, one of 100 packets sampled.
func five() []byte {
	b := u16(nil, 5, 1)
	b = u32(b, 100_000, 1_700_000_000, 0, 1)
	b = u16(b, 0, 1<<14|100)
	b = append(b, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 0, 0)
	b = u32(u16(b, 1, 2), 10, 5000, 40_000, 90_000)
	b = append(u16(b, 50000, 4791), 0, 0, 17, 26<<2)
	return append(u16(b, 0, 0), 24, 24, 0, 0)
}

// set is a set with its number and length.
func set(id uint16, body []byte) []byte { return append(u16(nil, id, uint16(4+len(body))), body...) }

func ipfix(sets ...[]byte) []byte {
	var body []byte
	for _, s := range sets {
		body = append(body, s...)
	}
	return append(u32(u16(nil, 10, uint16(16+len(body))), 1_700_000_000, 1, 7), body...)
}

func nine(sets ...[]byte) []byte {
	b := u32(u16(nil, 9, uint16(len(sets))), 100_000, 1_700_000_000, 1, 7)
	for _, s := range sets {
		b = append(b, s...)
	}
	return b
}

// template has a vendor's field and one of variable length between others.
func template(vendors bool) []byte {
	b := u16(nil, 300, 8, sourceIPv6, 16, destIPv6, 16, sourcePort, 2, destPort, 2, protocol, 1, typeOfService, 1, octets, 4)
	if vendors {
		return u16(u32(u16(b, 0x8000|99, variable), 4413))
	}
	return u16(b, 99, 3)
}

func record(vendors bool) []byte {
	src, dst := netip.MustParseAddr("2001:db8::1").As16(), netip.MustParseAddr("2001:db8::2").As16()
	b := append(append(src[:0:0], src[:]...), dst[:]...)
	b = append(u16(b, 40000, 873), 6, 10<<2)
	b = u32(b, 777)
	if vendors {
		return append(b, 2, 'x', 'y')
	}
	return append(b, 1, 2, 3)
}

func flows(t *testing.T, datagrams ...[]byte) (r *Reader, got []string) {
	t.Helper()
	f := fragment.New(&evidence.Inventory{}, "x.pcap")
	r = New(f)
	for i, d := range datagrams {
		if err := r.Datagram(exporter, d, i+1); err != nil {
			t.Errorf("datagram %d: %v", i+1, err)
		}
	}
	r.Finish()
	for _, fl := range f.Inv.Flows {
		got = append(got, fmt.Sprintf("%s %s %s %d DSCP %v priority %d, %v long", fl.Src, fl.Dst, fl.Application, fl.Bytes, fl.DSCP, fl.Priority, fl.End.Sub(fl.Start)))
	}
	return r, got
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		name      string
		datagrams [][]byte
		want      []string
		untold    int
	}{
		{"5", [][]byte{five()}, []string{"192.0.2.1 192.0.2.2 rocev2 500000 DSCP 26 priority -1, 50s long"}, 0},
		{"9", [][]byte{nine(set(nineTemplates, template(false)), set(300, record(false)))}, []string{"2001:db8::1 2001:db8::2 rsync 777 DSCP 10 priority -1, 0ps long"}, 0},
		{"IPFIX, the template in a datagram before", [][]byte{ipfix(set(ipfixTemplates, template(true))), ipfix(set(300, append(record(true), record(true)...)))}, []string{"2001:db8::1 2001:db8::2 rsync 1554 DSCP 10 priority -1, 0ps long"}, 0},
		{"no template", [][]byte{ipfix(set(300, record(true)))}, nil, 1},
		{"a template of another number", [][]byte{ipfix(set(ipfixTemplates, template(true))), ipfix(set(301, record(true)))}, nil, 1},
	} {
		r, got := flows(t, tc.datagrams...)
		if diff := cmp.Diff(tc.want, got); diff != "" || r.Untold != tc.untold || r.Datagrams != len(tc.datagrams) {
			t.Errorf("%s: %d untold of %d; %s", tc.name, r.Untold, r.Datagrams, diff)
		}
		if said := len(r.f.Inv.Unreadable) > 0; said != (tc.untold > 0) {
			t.Errorf("%s: %v", tc.name, r.f.Inv.Unreadable)
		}
	}
}

// Of a datagram that does not hold what it announces nothing counts.
func TestDamaged(t *testing.T) {
	whole := ipfix(set(ipfixTemplates, template(true)), set(300, record(true)))
	long := ipfix(set(ipfixTemplates, template(true)), u16(nil, 300, 999))
	for name, b := range map[string][]byte{"empty": nil, "another version": u16(nil, 7, 1), "5 cut": five()[:60], "IPFIX cut": whole[:len(whole)-1], "a set that is longer": long, "9 cut": nine()[:10]} {
		r := New(fragment.New(&evidence.Inventory{}, "f"))
		if err := r.Datagram(exporter, b, 1); err == nil {
			t.Errorf("%s was read", name)
		}
		if r.Finish(); len(r.f.Inv.Flows) > 0 || r.Datagrams > 0 || len(r.templates) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(five(), five())
	f.Add(ipfix(set(ipfixTemplates, template(true))), ipfix(set(300, record(true))))
	f.Add(nine(set(nineTemplates, template(false))), nine(set(300, record(false))))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		r := New(fragment.New(&evidence.Inventory{}, "f"))
		_ = r.Datagram(exporter, first, 1)
		_ = r.Datagram(exporter, second, 2)
		r.Finish()
		for _, fl := range r.f.Inv.Flows {
			if fl.Bytes < 0 || fl.End.Before(fl.Start) {
				t.Fatalf("%+v", fl)
			}
		}
	})
}
