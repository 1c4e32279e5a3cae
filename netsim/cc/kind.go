package cc

import "github.com/shunt-network/shunt/units"

// Kind is one of the congestion controls.
type Kind uint8

// Congestion controls. To add one: a file with its state and its law, a line here and in the table, a case in each switch of
// netsim/control.go, and a page in docs/models.
const (
	KindNone Kind = iota
	KindWindow
	KindDCQCN
	KindHPCC
	KindTIMELY
	KindSwift
	KindNSCC

	kinds
)

// Signal is what a control law listens to, and so what packets must carry and receivers must send.
type Signal uint8

// Signals.
const (
	CNPs  Signal = 1 << iota // a notification from the receiver for marked packets
	RTT                      // the send time of the packet that an acknowledgement answers
	Marks                    // an acknowledgement at once for a marked packet, which tells of the mark
	INT                      // what the switches on the way wrote into the packet
)

// table is the one list of congestion controls.
var table = [kinds]struct {
	name    string
	signals Signal
}{
	KindNone:   {"none", 0},
	KindWindow: {"window", 0},
	KindDCQCN:  {"dcqcn", CNPs},
	KindHPCC:   {"hpcc", INT},
	KindTIMELY: {"timely", RTT},
	KindSwift:  {"swift", RTT},
	KindNSCC:   {"nscc", RTT | Marks},
}

func (k Kind) String() string { return table[k].name }

// Needs tells whether the law listens to a signal.
func (k Kind) Needs(s Signal) bool { return table[k].signals&s != 0 }

// Names lists the congestion controls.
func Names() []string {
	names := make([]string, 0, kinds)
	for _, t := range table {
		names = append(names, t.name)
	}
	return names
}

// Parse finds a congestion control by its name.
func Parse(name string) (Kind, bool) {
	for k := range kinds {
		if table[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// Path is what a sender knows of the way to its peer before it sends.
type Path struct {
	Line       units.Rate     // of its port
	BaseRTT    units.Duration // of a full packet and its acknowledgement on an idle network
	NetworkRTT units.Duration // the longest BaseRTT in the network
	Hops       int            // switches on the way
	MTU        units.Bytes    // payload of a full packet
}

// product is the bandwidth-delay product of a path for a time, in bytes.
func (p *Path) product(t units.Duration) float64 { return p.Line.BytesPerSecond() * t.Seconds() }

// Ack is what an acknowledgement tells a control law.
type Ack struct {
	Now         units.Instant
	RTT         units.Duration // of the packet that it answers
	Bytes       units.Bytes    // payload that has newly arrived
	Acked, Sent uint64         // packets acknowledged in order, packets sent
	InFlight    units.Bytes
	Marked      bool // the packet that it answers was marked
}

// unlimited is the window of a law that has none. Sums with it stay far below the range of int64.
const unlimited units.Bytes = 1 << 50

// or is v, or otherwise where v was not set.
func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// PerLine scales a rate that was published for lines of 25 Gbit/s.
func PerLine(at25 units.Rate, line units.Rate) units.Rate {
	return max(units.Rate(int64(at25)*int64(line/units.Mbps)/25_000), 1)
}
