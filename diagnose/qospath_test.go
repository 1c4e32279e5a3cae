package diagnose

import (
	"net/netip"
	"testing"

	"github.com/shunt-network/shunt/evidence"
)

// The class of RoCE is what the library was told to use, else what its packets carry, if nearly all carry the same.
func TestCapturedClass(t *testing.T) {
	at := func(line int) evidence.Source { return evidence.Source{File: "a.pcap", Line: line} }
	stream := func(src string, transport string, classes ...evidence.Class) evidence.Stream {
		return evidence.Stream{Src: evidence.End{Address: netip.MustParseAddr("192.0.2.1"), Host: src}, Transport: transport, Requests: 1, Classes: classes}
	}
	class := func(dscp, packets, line int) evidence.Class {
		return evidence.Class{DSCP: dscp, Priority: -1, Tally: evidence.Tally{Count: packets, At: at(line)}}
	}
	v := &View{Inv: &evidence.Inventory{Captures: []evidence.Capture{{Streams: []evidence.Stream{
		stream("node1", "RC", class(26, 95, 3), class(0, 5, 4)), stream("node1", "UD", class(0, 900, 1)), stream("node2", "RC", class(26, 50, 7), class(10, 50, 8)),
	}}}}}
	if tc, ok := v.trafficClassOf("node1"); !ok || tc.dscp() != 26 || tc.from != "a.pcap:3" || tc.how != "as captured" {
		t.Errorf("%+v, %v", tc, ok)
	}
	for _, host := range []string{"node2", "node3", ""} { // two classes, no packets, and both hosts together
		if tc, ok := v.trafficClassOf(host); ok {
			t.Errorf("%q: %+v", host, tc)
		}
	}
	v.Inv.NCCL.Env = []evidence.EnvVar{{Name: "NCCL_IB_TC", Value: "184", From: at(9)}}
	if tc, ok := v.trafficClassOf("node1"); !ok || tc.value != 184 {
		t.Errorf("%+v, %v", tc, ok)
	}
}
