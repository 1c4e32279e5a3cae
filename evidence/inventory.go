package evidence

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// Inventory is everything known about a cluster and its job at one time.
type Inventory struct {
	Hosts      []*Host
	Switches   []*Switch
	Settings   []Setting
	NCCL       NCCL
	Calls      []Call // measured collectives, in the order they were met
	Steps      []Step // measured training steps
	Flows      []Flow // sampled traffic, by pair of hosts and application
	Files      []File // every input, and what it was taken for
	Simulated  bool   // the inventory describes a simulated run
	Unreadable []Unreadable
	Tables     []Table     // runs of nccl-tests
	Perftests  []Perftest  // runs of perftest
	Topology   []TopoNIC   // NICs of an NCCL topology file
	Security   []CloudRule // rules of a cloud's security groups

	TopologyGPUs []TopoGPU // GPUs of NCCL topology files

	Containers []Container    // pods and containers as they were specified
	MTUProbes  []MTUProbe     // ping with a size
	NetTests   []NetTest      // iperf3, qperf
	Flights    []FlightDump   // PyTorch's flight recorder, a dump a rank
	Health     []HealthReport // findings of dcgmi
	Captures   []Capture      // captured packets

	Releases []ReleaseResult // bandwidths by release of NCCL, as people note them
	Pairs    []PairCount     // queue pairs by their two ends
	Sockets  []Socket        // connections of TCP and UDP
}

// TopoNIC is a <net> of an NCCL topology file (NCCL_TOPO_DUMP_FILE).
type TopoNIC struct {
	Host  string // "" where the file's name does not tell
	Name  string // "mlx5_0"
	Index int    // NCCL's number of the device
	GUID  string
	Port  int
	Speed Value[units.Rate]
	GDR   Value[bool]
	PCI   string // address of the device above it
	Link  Value[PCILink]
	From  Source
}

// TopoGPU is a <gpu> of an NCCL topology file.
type TopoGPU struct {
	Host string
	Dev  int // CUDA device
	Rank int // -1 where not told
	PCI  string
	GDR  Value[bool]
	From Source
}

// PCILink is the speed and width of a PCIe link.
type PCILink struct {
	Speed float64 // GT/s
	Width int     // lanes
}

// PCIDevice is what lspci -vvv tells of a network device.
type PCIDevice struct {
	Address    string
	Name       string
	Capable    Value[PCILink]
	Running    Value[PCILink]
	MaxPayload Value[int] // bytes
	MaxRead    Value[int] // bytes
	From       Source

	Class      string        // "Ethernet controller"
	MayPayload Value[int]    // bytes the device is capable of
	Relaxed    Value[bool]   // relaxed ordering is enabled (DevCtl RlxdOrd)
	Slot       Value[string] // physical slot
	NUMANode   Value[int]
	Driver     Value[string] // "mlx5_core"
	Part       Value[string] // product name of the vital product data
	Serial     Value[string]
}

// CloudRule is one rule of a security group.
type CloudRule struct {
	Egress   bool
	Protocol string // "-1" is all
	CIDR     string
	Group    string // the group the rule refers to; "" for a CIDR rule
	From     Source
}

// Route is one line of ip route.
type Route struct {
	Prefix netip.Prefix
	Via    netip.Addr
	Dev    string
	Source netip.Addr
	Table  string // "" for main
	From   Source

	Priority int
}

// Rule is a rule of policy routing.
type Rule struct {
	Priority int
	Selector string // "from 192.0.2.72"
	Action   string // "lookup 100"
	Table    string // of a lookup
	From     Source
}

// Neighbor is an entry of the neighbour table (ARP, NDP).
type Neighbor struct {
	Address netip.Addr
	Dev     string
	MAC     string // "" where it is not resolved
	State   string // "REACHABLE", "STALE", "FAILED", "INCOMPLETE", ...
	From    Source
}

// File is an input and the format it was recognised as.
type File struct {
	Path   string `json:"path"`
	Format string `json:"format"` // "nccl log", "ethtool -S", ...
	Host   string `json:"host,omitempty"`
}

// Unreadable is an input, or a part of one, that could not be used, and why.
type Unreadable struct {
	From Source `json:"from"`
	Why  string `json:"why"`
}

// Host is a server. Name is "" where the files do not tell; fragments without a name are one unnamed host.
type Host struct {
	Name    string
	NICs    []*NIC
	Netdevs []*Netdev
	Bridges []Bridge           // PCIe bridges with access control services, from lspci -vvv
	Memlock Value[string]      // ulimit -l in KiB, or "unlimited"
	Shm     Value[units.Bytes] // size of /dev/shm
	Sysctl  map[string]Value[string]
	Rules   []Source      // policy routing rules other than the three default ones
	RulesAt Source        // where the rules were listed; zero when they were not
	Kernel  []KernelEvent // lines of the kernel log that matter here
	Filters []Source      // packet-filter rules that reject or drop
	Routes  []Route
	PCI     []PCIDevice // network devices, from lspci -vvv

	Policy    []Rule // policy routing other than the three default rules, as Rules
	Neighbors []Neighbor
	Tree      []PCINode // the PCIe tree, from lspci
	GPUs      []*GPU
	Matrix    Value[DeviceMatrix] // nvidia-smi topo -m
	Processor Processor
	NUMA      []NUMANode
	IRQs      []IRQ
	Balancer  Value[string]            // irqbalance: "running", "stopped"
	Limits    map[string]Value[string] // ulimit -a, by description: "open files"
	Versions  map[string]Value[string] // "kernel", "nvidia driver", "cuda", "MLNX_OFED", ...
	Uptime    Value[int64]             // seconds since it started
}

// NIC is one port of an RDMA device.
type NIC struct {
	Device    string // "mlx5_0"
	Port      int    // 1-based
	Netdev    Value[string]
	LinkLayer Value[string] // "Ethernet" or "InfiniBand"
	State     Value[string] // "ACTIVE", "DOWN", ...
	Physical  Value[string] // "LinkUp", ...
	Rate      Value[units.Rate]
	Nominal   Value[units.Rate] // what the port is built or meant for, where known
	ActiveMTU Value[int]        // bytes
	MaxMTU    Value[int]
	Firmware  Value[string]
	Board     Value[string] // PSID
	PartID    Value[int]    // vendor_part_id
	GIDs      []GID
	GIDTable  Source        // where the GID table was listed; zero when it was not
	Switch    string        // "leaf1/Ethernet8" where the cable is known
	Counters  Value[string] // missing with its reason where the counters cannot be read
	Lanes     Value[int]    // width of the link

	PCI          Value[string] // address of the function
	Model        Value[string] // "MT4129"
	NodeGUID     Value[string]
	SystemGUID   Value[string]
	PortGUID     Value[string]
	LID          Value[int]
	SMLID        Value[int]
	NUMANode     Value[int]
	RoCETOS      Value[int]   // default type of service of rdma_cm, from cma_roce_tos
	TrafficClass Value[int]   // default of the device, from sysfs tc/1/traffic_class
	FEC          FEC          // from mlxlink
	Module       *Module      // from mlxlink -m
	Signal       *Signal      // from mlxlink -c
	GIDLimit     Value[int]   // length of the GID table
	MaxReads     Value[int]   // max_qp_rd_atom: RDMA reads a queue pair may have outstanding
	Links        Value[int64] // link-down events mlxlink counted

	Spray     *Spraying // nil where nothing tells of it
	ContextID ContextID
}

// Signal is the quality of a link's signal as mlxlink -c shows it.
type Signal struct {
	RawBER       Value[float64] // before FEC
	EffectiveBER Value[float64] // after it
	SymbolBER    Value[float64]
	Errors       Value[int64] // effective physical errors
	Recommend    Value[string]
	From         Source
}

// GID is one entry of a port's GID table.
type GID struct {
	Index   int
	Address netip.Addr // 16 bytes; an IPv4 GID is ::ffff:a.b.c.d
	Version string     // "v1", "v2", or "" where not told
	Netdev  string
	From    Source
}

// LinkLocal tells whether the GID is in fe80::/10 and so is not routed between hosts.
func (g GID) LinkLocal() bool { return g.Address.IsLinkLocalUnicast() }

// IPv4 tells whether the GID carries an IPv4 address.
func (g GID) IPv4() bool { return g.Address.Is4In6() }

// Netdev is an Ethernet interface of a host.
type Netdev struct {
	Name      string
	MTU       Value[int]
	Addresses []netip.Prefix
	At        Source
	Global    Value[PauseSetting] // 802.3x pause, from ethtool -a
	Device    string              // RDMA device above it, where known
	State     Value[string]       // "UP", "DOWN"
	Speed     Value[units.Rate]

	MAC        Value[string]
	Master     string // bond, bridge or VRF it belongs to
	Driver     Value[string]
	DriverAt   Value[string] // version of the driver
	Firmware   Value[string]
	PCI        Value[string] // address of the function
	NUMANode   Value[int]
	Link       Value[bool] // link detected
	Autoneg    Value[bool]
	Duplex     Value[string]
	Lanes      Value[int]
	Medium     Value[string] // "FIBRE", "Direct Attach Copper"
	FEC        FEC
	Module     *Module
	QoS        *QoS
	Coalescing Coalescing
	Channels   Channels
	Ring       Ring
	Features   map[string]Value[bool] // ethtool -k
	Neighbor   Value[string]          // LLDP: "leaf1/Ethernet8"
}

// PauseSetting is what ethtool -a tells.
type PauseSetting struct{ Rx, Tx bool }

// Bridge is a PCIe bridge and what its access control services redirect.
type Bridge struct {
	Address  string // "29:01.0"
	Redirect bool   // ReqRedir+, CmpltRedir+ or EgressCtrl+: peer-to-peer goes through the root complex
	Validate bool   // SrcValid+, which alone redirects nothing
	From     Source
}

// KernelEvent is a line of the kernel log that tells of trouble with a device.
type KernelEvent struct {
	Kind   string // "pcie power", "module temperature", "xid", "link down", ...: collect/kmsg has them all
	Device string // PCI address
	Text   string
	From   Source

	Time string // as printed: "[   12.345678]", "Jun 02 10:00:00"; "" where none
}

// Switch is a switch and its ports.
type Switch struct {
	Name  string
	Tier  string // "leaf", "spine", "core"; "" where not known
	Ports []SwitchPort

	QoS      *SwitchQoS
	Model    Value[string] // "ACS-SN4700"
	Software Value[string] // version of the operating system

	Hardware []HardwareTable // tables in its chip
	Spray    *Spraying       // nil where nothing tells of it
}

// SwitchPort is one port of a switch and what hangs off it.
type SwitchPort struct {
	Name    string // "Ethernet48"
	Peer    string // "spine2/Ethernet8" or "host3/mlx5_0"; "" where not known
	Uplink  bool   // one of the equal-cost ports away from the hosts
	Nominal Value[units.Rate]
	Rate    Value[units.Rate]
	FEC     Value[string] // in operation; missing while the link is down
	FECSet  Value[string] // as configured

	QoS         *PortQoS
	MTU         Value[int] // bytes
	State       Value[string]
	Description Value[string]
}

// Object is the name series of the port go by.
func (s *Switch) Object(p SwitchPort) string { return s.Name + "/" + p.Name }

// Object is the name series of the NIC port go by: "host3/mlx5_0", with the port number after the first.
func (h *Host) Object(n *NIC) string {
	if n.Port > 1 {
		return h.Name + "/" + n.Device + ":" + strconv.Itoa(n.Port)
	}
	return h.Name + "/" + n.Device
}

// Setting is something that can be set, under a name that all planes share: "switch.ecn.kmin",
// "switch.path_choice", "nic.dcqcn", "priority.storage", "NCCL_IB_GID_INDEX".
type Setting struct {
	Name   string
	Object string // what it is set on: a host, a switch; "" for everywhere
	Value  string
	From   Source
}

// Setting finds a setting that holds everywhere, or on any object where it is nowhere set for all.
func (inv *Inventory) Setting(name string) (Setting, bool) {
	i := slices.IndexFunc(inv.Settings, func(s Setting) bool { return s.Name == name && s.Object == "" })
	if i < 0 {
		i = slices.IndexFunc(inv.Settings, func(s Setting) bool { return s.Name == name })
	}
	if i < 0 {
		return Setting{}, false
	}
	return inv.Settings[i], true
}

// Limits on an inventory. What is past them is handed out as usual and not kept, so that nonsense in a file cannot
// fill the memory: the largest clusters have some 30 000 hosts, a host 16 NICs of 256 virtual functions, a switch 1024
// ports.
const (
	MaxHosts = 1 << 17
	MaxPorts = 1 << 12
)

// Host returns the host of that name, made if it is not there yet. A name is cut at its first dot, as NCCL does.
func (inv *Inventory) Host(name string) *Host {
	name, _, _ = strings.Cut(name, ".")
	for _, h := range inv.Hosts {
		if h.Name == name {
			return h
		}
	}
	h := &Host{Name: name, Sysctl: map[string]Value[string]{}}
	if len(inv.Hosts) < MaxHosts {
		inv.Hosts = append(inv.Hosts, h)
	}
	return h
}

// Switch returns the switch of that name, made if it is not there yet.
func (inv *Inventory) Switch(name string) *Switch {
	for _, s := range inv.Switches {
		if s.Name == name {
			return s
		}
	}
	s := &Switch{Name: name}
	if len(inv.Switches) < MaxHosts {
		inv.Switches = append(inv.Switches, s)
	}
	return s
}

// Port returns a port of the switch, made if it is not there yet. It holds until the next port is made.
func (s *Switch) Port(name string) *SwitchPort {
	for i := range s.Ports {
		if s.Ports[i].Name == name {
			return &s.Ports[i]
		}
	}
	if len(s.Ports) >= MaxPorts {
		return &SwitchPort{Name: name}
	}
	s.Ports = append(s.Ports, SwitchPort{Name: name})
	return &s.Ports[len(s.Ports)-1]
}

// NIC returns a port of a device of the host, made if it is not there yet.
func (h *Host) NIC(device string, port int) *NIC {
	for _, n := range h.NICs {
		if n.Device == device && n.Port == port {
			return n
		}
	}
	n := &NIC{Device: device, Port: port}
	if len(h.NICs) < MaxPorts {
		h.NICs = append(h.NICs, n)
	}
	return n
}

// Dev returns an interface of the host, made if it is not there yet.
func (h *Host) Dev(name string) *Netdev {
	for _, d := range h.Netdevs {
		if d.Name == name {
			return d
		}
	}
	d := &Netdev{Name: name}
	if len(h.Netdevs) < MaxPorts {
		h.Netdevs = append(h.Netdevs, d)
	}
	return d
}
