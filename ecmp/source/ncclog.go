package source

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/ecmp"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/packet"
)

// NCCLOptions are what a log may not tell.
type NCCLOptions struct {
	QPs  int    // of a connection; 0: as the log says, else 1
	Seed uint64 // of the numbers that are drawn
}

// maxQPs is NCCL's limit on the QPs of a connection (NCCL_IB_MAX_QPS, transport/net_ib.cc).
const maxQPs = 128

// NCCL lists the flows of the connections in an NCCL log: each has QPs of its own. The log tells which ranks, channels and devices they join; of
// addresses it tells those of GIDs that were printed with NCCL_DEBUG_SUBSYS=NET. QP numbers it tells without saying of which connection, and
// source ports not at all. What is missing is put in by rule, and the notes say so.
func NCCL(inv *evidence.Inventory, o NCCLOptions) *ecmp.Set {
	n := &inv.NCCL
	s := &ecmp.Set{QPs: 1}
	if v, ok := n.Lookup("NCCL_IB_QPS_PER_CONNECTION"); ok {
		if q, err := strconv.Atoi(strings.TrimSpace(v.Value)); err == nil && q >= 1 && q <= maxQPs {
			s.QPs = q
		}
	} else if o.QPs == 0 {
		s.Notes = append(s.Notes, "the log does not set NCCL_IB_QPS_PER_CONNECTION: one QP a connection, NCCL's default")
	}
	if o.QPs > 0 {
		s.QPs = o.QPs
	}
	l := newPlaces(inv)
	links := join(n.Connections, s, l)
	sockets := 0
	for i, x := range links {
		protocol, flows := packet.ProtocolUDP, s.QPs
		if x.via == "NET/Socket" {
			protocol, flows = packet.ProtocolTCP, 1
			sockets++
		}
		for range flows {
			if len(s.Flows) >= ecmp.MaxFlows {
				break
			}
			f := ecmp.Flow{Src: l.address(x.src), Dst: l.address(x.dst), Protocol: protocol, DstPort: packet.PortRoCE, Conn: uint32(i)}
			s.Flows = append(s.Flows, f)
		}
	}
	l.tell(s)
	number(s, ecmp.SrcPort|ecmp.QPN, o.Seed)
	if sockets > 0 {
		listen(s, o.Seed)
		s.Notes = append(s.Notes, fmt.Sprintf("%d connections over TCP count as one socket each, with ports that are drawn; NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD may make it more", sockets))
	}
	s.Known = l.known()
	s.Modelled = (ecmp.FiveTuple | ecmp.QPN) &^ s.Known
	if len(s.Flows) > sockets {
		s.Notes = append(s.Notes, "the log does not tell source ports, and not which QP is whose: QP numbers count up on each address from a drawn start, source ports follow as the Linux kernel makes them (adapters may differ); single flows may take other paths, and what holds for many holds")
	}
	if n.MoreConnections > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d connections are past the limit of what is kept of a log", n.MoreConnections))
	}
	return s
}

// port is a network device of a host.
type port struct {
	host   string
	device int
}

// link is a connection with both ends.
type link struct {
	src, dst port
	via      string
}

// identity is what both ends of a connection log alike. Occurrence is how many like it the host logged before: one a communicator, or a
// process that began anew.
type identity struct{ src, dst, channel, index, occurrence int }

// logged is an end of connections that a host logs alike.
type logged struct {
	host string
	identity
	send bool
}

// join puts the two ends of each connection together. Of an end that was not logged, as where the logs of some hosts are missing, the host is that
// of its rank, where that rank logged anything, and the device is not known.
func join(list []evidence.Connection, s *ecmp.Set, l *places) []link {
	hostOf := map[int]string{}
	for _, c := range list {
		if c.Send {
			hostOf[c.Src] = c.Host
		} else {
			hostOf[c.Dst] = c.Host
		}
	}
	var order []identity
	ends := map[identity]*[2]*evidence.Connection{}
	before := map[logged]int{}
	others := map[string]int{}
	for i := range list {
		c := &list[i]
		if c.Via != "NET/IB" && c.Via != "NET/Socket" && !strings.HasPrefix(c.Via, "NET/IBext") {
			others[c.Via]++
			continue
		}
		k := identity{c.Src, c.Dst, c.Channel, c.Index, 0}
		e := logged{c.Host, k, c.Send}
		k.occurrence = before[e]
		before[e]++
		if ends[k] == nil {
			ends[k] = &[2]*evidence.Connection{}
			order = append(order, k)
		}
		side := 1
		if c.Send {
			side = 0
		}
		ends[k][side] = c
	}
	for _, via := range sorted(others) {
		s.Notes = append(s.Notes, fmt.Sprintf("%d ends of connections via %s were left out: what it hashes is not known", others[via], via))
	}
	half := 0
	var links []link
	for _, k := range order {
		x := link{src: port{hostOf[k.src], -1}, dst: port{hostOf[k.dst], -1}}
		for side, c := range ends[k] {
			if c == nil {
				half++
				continue
			}
			x.via = c.Via
			p := port{c.Host, c.Device}
			if side == 0 {
				x.src = p
			} else {
				x.dst = p
			}
		}
		if x.src.host == "" {
			x.src.host = fmt.Sprintf("the host of rank %d", k.src)
		}
		if x.dst.host == "" {
			x.dst.host = fmt.Sprintf("the host of rank %d", k.dst)
		}
		if x.src.device < 0 { // NCCL's devices of both ends are mostly the same: rail to rail
			x.src.device = max(0, x.dst.device)
		}
		if x.dst.device < 0 {
			x.dst.device = x.src.device
		}
		links = append(links, x)
	}
	if half > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("of %d connections one end alone was logged; the other is taken to use the same device of its host", half))
	}
	return links
}

func sorted(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

// places are the addresses of devices.
type places struct {
	gids  map[port]netip.Addr
	hosts map[string]int // made up: the number of a host
	made  map[port]netip.Addr
	read  map[port]bool
}

func newPlaces(inv *evidence.Inventory) *places {
	l := &places{gids: map[port]netip.Addr{}, hosts: map[string]int{}, made: map[port]netip.Addr{}, read: map[port]bool{}}
	for _, q := range inv.NCCL.QPs {
		p := port{q.Host, q.Device}
		if _, ok := l.gids[p]; !ok && q.GID.IsValid() && !q.GID.IsLinkLocalUnicast() {
			l.gids[p] = q.GID.Unmap()
		}
	}
	return l
}

// address is the address of a device: its GID, else one that is made up, out of the range that is set aside for measurements (198.18.0.0/15, RFC
// 2544): hosts and devices count up, as address plans of clusters do.
func (l *places) address(p port) netip.Addr {
	if a, ok := l.gids[p]; ok {
		l.read[p] = true
		return a
	}
	if a, ok := l.made[p]; ok {
		return a
	}
	h, ok := l.hosts[p.host]
	if !ok {
		h = len(l.hosts) + 1
		l.hosts[p.host] = h
	}
	a := netip.AddrFrom4([4]byte{198, 18 + byte(h>>8&1), byte(p.device), byte(h)})
	if h > 511 { // more hosts than fit: into IPv6's range for documentation
		a = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(p.device), 0, 0, 0, 0, 0, 0, 0, byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h)})
	}
	l.made[p] = a
	return a
}

// known are the fields that the log told of all flows.
func (l *places) known() ecmp.Fields {
	f := ecmp.Protocol | ecmp.DstPort
	if len(l.made) == 0 {
		f |= ecmp.SrcIP | ecmp.DstIP
	}
	return f
}

func (l *places) tell(s *ecmp.Set) {
	if len(l.made) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("the addresses of %d of %d devices are not in the log (NCCL_DEBUG_SUBSYS=INIT,NET prints GIDs), and are made up: 198.18.DEVICE.HOST", len(l.made), len(l.made)+len(l.read)))
	}
}
