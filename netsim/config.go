package netsim

import (
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// Config is everything about a run that is neither the fabric nor the plan. The zero value of a field
// means its default; Defaults fills them in.
type Config struct {
	Seed   uint64
	Switch SwitchConfig
	NIC    NICConfig
	Path   PathChoice
	Faults []Fault
	Probe  *Probe

	PathParams PathConfig

	// Trace keeps which way the packets of each QP took (Network.Trace).
	Trace bool

	MaxEvents uint64 // a run that needs more ends with an error; it guards against one that never ends
}

// SwitchConfig is the buffer and queue configuration of every switch.
type SwitchConfig struct {
	Buffer   units.Bytes    `yaml:"buffer" doc:"shared packet buffer of the switch"`
	Alpha    float64        `yaml:"alpha" doc:"dynamic threshold: a port and priority may hold alpha times the free shared buffer"`
	Latency  units.Duration `yaml:"latency" doc:"time a packet spends in the switch besides queueing"`
	Lossless []int          `yaml:"lossless" doc:"priorities protected by PFC"`
	XOFF     units.Bytes    `yaml:"xoff" doc:"ingress bytes of a port and priority at which pause is sent; unset: the dynamic threshold alone"`
	XON      units.Bytes    `yaml:"xon" doc:"how far below the XOFF point the pause is lifted"`
	Headroom units.Bytes    `yaml:"headroom" doc:"buffer reserved per port and lossless priority for what arrives after the pause was sent; unset: computed from rate, delay and MTU"`
	ECN      ECNConfig      `yaml:"ecn" doc:"marking of the queues"`
	Weights  []int          `yaml:"weights" doc:"DWRR weights of the eight priorities; 0 is strict priority"`
	// PauseQuanta makes a pause run out unless it is repeated, as in hardware.
	PauseQuanta int             `yaml:"pause_quanta" example:"65535" doc:"quanta of 512 bit times after which a pause runs out; it is repeated every half of that; unset: it lasts until it is lifted"`
	BFD         BFDConfig       `yaml:"bfd" doc:"how switches notice that a neighbour is gone"`
	Watchdog    WatchdogConfig  `yaml:"pfc_watchdog" doc:"what a switch does about a queue that stays paused"`
	Reduction   ReductionConfig `yaml:"reduction" doc:"adding up in the switches (algorithm in-network)"`
	Queue       units.Bytes     `yaml:"queue" doc:"most that a queue of a lossy priority holds; unset: the dynamic threshold alone"`
	Trim        TrimConfig      `yaml:"trim" doc:"cutting packets to their headers where a queue of a lossy priority is full"`
}

// BFDConfig is bidirectional forwarding detection (RFC 5880) on every link between switches and to NICs: a neighbour that has not been heard
// for multiplier intervals is gone.
type BFDConfig struct {
	Interval   units.Duration `yaml:"interval" example:"100ms" doc:"time between two BFD packets; unset: no BFD"`
	Multiplier int            `yaml:"multiplier" doc:"intervals without a packet until the neighbour counts as gone"`
	Reroute    units.Duration `yaml:"reroute" doc:"time from noticing until all switches route around it"`
}

// WatchdogConfig is the PFC watchdog of SONiC: a queue that has been paused for the detection time without sending anything is in a storm,
// until it has not been paused for the restoration time.
type WatchdogConfig struct {
	On          bool           `yaml:"on" doc:"watch the lossless queues"`
	Poll        units.Duration `yaml:"poll" doc:"how often the queues are looked at"`
	Detection   units.Duration `yaml:"detection" doc:"time paused from which it is a storm"`
	Restoration units.Duration `yaml:"restoration" doc:"time not paused from which it is over"`
	Action      StormAction    `yaml:"action" doc:"what becomes of the packets of the queue"`
}

// StormAction is what the watchdog does in a storm.
type StormAction string

// Actions of the watchdog.
const (
	StormDrop    StormAction = "drop"    // lose what is in the queue, what joins it, and what comes in on the port in its priority
	StormForward StormAction = "forward" // send on, whatever the pauses say
)

// Choices lists the actions.
func (StormAction) Choices() []string { return []string{string(StormDrop), string(StormForward)} }

// ReductionConfig is aggregation in switches with slots, as in SwitchML (Sapio et al., NSDI 2021).
type ReductionConfig struct {
	Slots   int            `yaml:"slots" doc:"chunks of a group that may be under way at once"`
	Chunk   units.Bytes    `yaml:"chunk" doc:"payload of a packet that is added up"`
	Rate    units.Rate     `yaml:"rate" doc:"rate at which a switch adds up what one port brings; unset: as it comes"`
	Timeout units.Duration `yaml:"timeout" doc:"time after which a host sends a chunk again whose sum has not come"`
	Convert units.Rate     `yaml:"convert" doc:"rate at which a host turns floats into the integers that switches add, and back; unset: at no cost"`
}

// TrimConfig is packet trimming: what does not fit into its queue loses its payload and goes on in a queue of its own, so
// that its receiver learns at once what is missing (Cut payload, NSDI 2014; SONiC, packet trimming).
type TrimConfig struct {
	On       bool        `yaml:"on" doc:"cut packets instead of dropping them; needs a transport that understands it (uec, place)"`
	Size     units.Bytes `yaml:"size" doc:"bytes that are left of a packet"`
	Priority int         `yaml:"priority" doc:"priority that what is left travels in; unset: 7, which is strict by default"`
	Coin     bool        `yaml:"coin" doc:"toss a coin whether the arriving packet or the last one of the queue is cut, so that senders in step suffer alike"`
}

// ECNConfig is the marking curve of an egress queue: none below KMin, PMax at KMax, all above (DCQCN, CP).
type ECNConfig struct {
	Off  bool           `yaml:"off" doc:"no marking"`
	KMin units.Bytes    `yaml:"kmin" doc:"queue at which marking begins"`
	KMax units.Bytes    `yaml:"kmax" doc:"queue from which every packet is marked"`
	PMax units.Fraction `yaml:"pmax" doc:"share of packets marked at kmax"`
	// Priorities are those whose queues mark.
	Priorities []int    `yaml:"priorities" doc:"priorities that are marked; unset: the lossless ones, and 3 where none is lossless"`
	At         MarkTime `yaml:"at" doc:"whether a packet is marked by the queue it joins or by the queue it leaves"`
}

// MarkTime is when the length of a queue decides about a packet.
type MarkTime string

// Times of marking.
const (
	AtDequeue MarkTime = "dequeue" // when the packet leaves: the congestion of now
	AtEnqueue MarkTime = "enqueue" // when it joins: the congestion of a queue ago
)

// Choices lists the times of marking.
func (MarkTime) Choices() []string { return []string{string(AtDequeue), string(AtEnqueue)} }

// Transport is how a receiver treats packets out of order and a sender loss.
type Transport string

// Transports.
const (
	GoBackN Transport = "go-back-n" // anything but the expected PSN is dropped and NAKed once
	Place   Transport = "place"     // packets are placed where they belong; only loss is retransmitted
	IRN     Transport = "irn"       // selective repeat: what is overtaken counts as lost (SIGCOMM 2018)
	UEC     Transport = "uec"       // unordered delivery with selective acknowledgement, as Ultra Ethernet has it
	PPCID   Transport = "ppcid"     // as place, but a context id in the packet tells where it belongs (article 000)
)

// Choices lists the transports.
func (Transport) Choices() []string {
	return []string{string(GoBackN), string(Place), string(IRN), string(UEC), string(PPCID)}
}

// NICConfig is the configuration of every NIC.
type NICConfig struct {
	MTU          units.Bytes     `yaml:"mtu" doc:"RoCE path MTU: payload bytes of a full packet"`
	QPs          int             `yaml:"qps" doc:"QPs per connection (NCCL_IB_QPS_PER_CONNECTION)"`
	Split        bool            `yaml:"split" doc:"cut every message over the QPs of its connection instead of dealing whole messages out (NCCL_IB_SPLIT_DATA_ON_QPS)"`
	Transport    Transport       `yaml:"transport" doc:"how loss and packets out of order are dealt with"`
	NCCL         string          `yaml:"nccl" example:"2.21" doc:"timeout, retry_count, qps and split as this version of NCCL sets them, where they are not given"`
	AckEvery     int             `yaml:"ack_every" doc:"packets per acknowledgement"`
	Timeout      int             `yaml:"timeout" doc:"exponent n of the InfiniBand timeout 4.096 us x 2^n (NCCL_IB_TIMEOUT); -1 is never"`
	RetryCount   int             `yaml:"retry_count" doc:"retries before the QP gives up (NCCL_IB_RETRY_CNT)"`
	LossDistance int             `yaml:"loss_distance" doc:"place, ppcid: how many packets behind the newest a missing one counts as lost; unset: 4096, with ppcid half of what its layout can order"`
	Window       units.Bytes     `yaml:"window" doc:"bytes a QP may have unacknowledged; unset: no limit, with irn one bandwidth-delay product and with uec one and a half"`
	AckPriority  int             `yaml:"ack_priority" doc:"priority of ACKs and NAKs; unset: that of the data, with uec 7"`
	IRN          IRNConfig       `yaml:"irn" doc:"parameters of the transport irn"`
	UEC          UECConfig       `yaml:"uec" doc:"parameters of the transport uec"`
	PPCID        PPCIDConfig     `yaml:"ppcid" doc:"parameters of the transport ppcid"`
	Deal         DealConfig      `yaml:"deal" doc:"how a GPU with several NICs deals its messages over them"`
	Control      Control         `yaml:"control" doc:"congestion control"`
	DCQCN        DCQCNConfig     `yaml:"dcqcn" doc:"parameters of dcqcn"`
	HPCC         cc.HPCCConfig   `yaml:"hpcc" doc:"parameters of hpcc"`
	TIMELY       cc.TIMELYConfig `yaml:"timely" doc:"parameters of timely"`
	Swift        cc.SwiftConfig  `yaml:"swift" doc:"parameters of swift"`
	NSCC         cc.NSCCConfig   `yaml:"nscc" doc:"parameters of nscc"`
	Latency      units.Duration  `yaml:"latency" doc:"time from posting a message to its first packet"`
}

// IRNConfig holds the parameters of IRN (Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018).
type IRNConfig struct {
	RTOLow  units.Duration `yaml:"rto_low" doc:"timeout while few packets are in flight"`
	RTOHigh units.Duration `yaml:"rto_high" doc:"timeout otherwise"`
	Few     int            `yaml:"few" doc:"most packets in flight that count as few"`
}

// UECConfig holds the parameters of the unordered transport.
type UECConfig struct {
	RTO        units.Duration `yaml:"rto" doc:"least time without progress before everything unacknowledged is sent again"`
	LossFactor float64        `yaml:"loss_factor" doc:"without trimming: packets beyond a gap, in windows, from which the gap is a loss"`
	Reach      int            `yaml:"reach" doc:"most packets between the oldest unacknowledged and the newest sent"`
}

// FaultKind is what goes wrong.
type FaultKind string

// Faults.
const (
	LinkDown     FaultKind = "link-down"     // both directions stop at At and, when For is set, come back
	OneWayDown   FaultKind = "one-way-down"  // what leaves Port is lost, and neither end notices
	RateDegraded FaultKind = "rate-degraded" // the direction out of Port runs at Rate
	BitErrors    FaultKind = "bit-errors"    // bits leaving Port are wrong with probability BER
	SilentDrop   FaultKind = "silent-drop"   // packets leaving Port are lost with probability Loss, and no counter tells
	SlowReceiver FaultKind = "slow-receiver" // the host behind NIC port Port drains at Rate
	SwitchReboot FaultKind = "switch-reboot" // all links of the switch of Port are down
	NICReset     FaultKind = "nic-reset"     // the link of NIC port Port is down, and its QPs are lost for good
	ChecksumDrop FaultKind = "checksum-drop" // packets leaving Port with a UDP checksum that is not 0 are lost, and no counter tells
)

// Choices lists the faults.
func (FaultKind) Choices() []string {
	return []string{
		string(LinkDown), string(OneWayDown), string(RateDegraded), string(BitErrors), string(SilentDrop), string(SlowReceiver),
		string(SwitchReboot), string(NICReset), string(ChecksumDrop),
	}
}

// Fault is one thing that goes wrong during a run. Port is a fabric.PortID.
type Fault struct {
	Kind  FaultKind
	Port  uint32
	At    units.Duration
	For   units.Duration // 0: for the rest of the run
	Rate  units.Rate
	BER   float64
	Loss  float64 // SilentDrop: probability that a packet is lost
	Flows float64 // SilentDrop: share of the flows that it befalls, chosen by hash; 0: all
	// Detect is the time until the switches route around the links concerned. 0: what BFD takes, where SwitchConfig.BFD is set; without it
	// a link that is down both ways and a switch that reboots are seen at once, and nothing else ever is. A link that merely is slow or
	// loses packets is left only when Detect is given.
	Detect units.Duration
	// Recover is the time from the end of the fault until the links are used again. 0: as Detect.
	Recover units.Duration
	Every   units.Duration // flap period: the fault comes back after this long, 0: once
}
