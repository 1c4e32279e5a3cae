package flowsim

import (
	"errors"
	"fmt"

	"github.com/shunt-network/shunt/units"
)

// PathChoice is how flows take equal-cost ports.
type PathChoice uint8

// Path choices.
const (
	Hash    PathChoice = iota // a QP keeps one path: hash of its 5-tuple
	HashQPN                   // the same with the destination QP number
	Split                     // equal shares over all ports: what spraying packets comes to
)

// Config is everything about a run that is neither the fabric nor the plan. The zero value of a field means its default.
type Config struct {
	Seed          uint64
	Path          PathChoice
	QPs           int  // per connection (default 1)
	SplitMessages bool // every message over all QPs of its connection instead of whole messages in turn
	MTU           units.Bytes
	AckEvery      int // packets per acknowledgement (default 1)
	SwitchLatency units.Duration
	NICLatency    units.Duration
	Faults        []Fault

	// Together lets flows of a large component end together when the rest of the one is within this share of the time it has
	// taken: rates change once instead of many times, and every time is right to within this share (default 1/512).
	Together float64
}

// FaultKind is what goes wrong.
type FaultKind uint8

// Faults. Bit errors have no counterpart here: what they cost is packets sent again.
const (
	LinkDown     FaultKind = iota // both directions stop; after Detect, paths avoid the link
	RateDegraded                  // the direction out of Port runs at Rate
	SlowReceiver                  // the host behind NIC port Port takes no more than Rate
)

// Fault is one thing that goes wrong during a run. Port is a fabric.PortID.
type Fault struct {
	Kind   FaultKind
	Port   uint32
	At     units.Duration
	For    units.Duration // 0: for the rest of the run
	Rate   units.Rate
	Detect units.Duration // LinkDown: until paths avoid it
	Every  units.Duration // it comes back after this long; 0: once
}

// Wire sizes, as netsim has them.
const (
	headerBytes = 64
	ackBytes    = 64
)

// ErrPackets refuses what only the packet simulator knows.
var ErrPackets = errors.New("the flow engine does not know this")

// wholeBelow is the size of a component up to which every flow ends on its own whatever Together says: that many flows cost
// nothing worth saving.
const wholeBelow = 256

func (c Config) withDefaults() Config {
	if c.QPs == 0 {
		c.QPs = 1
	}
	if c.MTU == 0 {
		c.MTU = 4096
	}
	if c.AckEvery == 0 {
		c.AckEvery = 1
	}
	if c.Together == 0 {
		c.Together = 1.0 / 512
	}
	return c
}

// validate tells everything that is wrong with a configuration whose defaults are filled in.
func (c Config) validate(ports int) error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("flowsim: "+format, args...))
		}
	}
	wrong(c.Path > Split, "path choice %d: there is none", c.Path)
	wrong(c.QPs < 1 || c.QPs > 1024, "%d QPs: must be 1 to 1024", c.QPs)
	wrong(c.MTU < 1, "MTU %v: must be positive", c.MTU)
	wrong(c.AckEvery < 1, "an acknowledgement every %d packets: must be positive", c.AckEvery)
	wrong(c.SwitchLatency < 0 || c.NICLatency < 0, "latencies must not be negative")
	wrong(!(c.Together >= 0 && c.Together <= 0.5), "flows that end together within %v: must be 0 to 0.5", c.Together)
	for i, f := range c.Faults {
		wrong(int(f.Port) >= ports, "fault %d names port %d, the fabric has %d", i, f.Port, ports)
		wrong(f.At < 0 || f.For < 0 || f.Detect < 0 || f.Every < 0, "fault %d: times must not be negative", i)
		wrong(f.Every > 0 && (f.For == 0 || f.For >= f.Every), "fault %d: to come back every %v it must last for less than that, and for more than 0", i, f.Every)
		wrong(f.Kind != LinkDown && f.Rate <= 0, "fault %d: needs a rate", i)
	}
	return errors.Join(errs...)
}

// packets is how many packets a message of b bytes is.
func (c *Config) packets(b units.Bytes) units.Bytes { return max(1, (b+c.MTU-1)/c.MTU) }

// wire is what a message of b bytes puts on a link.
func (c *Config) wire(b units.Bytes) float64 { return float64(b + headerBytes*c.packets(b)) }

// first is the wire size of the first packet of a message: the one that every further link stores before it sends it on.
func (c *Config) first(b units.Bytes) units.Bytes { return min(b, c.MTU) + headerBytes }

// ackShare is what acknowledgements put on the way back for every byte of full packets.
func (c *Config) ackShare() float64 {
	return ackBytes / (float64(c.AckEvery) * float64(c.MTU+headerBytes))
}
