package evidence

import "github.com/shunt-network/shunt/units"

// MTUProbe is one run of ping with a size: whether packets of it reach the other side whole.
type MTUProbe struct {
	Host, Target string
	Payload      int  // bytes of ICMP data; a packet has 28 more with IPv4 and 48 with IPv6
	DontFragment bool // -M do: without it a lost answer says nothing of the MTU
	Sent         Value[int]
	Received     Value[int]
	TooLong      bool       // the local host or a router refused the size
	RouteMTU     Value[int] // the MTU that the refusal named
	RTT          Value[units.Duration]
	From         Source
}

// Passed tells whether packets of the size came back; ok is false where the output does not say.
func (p MTUProbe) Passed() (passed, ok bool) {
	if p.TooLong {
		return false, true
	}
	n, ok := p.Received.Get()
	return n > 0, ok
}

// NetTest is one result of iperf3 or qperf: what a pair of hosts reaches without the job.
type NetTest struct {
	Tool        string // "iperf3", "qperf"
	Test        string // "tcp", "udp", "rc_rdma_write_bw", ...
	Host, Peer  string
	Streams     Value[int]
	Reverse     Value[bool] // the peer sent
	Rate        Value[units.Rate]
	Latency     Value[units.Duration]
	Retransmits Value[int64]
	Lost        Value[float64] // of UDP packets: 0..1
	Message     Value[units.Bytes]
	Failed      string // the error, "" where none
	From        Source
}
