package netsim

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// configure takes over what events need of the configuration.
func (n *Network) configure(c Config) {
	for _, p := range c.Switch.Lossless {
		n.lossless |= 1 << p
	}
	for p, w := range c.Switch.Weights {
		if w == 0 {
			n.strict |= 1 << p
		}
		n.quantum[p] = int32(w) * int32(c.NIC.MTU+headerBytes)
	}
	n.alpha = int64(c.Switch.Alpha * (1 << alphaBits))
	n.xoff, n.xon = int64(c.Switch.XOFF), int64(c.Switch.XON)
	n.mtu, n.ackEvery, n.window = int(c.NIC.MTU), uint32(c.NIC.AckEvery), int64(c.NIC.Window)
	if c.NIC.Timeout >= 0 {
		n.rto = int64(4096*units.Nanosecond) << c.NIC.Timeout // InfiniBand Architecture Specification, 9.7.6.1.3
	}
	n.retryCount = uint8(c.NIC.RetryCount)
	n.nicLatency, n.cnpPeriod = int64(c.NIC.Latency), int64(c.NIC.DCQCN.CNPPeriod)
	n.split, n.qps = c.NIC.Split, c.NIC.QPs
	n.maxEvents = c.MaxEvents
	n.faults = c.Faults
	if c.Probe != nil {
		n.probe = *c.Probe
	}
	if c.Trace {
		n.trace = &trace{}
	}
	n.configureTransport(c.NIC)
	for _, p := range c.Switch.ECN.Priorities {
		n.ecnPriorities |= 1 << p
	}
	n.markEnqueue = c.Switch.ECN.At == AtEnqueue
	n.quanta = int64(c.Switch.PauseQuanta) * pauseQuantum
	n.watchdog = newWatchdog(c.Switch.Watchdog)
	n.queueCap = or(int64(c.Switch.Queue), 1<<62)
	n.trim, n.trimCoin = c.Switch.Trim.On, c.Switch.Trim.Coin
	n.trimSize, n.trimPriority = int64(c.Switch.Trim.Size), uint8(c.Switch.Trim.Priority)
}

// build makes the state of ports, switches and NICs.
func (n *Network) build(c Config) {
	f := n.f
	classes := len(f.Ports) * Priorities
	n.ports = make([]port, len(f.Ports))
	n.egress, n.ingress = make([]egress, classes), make([]ingress, classes)
	n.pauses = make([]pauseState, classes)
	n.ecn, n.rngs, n.cold = make([]ecnCurve, len(f.Ports)), make([]stream, len(f.Ports)), make([]coldPort, len(f.Ports))
	n.downs, n.deaf, n.known = make([]uint8, len(f.Ports)), make([]uint8, len(f.Ports)), make([]bool, len(f.Ports))
	n.ber = make([]losses, len(f.Ports))
	n.nics, n.nicCounters = make([]nic, len(f.Endpoints)), make([]NICCounters, len(f.Endpoints))
	n.reordering = make([]reordering, len(f.Endpoints))
	n.addr, n.qpn = make([]uint32, len(f.Endpoints)), make([]uint32, len(f.Endpoints))
	for i := range n.egress {
		n.egress[i].head, n.egress[i].ring = none, none
	}
	switchOf := make([]uint32, len(f.Nodes))
	for i := range f.Nodes {
		if f.Nodes[i].Role != fabric.Host {
			switchOf[i] = uint32(len(n.switches))
			salt := fnv(fnv(fnvOffset, f.Nodes[i].Name)^c.Seed*fnvPrime, "salt")
			n.switches = append(n.switches, swtch{node: fabric.NodeID(i), salt: uint32(salt >> 32)})
		}
	}
	n.books = make([]book, len(n.switches))
	for i := range f.Ports {
		n.buildPort(uint32(i), switchOf, c)
	}
	n.times, n.waits, n.parts = make([]OpTime, len(n.plan.Ops)), make([]uint32, len(n.plan.Ops)), make([]uint16, len(n.plan.Ops))
	n.gpuFree, n.nvlinkFree = make([]int64, len(f.GPUs)), make([]int64, len(f.GPUs))
	n.returned, n.turns = make([]bool, len(n.faults)), make([]uint16, len(n.faults))
	n.bfd, n.seed = c.Switch.BFD, c.Seed
}

func (n *Network) buildPort(i uint32, switchOf []uint32, c Config) {
	f := n.f
	fp := &f.Ports[i]
	p := &n.ports[i]
	*p = port{
		delay: int64(fp.Delay), head: none,
		peer: uint32(fp.Peer), node: switchOf[fp.Node], host: fp.Endpoint >= 0,
	}
	n.setRate(i, fp.Rate)
	n.cold[i].wire = int64(fp.Delay)
	if f.Node(fp.Peer).Role != fabric.Host {
		p.delay += int64(c.Switch.Latency)
	}
	name := f.PortName(fabric.PortID(i))
	n.rngs[i] = newStream(c.Seed, name)
	if fp.BER > 0 {
		n.setBER(i, fp.BER)
	}
	curve := ECNFor(c.Switch.ECN, fp.Rate)
	n.ecn[i] = ecnCurve{kmin: int64(curve.KMin), kmax: int64(curve.KMax), pmax: uint64(float64(curve.PMax) * (1 << 32))}
	if curve.Off {
		n.ecn[i] = ecnCurve{kmin: 1 << 62, kmax: 1 << 62}
	}
	if p.host {
		p.node = uint32(fp.Endpoint)
		n.nics[p.node] = nic{port: i, head: none}
		n.addr[p.node] = uint32(fnv(fnvOffset, name))
		n.qpn[p.node] = n.rngs[i].uint32() & 0xffffff
	}
}

// shareBuffers sets the headrooms and leaves the rest of each buffer to share.
func (n *Network) shareBuffers(c Config) error {
	for i := range n.switches {
		n.switches[i].shared = int64(c.Switch.Buffer)
	}
	for i := range n.ports {
		p := &n.ports[i]
		peer := &n.f.Ports[p.peer]
		lat := c.Switch.Latency
		if p.host {
			lat = 0
		}
		room := c.Switch.Headroom
		if room == 0 {
			room = HeadroomFor(peer.Rate, peer.Delay, lat, c.NIC.MTU)
		}
		for prio := range uint8(Priorities) {
			if n.lossless>>prio&1 == 0 {
				continue
			}
			n.pauses[class(uint32(i), prio)].headroomCap = int64(room)
			if !p.host {
				n.switches[p.node].shared -= int64(room)
			}
		}
	}
	for i := range n.switches {
		s := &n.switches[i]
		if s.shared <= 0 {
			return fmt.Errorf("netsim: switch %s: the headrooms take %v more than its buffer of %v; enlarge the buffer, or set a smaller headroom",
				n.f.Nodes[s.node].Name, units.Bytes(-s.shared), c.Switch.Buffer)
		}
	}
	return nil
}
