package fabric

import (
	"math"

	"github.com/shunt-network/shunt/units"
)

// NodeID names a host or a switch, PortID one end of a link, GPUID a GPU of the cluster (the rank of a
// job that fills the cluster). All are dense from 0.
type (
	NodeID uint32
	PortID uint32
	GPUID  uint32
)

// NoPort is the absent port.
const NoPort PortID = math.MaxUint32

// Role is what a node is for.
type Role uint8

// Roles, from the hosts up.
const (
	Host Role = iota
	Leaf
	Spine
	Core
)

func (r Role) String() string { return [...]string{"host", "leaf", "spine", "core"}[r] }

// Node is a host or a switch. Its ports are FirstPort .. FirstPort+NumPorts-1.
type Node struct {
	Name      string
	Role      Role
	Pod       int // block of leaves under the same spines, 0 in two tiers
	Rail      int // rail the leaf serves, -1 where leaves are not split by rail
	Plane     int // plane the switch belongs to, 0 where there is one
	FirstPort PortID
	NumPorts  int
}

// Port is one end of a link together with what leaves through it. On a host it is a NIC port.
type Port struct {
	Node NodeID
	Name string // "mlx5_0" on a host, "Ethernet48" on a switch
	Peer PortID // the other end

	Rate    units.Rate     // the direction that leaves here, as it runs
	Nominal units.Rate     // the direction that leaves here, as built
	Delay   units.Duration // propagation, one way
	BER     float64        // probability that a bit leaving here arrives wrong

	Uplink   bool  // leads away from the hosts
	Endpoint int32 // dense index of a NIC port in Fabric.Endpoints, -1 on a switch
}

// GPU is one GPU and the NIC ports it sends through, one for each plane.
type GPU struct {
	Host  NodeID
	Index int // within the host
	NICs  []PortID
}

// NVLink is the network inside a host. A zero Rate means that GPUs of one host talk through their NICs.
type NVLink struct {
	Rate    units.Rate     `yaml:"rate" min:"1bps" example:"3.6Tbps" doc:"bandwidth of one GPU into the NVLink domain, one direction"`
	Latency units.Duration `yaml:"latency" example:"1us" min:"0ns" doc:"time from the send to the first byte at the peer GPU"`
}

// Fabric is a network, immutable once built.
type Fabric struct {
	Nodes     []Node
	Ports     []Port
	GPUs      []GPU
	Endpoints []PortID // NIC ports by endpoint index
	NVLink    NVLink
	Planes    int

	routes routes
}

// Node returns the node that owns p.
func (f *Fabric) Node(p PortID) *Node { return &f.Nodes[f.Ports[p].Node] }

// PortName is the name people know a port by: "leaf3/Ethernet48", "host12/mlx5_0".
func (f *Fabric) PortName(p PortID) string { return f.Node(p).Name + "/" + f.Ports[p].Name }

// NodeByName finds a node; the second result is false where there is none.
func (f *Fabric) NodeByName(name string) (NodeID, bool) {
	for i := range f.Nodes {
		if f.Nodes[i].Name == name {
			return NodeID(i), true
		}
	}
	return 0, false
}

// Between lists the ports of a that lead straight to b, in port order.
func (f *Fabric) Between(a, b NodeID) []PortID {
	var ports []PortID
	n := &f.Nodes[a]
	for i := range n.NumPorts {
		p := n.FirstPort + PortID(i)
		if f.Ports[f.Ports[p].Peer].Node == b {
			ports = append(ports, p)
		}
	}
	return ports
}

// Hosts lists the hosts in id order.
func (f *Fabric) Hosts() []NodeID { return f.withRole(func(r Role) bool { return r == Host }) }

// Switches lists the switches in id order.
func (f *Fabric) Switches() []NodeID { return f.withRole(func(r Role) bool { return r != Host }) }

func (f *Fabric) withRole(keep func(Role) bool) []NodeID {
	var ids []NodeID
	for i := range f.Nodes {
		if keep(f.Nodes[i].Role) {
			ids = append(ids, NodeID(i))
		}
	}
	return ids
}
