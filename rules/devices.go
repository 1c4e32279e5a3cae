// What expressions see of devices: queues and pauses of interfaces and switch ports, modules, interrupts, GPUs with their
// links, spraying, and the dumps of flight recorders. Empty lists are known to be empty; what may be unknown is a pointer.

package rules

// QoS is how an interface sorts packets, as mlnx_qos and dcb show it. Lists have one entry a priority, 0 to 7.
type QoS struct {
	Trust   *string  `yaml:"trust" json:"trust,omitempty" doc:"dscp or pcp"`
	DSCP    *[]int64 `yaml:"dscp" json:"dscp,omitempty" doc:"the priority of each of the 64 code points, -1 where it is not told"`
	PFC     *[]bool  `yaml:"pfc" json:"pfc,omitempty" doc:"whether pause is on for each priority"`
	TC      *[]int64 `yaml:"tc" json:"tc,omitempty" doc:"traffic class of each priority"`
	Buffer  *[]int64 `yaml:"buffer" json:"buffer,omitempty" doc:"receive buffer of each priority"`
	Buffers *[]int64 `yaml:"buffers" json:"buffers,omitempty" doc:"sizes of the receive buffers, bytes"`
	Cable   *int64   `yaml:"cable" json:"cable,omitempty" doc:"length the buffers are computed for, metres"`
	From    string   `yaml:"from" json:"from,omitempty"`
}

// Module is a pluggable transceiver or cable.
type Module struct {
	Type        *string   `yaml:"type" json:"type,omitempty" example:"QSFP28"`
	Vendor      *string   `yaml:"vendor" json:"vendor,omitempty"`
	Part        *string   `yaml:"part" json:"part,omitempty"`
	Serial      *string   `yaml:"serial" json:"serial,omitempty"`
	Technology  *string   `yaml:"technology" json:"technology,omitempty" example:"Copper cable unequalized"`
	Length      *float64  `yaml:"length" json:"length,omitempty" doc:"of an attached cable, metres"`
	Temperature *float64  `yaml:"temperature" json:"temperature,omitempty" doc:"degrees Celsius"`
	Receive     []float64 `yaml:"receive" json:"receive,omitempty" doc:"power of each lane whose light was measured, dBm"`
	Transmit    []float64 `yaml:"transmit" json:"transmit,omitempty" doc:"likewise, as sent"`
	Alarms      []string  `yaml:"alarms" json:"alarms,omitempty" doc:"thresholds that are passed" example:"laser rx power low alarm"`
	State       *string   `yaml:"state" json:"state,omitempty" example:"ModuleReady"`
	From        string    `yaml:"from" json:"from,omitempty"`
}

// IRQ is one interrupt of a device.
type IRQ struct {
	Host    string   `yaml:"host" json:"host"`
	Number  int64    `yaml:"number" json:"number"`
	Device  string   `yaml:"device" json:"device,omitempty" doc:"PCI address, interface or RDMA device its name speaks of"`
	Name    string   `yaml:"name" json:"name,omitempty" example:"mlx5_comp3@pci:0000:5c:00.0"`
	Total   int64    `yaml:"total" json:"total,omitempty" doc:"how often it came since the host started"`
	Busiest *int64   `yaml:"busiest" json:"busiest,omitempty" doc:"the processor that took it most often"`
	Share   *float64 `yaml:"share" json:"share,omitempty" doc:"of all, what that processor took"`
	CPUs    *[]int64 `yaml:"cpus" json:"cpus,omitempty" doc:"processors it may go to"`
	From    string   `yaml:"from" json:"from,omitempty"`
}

// GPU is a GPU of a host.
type GPU struct {
	Host        string    `yaml:"host" json:"host"`
	Index       *int64    `yaml:"index" json:"index,omitempty"`
	Address     *string   `yaml:"address" json:"address,omitempty" doc:"on PCIe"`
	Name        *string   `yaml:"name" json:"name,omitempty" example:"NVIDIA H100 80GB HBM3"`
	UUID        *string   `yaml:"uuid" json:"uuid,omitempty"`
	Speed       *float64  `yaml:"speed" json:"speed,omitempty" doc:"of the PCIe link now, GT/s; an idle GPU runs slower"`
	Width       *int64    `yaml:"width" json:"width,omitempty" doc:"lanes now"`
	MaxSpeed    *float64  `yaml:"max_speed" json:"max_speed,omitempty" doc:"GT/s"`
	MaxWidth    *int64    `yaml:"max_width" json:"max_width,omitempty" doc:"lanes"`
	Replays     *int64    `yaml:"replays" json:"replays,omitempty" doc:"of the PCIe link, since it was reset"`
	Throttle    []string  `yaml:"throttle" json:"throttle,omitempty" doc:"why its clocks are held down now" example:"HW Slowdown"`
	ECC         *int64    `yaml:"ecc" json:"ecc,omitempty" doc:"uncorrectable errors since the driver was loaded"`
	ECCLifetime *int64    `yaml:"ecc_lifetime" json:"ecc_lifetime,omitempty" doc:"and since it was made"`
	Remapped    *string   `yaml:"remapped" json:"remapped,omitempty" doc:"pending or failed"`
	Temperature *float64  `yaml:"temperature" json:"temperature,omitempty" doc:"degrees Celsius"`
	Fabric      *string   `yaml:"fabric" json:"fabric,omitempty" doc:"of NVSwitch hosts: Completed, In Progress, ..."`
	Links       *[]NVLink `yaml:"links" json:"links,omitempty" doc:"its NVLinks"`
	NUMANode    *int64    `yaml:"numa_node" json:"numa_node,omitempty"`
	From        string    `yaml:"from" json:"from,omitempty"`
}

// NVLink is one link of a GPU.
type NVLink struct {
	Index  int64    `yaml:"index" json:"index"`
	Active *bool    `yaml:"active" json:"active,omitempty"`
	Speed  *float64 `yaml:"speed" json:"speed,omitempty" doc:"GB/s each way"`
	Errors *int64   `yaml:"errors" json:"errors,omitempty" doc:"replays, recoveries and CRC errors together"`
	From   string   `yaml:"from" json:"from,omitempty"`
}

// Queue is one queue of a switch port, and the priority group of the same number.
type Queue struct {
	Index    int64    `yaml:"index" json:"index" doc:"0 to 7"`
	Pause    *bool    `yaml:"pause" json:"pause,omitempty" doc:"PFC is on for the priority of this number"`
	Watch    *bool    `yaml:"watch" json:"watch,omitempty" doc:"the PFC watchdog acts on it"`
	MarkMin  *int64   `yaml:"mark_min" json:"mark_min,omitempty" doc:"bytes from which packets are marked"`
	MarkMax  *int64   `yaml:"mark_max" json:"mark_max,omitempty" doc:"bytes from which the largest share is"`
	Share    *float64 `yaml:"share" json:"share,omitempty" doc:"of packets marked there"`
	Marks    *bool    `yaml:"marks" json:"marks,omitempty" doc:"packets are marked and not dropped"`
	Headroom *int64   `yaml:"headroom" json:"headroom,omitempty" doc:"of its priority group, bytes; 0 where that is lossy"`
}

// Spray is how a switch or a NIC deals the packets of one queue pair over several paths.
type Spray struct {
	Key      *string  `yaml:"key" json:"key,omitempty" doc:"what is hashed: flow, flow+psn, counter"`
	Buckets  *int64   `yaml:"buckets" json:"buckets,omitempty" doc:"entries that hashes fall into"`
	Refresh  *float64 `yaml:"refresh_us" json:"refresh_us,omitempty" doc:"how often they are dealt anew, microseconds"`
	Feedback *bool    `yaml:"feedback" json:"feedback,omitempty" doc:"a pause takes a path out at once"`
	PerQP    *int64   `yaml:"per_qp" json:"per_qp,omitempty" doc:"rules that a queue pair takes in the switch's table"`
	From     string   `yaml:"from" json:"from,omitempty"`
}

// Flight is what PyTorch's flight recorder held of one rank.
type Flight struct {
	Rank   *int64        `yaml:"rank" json:"rank,omitempty"`
	Host   string        `yaml:"host" json:"host,omitempty"`
	Groups []FlightGroup `yaml:"groups" json:"groups,omitempty" doc:"its process groups"`
	Ops    []FlightOp    `yaml:"ops" json:"ops,omitempty" doc:"the last operations of each, oldest first"`
	From   string        `yaml:"from" json:"from,omitempty"`
}

// FlightGroup is one process group of a rank.
type FlightGroup struct {
	Name        string  `yaml:"name" json:"name,omitempty"`
	Description string  `yaml:"description" json:"description,omitempty"`
	Ranks       []int64 `yaml:"ranks" json:"ranks,omitempty" doc:"global ranks of the group"`
	Enqueued    *int64  `yaml:"enqueued" json:"enqueued,omitempty" doc:"sequence number that was enqueued last, -1 for none yet"`
	Started     *int64  `yaml:"started" json:"started,omitempty" doc:"likewise"`
	Completed   *int64  `yaml:"completed" json:"completed,omitempty" doc:"likewise"`
}

// FlightOp is one recorded collective or send.
type FlightOp struct {
	Group    string   `yaml:"group" json:"group,omitempty"`
	Seq      int64    `yaml:"seq" json:"seq" doc:"sequence number in its group"`
	P2P      bool     `yaml:"p2p" json:"p2p,omitempty" doc:"a send or a receive"`
	Name     string   `yaml:"name" json:"name,omitempty" example:"nccl:all_reduce"`
	State    string   `yaml:"state" json:"state,omitempty" doc:"scheduled, started, completed"`
	Bytes    *int64   `yaml:"bytes" json:"bytes,omitempty" doc:"of its input"`
	Type     string   `yaml:"type" json:"type,omitempty" doc:"of its elements"`
	Duration *float64 `yaml:"duration_ms" json:"duration_ms,omitempty"`
	Timeout  *int64   `yaml:"timeout_ms" json:"timeout_ms,omitempty"`
	From     string   `yaml:"from" json:"from,omitempty"`
}
