package rules

import "fmt"

// Cluster is the evidence as expressions see it: the part of evidence.Inventory and of the window that rules are about,
// under names that stay. A pointer that is nil is unknown; in an expression it has no value. The names in the tags are
// those of expressions, of the JSON and of tests in files of rules.
type Cluster struct {
	_         struct{}   `doc:"the evidence a rule is judged on; what is left out is unknown"`
	Hosts     []Host     `yaml:"hosts" json:"hosts,omitempty" doc:"servers"`
	Switches  []Switch   `yaml:"switches" json:"switches,omitempty" doc:"switches"`
	Variables []Variable `yaml:"variables" json:"variables,omitempty" doc:"variables of the job, as processes saw them"`
	Settings  []Setting  `yaml:"settings" json:"settings,omitempty" doc:"what is set, under the names all inputs share"`
	Events    []Event    `yaml:"events" json:"events,omitempty" doc:"warnings and errors of the library and the framework"`
	Calls     []Call     `yaml:"calls" json:"calls,omitempty" doc:"measured collectives"`
	Steps     []Step     `yaml:"steps" json:"steps,omitempty" doc:"measured training steps"`
	Flows     []Flow     `yaml:"flows" json:"flows,omitempty" doc:"sampled traffic"`
	Flights   []Flight   `yaml:"flights" json:"flights,omitempty" doc:"dumps of PyTorch's flight recorder, one a rank"`
	NCCL      []string   `yaml:"nccl" json:"nccl,omitempty" doc:"versions of NCCL that were seen" example:"2.26.2"`
	Ranks     *int64     `yaml:"ranks" json:"ranks,omitempty" doc:"the largest number of ranks seen"`
	Simulated bool       `yaml:"simulated" json:"simulated,omitempty" doc:"the evidence is of a simulated run"`
	// Series is not a field of expressions: they ask for it by growth(), rate() and level().
	Series []Stream `yaml:"series" json:"series,omitempty" doc:"counters and gauges over the window"`
}

// Host is a server.
type Host struct {
	Name     string            `yaml:"name" json:"name" doc:"without its domain" example:"node1"`
	Memlock  *string           `yaml:"memlock" json:"memlock,omitempty" doc:"limit of locked memory in KiB, or unlimited"`
	Shm      *int64            `yaml:"shm_bytes" json:"shm_bytes,omitempty" doc:"size of /dev/shm"`
	Sysctl   map[string]string `yaml:"sysctl" json:"sysctl,omitempty" doc:"kernel parameters by name"`
	NICs     []NIC             `yaml:"nics" json:"nics,omitempty" doc:"ports of RDMA devices"`
	Netdevs  []Netdev          `yaml:"netdevs" json:"netdevs,omitempty" doc:"interfaces"`
	PCI      []PCI             `yaml:"pci" json:"pci,omitempty" doc:"network devices on PCIe, from lspci -vvv"`
	Kernel   []KernelLine      `yaml:"kernel" json:"kernel,omitempty" doc:"lines of the kernel log about devices"`
	GPUs     []GPU             `yaml:"gpus" json:"gpus,omitempty"`
	IRQs     []IRQ             `yaml:"irqs" json:"irqs,omitempty" doc:"interrupts of NICs"`
	Balancer *string           `yaml:"irqbalance" json:"irqbalance,omitempty" doc:"running or stopped"`
	Versions map[string]string `yaml:"versions" json:"versions,omitempty" doc:"by name: kernel, nvidia driver, cuda, MLNX_OFED, ..."`
}

// NIC is one port of an RDMA device.
type NIC struct {
	Host      string  `yaml:"host" json:"host" doc:"its host"`
	Object    string  `yaml:"object" json:"object" doc:"the name its series go by" example:"node1/mlx5_0"`
	Device    string  `yaml:"device" json:"device" doc:"RDMA device" example:"mlx5_0"`
	Port      int64   `yaml:"port" json:"port" doc:"from 1"`
	Netdev    *string `yaml:"netdev" json:"netdev,omitempty" doc:"its interface"`
	LinkLayer *string `yaml:"link_layer" json:"link_layer,omitempty" doc:"Ethernet or InfiniBand"`
	State     *string `yaml:"state" json:"state,omitempty" doc:"ACTIVE, DOWN, ..."`
	Physical  *string `yaml:"physical" json:"physical,omitempty" doc:"LinkUp, ..."`
	Rate      *int64  `yaml:"rate" json:"rate,omitempty" doc:"speed it runs at, bit/s"`
	Nominal   *int64  `yaml:"nominal" json:"nominal,omitempty" doc:"speed it is built or meant for, bit/s"`
	MTU       *int64  `yaml:"mtu" json:"mtu,omitempty" doc:"active path MTU, bytes"`
	MaxMTU    *int64  `yaml:"max_mtu" json:"max_mtu,omitempty" doc:"largest path MTU, bytes"`
	Firmware  *string `yaml:"firmware" json:"firmware,omitempty" doc:"firmware version"`
	Board     *string `yaml:"board" json:"board,omitempty" doc:"PSID"`
	Switch    *string `yaml:"switch" json:"switch,omitempty" doc:"the switch port it is cabled to"`
	GIDs      []GID   `yaml:"gids" json:"gids,omitempty" doc:"its GID table"`
	FEC       *string `yaml:"fec" json:"fec,omitempty" doc:"in operation"`
	NUMANode  *int64  `yaml:"numa_node" json:"numa_node,omitempty"`
	TOS       *int64  `yaml:"roce_tos" json:"roce_tos,omitempty" doc:"default type of service of rdma_cm"`
	Module    *Module `yaml:"module" json:"module,omitempty" doc:"its transceiver or cable"`
	Spray     *Spray  `yaml:"spray" json:"spray,omitempty" doc:"how it sprays"`
	From      string  `yaml:"from" json:"from,omitempty" doc:"where it was read" example:"node1/ibstat.txt:3"`
}

// GID is one entry of a GID table.
type GID struct {
	Index     int64   `yaml:"index" json:"index"`
	Address   string  `yaml:"address" json:"address" example:"::ffff:192.0.2.1"`
	Version   *string `yaml:"version" json:"version,omitempty" doc:"v1 or v2"`
	Netdev    *string `yaml:"netdev" json:"netdev,omitempty"`
	LinkLocal bool    `yaml:"link_local" json:"link_local,omitempty"`
	From      string  `yaml:"from" json:"from,omitempty"`
}

// Netdev is an interface of a host.
type Netdev struct {
	Host      string   `yaml:"host" json:"host"`
	Name      string   `yaml:"name" json:"name" example:"eth1"`
	MTU       *int64   `yaml:"mtu" json:"mtu,omitempty" doc:"bytes"`
	State     *string  `yaml:"state" json:"state,omitempty" doc:"UP or DOWN"`
	Speed     *int64   `yaml:"speed" json:"speed,omitempty" doc:"bit/s"`
	Addresses []string `yaml:"addresses" json:"addresses,omitempty" example:"192.0.2.1/24"`
	RxPause   *bool    `yaml:"rx_pause" json:"rx_pause,omitempty" doc:"802.3x pause is obeyed"`
	TxPause   *bool    `yaml:"tx_pause" json:"tx_pause,omitempty" doc:"802.3x pause is sent"`
	Driver    *string  `yaml:"driver" json:"driver,omitempty"`
	Firmware  *string  `yaml:"firmware" json:"firmware,omitempty"`
	FEC       *string  `yaml:"fec" json:"fec,omitempty" doc:"in operation"`
	Channels  *int64   `yaml:"channels" json:"channels,omitempty" doc:"combined queues (ethtool -l)"`
	QoS       *QoS     `yaml:"qos" json:"qos,omitempty" doc:"how it sorts packets"`
	Module    *Module  `yaml:"module" json:"module,omitempty" doc:"its transceiver or cable"`
	Neighbor  *string  `yaml:"neighbor" json:"neighbor,omitempty" doc:"what LLDP finds at the other end" example:"leaf1/Ethernet8"`
	From      string   `yaml:"from" json:"from,omitempty"`
}

// PCI is a network device as lspci -vvv tells it.
type PCI struct {
	Host       string   `yaml:"host" json:"host"`
	Address    string   `yaml:"address" json:"address" example:"5c:00.0"`
	Name       string   `yaml:"name" json:"name"`
	Speed      *float64 `yaml:"speed" json:"speed,omitempty" doc:"of the link now, GT/s"`
	Width      *int64   `yaml:"width" json:"width,omitempty" doc:"lanes now"`
	MaxSpeed   *float64 `yaml:"max_speed" json:"max_speed,omitempty" doc:"GT/s"`
	MaxWidth   *int64   `yaml:"max_width" json:"max_width,omitempty" doc:"lanes"`
	MaxPayload *int64   `yaml:"max_payload" json:"max_payload,omitempty" doc:"bytes"`
	MaxRead    *int64   `yaml:"max_read" json:"max_read,omitempty" doc:"bytes"`
	From       string   `yaml:"from" json:"from,omitempty"`
}

// KernelLine is a line of the kernel log that is about a device.
type KernelLine struct {
	Kind   string `yaml:"kind" json:"kind" example:"link down"`
	Device string `yaml:"device" json:"device,omitempty"`
	Text   string `yaml:"text" json:"text,omitempty"`
	From   string `yaml:"from" json:"from,omitempty"`
}

// Switch is a switch.
type Switch struct {
	Name  string `yaml:"name" json:"name" example:"leaf1"`
	Tier  string `yaml:"tier" json:"tier,omitempty" doc:"leaf, spine, core"`
	Ports []Port `yaml:"ports" json:"ports,omitempty"`

	Model    *string `yaml:"model" json:"model,omitempty"`
	Software *string `yaml:"software" json:"software,omitempty" doc:"version of its operating system"`
	Spray    *Spray  `yaml:"spray" json:"spray,omitempty" doc:"how it sprays"`
}

// Port is a port of a switch.
type Port struct {
	Switch  string  `yaml:"switch" json:"switch"`
	Object  string  `yaml:"object" json:"object" doc:"the name its series go by" example:"leaf1/Ethernet8"`
	Name    string  `yaml:"name" json:"name" example:"Ethernet8"`
	Peer    *string `yaml:"peer" json:"peer,omitempty" doc:"what is at the other end"`
	Uplink  bool    `yaml:"uplink" json:"uplink,omitempty" doc:"one of the equal-cost ports away from the hosts"`
	Rate    *int64  `yaml:"rate" json:"rate,omitempty" doc:"bit/s"`
	Nominal *int64  `yaml:"nominal" json:"nominal,omitempty" doc:"bit/s"`
	FEC     *string `yaml:"fec" json:"fec,omitempty" doc:"in operation"`

	MTU    *int64   `yaml:"mtu" json:"mtu,omitempty" doc:"bytes"`
	State  *string  `yaml:"state" json:"state,omitempty" doc:"up or down"`
	DSCP   *[]int64 `yaml:"dscp" json:"dscp,omitempty" doc:"the traffic class of each of the 64 code points, -1 where it is not told"`
	Queues *[]Queue `yaml:"queues" json:"queues,omitempty" doc:"what is set for each queue"`
}

// Variable is a variable of the job.
type Variable struct {
	Name  string `yaml:"name" json:"name" example:"NCCL_IB_HCA"`
	Value string `yaml:"value" json:"value"`
	Host  string `yaml:"host" json:"host,omitempty" doc:"empty for a command line or a file of all hosts"`
	From  string `yaml:"from" json:"from,omitempty"`
}

// Setting is something that is set.
type Setting struct {
	Name   string `yaml:"name" json:"name" example:"switch.ecn.kmin"`
	Object string `yaml:"object" json:"object,omitempty" doc:"what it is set on; empty for everywhere"`
	Value  string `yaml:"value" json:"value"`
	From   string `yaml:"from" json:"from,omitempty"`
}

// Event is a warning or an error.
type Event struct {
	Kind   string  `yaml:"kind" json:"kind" doc:"what it is about" example:"completion error"`
	Host   string  `yaml:"host" json:"host,omitempty"`
	Rank   *int64  `yaml:"rank" json:"rank,omitempty"`
	Device string  `yaml:"device" json:"device,omitempty"`
	Status int64   `yaml:"status" json:"status,omitempty" doc:"of a completion error"`
	Errno  string  `yaml:"errno" json:"errno,omitempty"`
	Peer   *string `yaml:"peer" json:"peer,omitempty"`
	Text   string  `yaml:"text" json:"text,omitempty" doc:"the line as printed"`
	From   string  `yaml:"from" json:"from,omitempty"`
}

// Call is a measured collective.
type Call struct {
	Name      string   `yaml:"name" json:"name" example:"dp all_reduce"`
	Kind      string   `yaml:"kind" json:"kind,omitempty" example:"all_reduce"`
	Algorithm string   `yaml:"algorithm" json:"algorithm,omitempty"`
	Bytes     int64    `yaml:"bytes" json:"bytes"`
	Ranks     *int64   `yaml:"ranks" json:"ranks,omitempty"`
	Step      *int64   `yaml:"step" json:"step,omitempty"`
	Time      *float64 `yaml:"time_ms" json:"time_ms,omitempty"`
	AlgBW     *float64 `yaml:"algbw" json:"algbw,omitempty" doc:"GB/s as nccl-tests has it"`
	BusBW     *float64 `yaml:"busbw" json:"busbw,omitempty" doc:"GB/s as nccl-tests has it"`
	Wrong     *int64   `yaml:"wrong" json:"wrong,omitempty" doc:"elements with a wrong value"`
	From      string   `yaml:"from" json:"from,omitempty"`
}

// Step is a measured training step.
type Step struct {
	Index   int64    `yaml:"index" json:"index"`
	Time    *float64 `yaml:"time_ms" json:"time_ms,omitempty"`
	Compute *float64 `yaml:"compute_ms" json:"compute_ms,omitempty"`
	Exposed *float64 `yaml:"exposed_ms" json:"exposed_ms,omitempty" doc:"communication that computing did not hide"`
	From    string   `yaml:"from" json:"from,omitempty"`
}

// Flow is sampled traffic between two hosts.
type Flow struct {
	Src         string `yaml:"src" json:"src"`
	Dst         string `yaml:"dst" json:"dst"`
	Application string `yaml:"application" json:"application,omitempty" example:"rocev2"`
	Priority    *int64 `yaml:"priority" json:"priority,omitempty"`
	Bytes       int64  `yaml:"bytes" json:"bytes"`
	From        string `yaml:"from" json:"from,omitempty"`
}

// Stream is one counter or gauge of one object over the window.
type Stream struct {
	Series   string   `yaml:"series" json:"series" required:"true" example:"nic_rx_pause_total"`
	Object   string   `yaml:"object" json:"object" required:"true" example:"node1/mlx5_0"`
	Priority *int64   `yaml:"priority" json:"priority,omitempty" doc:"0 to 7, where the series has one"`
	Growth   *float64 `yaml:"growth" json:"growth,omitempty" doc:"of a counter, in the unit of the series"`
	Seconds  *float64 `yaml:"seconds" json:"seconds,omitempty" doc:"between the first and the last sample, where times are known"`
	Max      *float64 `yaml:"max" json:"max,omitempty" doc:"of a gauge"`
	Last     *float64 `yaml:"last" json:"last,omitempty" doc:"of a gauge"`
	From     string   `yaml:"from" json:"from,omitempty"`
}

// Complete fills in what follows from where a thing stands: the host of its NICs, the object of a port. Files of rules
// may leave it out in their tests.
func (c *Cluster) Complete() {
	fill := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		for j := range h.NICs {
			n := &h.NICs[j]
			n.Port = max(n.Port, 1)
			fill(&n.Host, h.Name)
			object := h.Name + "/" + n.Device
			if n.Port > 1 {
				object += fmt.Sprintf(":%d", n.Port)
			}
			fill(&n.Object, object)
		}
		for j := range h.Netdevs {
			fill(&h.Netdevs[j].Host, h.Name)
		}
		for j := range h.PCI {
			fill(&h.PCI[j].Host, h.Name)
		}
		for j := range h.GPUs {
			fill(&h.GPUs[j].Host, h.Name)
		}
		for j := range h.IRQs {
			fill(&h.IRQs[j].Host, h.Name)
		}
	}
	for i := range c.Switches {
		s := &c.Switches[i]
		for j := range s.Ports {
			fill(&s.Ports[j].Switch, s.Name)
			fill(&s.Ports[j].Object, s.Name+"/"+s.Ports[j].Name)
		}
	}
}
