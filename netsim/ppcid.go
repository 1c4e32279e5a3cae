package netsim

import (
	"errors"
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// The ppcid transport is place with a receiver that goes by the per-packet context id of article 000 instead of the BTH: the id travels in the field
// of the UDP checksum, and its few sequence bits say where a packet belongs. Codec and layouts are in package spray. What a receiver does with an
// id that makes no sense the article tells: it drops the packet, and nothing counts it (S0.12). So does ours, in three cases: another
// version, a path or QP that cannot be (a layout without a version, read by another), and a sequence that the window of the layout does not
// tell right. The last is noticed because the BTH has the whole number; without that check the data would land in the wrong place. The sender
// learns of a drop by the gap, once packets behind it have come, or by its timeout.

// PPCIDConfig is the per-packet context id of all NICs.
type PPCIDConfig struct {
	Layout spray.Layout `yaml:"layout" doc:"which bits hold what"`
	Paths  int          `yaml:"paths" min:"1" max:"256" doc:"path ids in use, which receivers check; unset: the planes of the fabric, or the entropy values where the sender chooses by them"`
	Hosts  []PPCIDHost  `yaml:"hosts" doc:"hosts whose firmware has another layout"`
}

// PPCIDHost is a host whose NICs have a layout of their own.
type PPCIDHost struct {
	Host   string       `yaml:"host" required:"true" doc:"its name"`
	Layout spray.Layout `yaml:"layout" required:"true" doc:"which bits hold what in the ids it writes and reads"`
}

// ppcidDefaults fills in what c leaves unset. Of the layouts v2 alone can order what a 400 Gbit/s link has under way.
func ppcidDefaults(c PPCIDConfig) PPCIDConfig {
	c.Layout = or(c.Layout, spray.LayoutV2)
	return c
}

func (c PPCIDConfig) validate(wrong func(bad bool, format string, args ...any)) {
	ordered := func(l spray.Layout, what string) {
		_, err := spray.NewCodec(l)
		wrong(err != nil, "nic ppcid %s: %v", what, err)
		wrong(err == nil && l.Window() == 0, "nic ppcid %s %q: holds no sequence, so packets cannot be ordered by it", what, l)
	}
	ordered(c.Layout, "layout")
	wrong(c.Paths < 0 || c.Paths > 256, "nic ppcid paths %d: must be 1 to 256", c.Paths)
	for _, h := range c.Hosts {
		ordered(h.Layout, "layout of "+h.Host)
	}
}

// contextIDs is what the transport keeps; nil ids mean that the run has none.
type contextIDs struct {
	ids     []uint16      // by packet
	codecs  []spray.Codec // by layout in use
	codecOf []uint8       // by endpoint
	qpn     []uint32      // by QP: its number at the destination
	plane   []uint8       // by QP
	refresh int64         // of the link state that the time in the id runs from
	paths   uint32
}

// errPPCIDHost refuses an override for what is no host.
var errPPCIDHost = errors.New("netsim: nic ppcid")

// buildContextIDs makes the state of the transport.
func (n *Network) buildContextIDs(c Config) error {
	if c.NIC.Transport != PPCID {
		return nil
	}
	x := &n.context
	p := c.NIC.PPCID
	x.ids, x.codecOf = []uint16{}, make([]uint8, len(n.nics))
	x.refresh = int64(c.PathParams.Buckets.Refresh)
	x.paths = uint32(p.Paths)
	if x.paths == 0 {
		x.paths = n.pathIDs()
	}
	layouts := []spray.Layout{p.Layout}
	for _, h := range p.Hosts {
		id, ok := n.f.NodeByName(h.Host)
		if !ok || n.f.Nodes[id].Role != fabric.Host {
			return fmt.Errorf("%w: %q is no host", errPPCIDHost, h.Host)
		}
		layouts = append(layouts, h.Layout)
		node := &n.f.Nodes[id]
		for i := range node.NumPorts {
			x.codecOf[n.f.Ports[node.FirstPort+fabric.PortID(i)].Endpoint] = uint8(len(layouts) - 1)
		}
	}
	for _, l := range layouts {
		codec, err := spray.NewCodec(l)
		if err != nil {
			return err
		}
		x.codecs = append(x.codecs, codec)
	}
	return nil
}

// pathIDs is how many paths senders name: those that they choose themselves. Which way a switch sends a packet they do not know.
func (n *Network) pathIDs() uint32 {
	if n.choice.atHost {
		return n.entropies.count
	}
	planes := 1
	for _, g := range n.f.GPUs {
		planes = max(planes, len(g.NICs))
	}
	return uint32(planes)
}

// openContext keeps what the ids of a new QP need.
func (n *Network) openContext(qpn uint32, plane int) {
	x := &n.context
	x.qpn, x.plane = append(x.qpn, qpn), append(x.plane, uint8(plane))
}

// contextID writes the id of data packet k of an operation, which its NIC sends now. What goes on in the background is another application's, over
// TCP or what it likes: it has no id, and a checksum that is right or none, as far as any middlebox cares.
func (n *Network) contextID(q uint32, s *sender, k, op uint32) {
	x := &n.context
	if n.plan.Ops[op].Background {
		x.ids[k] = 0
		return
	}
	path := uint32(x.plane[q])
	if n.choice.atHost {
		path = uint32(n.notes[k].ev)
	}
	x.ids[k] = x.codecs[x.codecOf[s.src]].Encode(spray.Context{
		QP: x.qpn[q], Sequence: n.pool.packets[k].psn, Path: path % x.paths, Time: spray.Ticks(units.Duration(n.now % x.refresh)),
	})
}

// understood tells whether the receiver at endpoint ep makes of the id of packet k what the sender meant; if not, the packet is dropped. A packet
// without an id, which some layouts make by chance, goes by its BTH like any other.
func (n *Network) understood(ep, q, k uint32) bool {
	x := &n.context
	codec := &x.codecs[x.codecOf[ep]]
	got, err := codec.Decode(x.ids[k])
	if err != nil {
		if errors.Is(err, spray.ErrAbsent) {
			return true
		}
		n.drop(n.nics[ep].port, k, DropMisread)
		return false
	}
	if got.Path >= x.paths || got.QP != codec.Hashed(spray.Context{QP: x.qpn[q]}).QP {
		n.drop(n.nics[ep].port, k, DropMisread)
		return false
	}
	expected := (n.snd[q].psn0 + uint32(n.rcv[q].epsn)) & psnMask
	if codec.Unwrap(got.Sequence, expected) != n.pool.packets[k].psn {
		n.drop(n.nics[ep].port, k, DropAmbiguous)
		return false
	}
	return true
}
