package netsim

import (
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

	MaxEvents uint64 // a run that needs more ends with an error; it guards against one that never ends
}

// PathChoice is how a switch picks one of several equal-cost ports.
type PathChoice string

// Path choices.
const (
	ECMP    PathChoice = "ecmp"     // hash of the 5-tuple: a QP keeps its path
	ECMPQPN PathChoice = "ecmp-qpn" // the destination QPN as well (E-ECMP): the QPs of one connection spread
	Random  PathChoice = "random"   // a random port for every packet
)

// SwitchConfig is the buffer and queue configuration of every switch.
type SwitchConfig struct {
	Buffer   units.Bytes    `yaml:"buffer" doc:"shared packet buffer of the switch"`
	Alpha    float64        `yaml:"alpha" doc:"dynamic threshold: a port and priority may hold alpha times the free shared buffer"`
	Latency  units.Duration `yaml:"latency" doc:"time a packet spends in the switch besides queueing"`
	Lossless []int          `yaml:"lossless" doc:"priorities protected by PFC"`
	XOFF     units.Bytes    `yaml:"xoff" doc:"ingress bytes of a port and priority at which pause is sent; unset: the dynamic threshold alone"`
	XON      units.Bytes    `yaml:"xon" doc:"how far below the XOFF point the pause is lifted"`
	Headroom units.Bytes    `yaml:"headroom" doc:"buffer reserved per port and lossless priority for what arrives after the pause was sent; unset: computed from rate, delay and MTU"`
	ECN      ECNConfig      `yaml:"ecn" doc:"marking of the lossless priorities"`
	Weights  []int          `yaml:"weights" doc:"DWRR weights of the eight priorities; 0 is strict priority"`
}

// ECNConfig is the marking curve of an egress queue: none below KMin, PMax at KMax, all above (DCQCN, CP).
type ECNConfig struct {
	Off  bool           `yaml:"off" doc:"no marking"`
	KMin units.Bytes    `yaml:"kmin" doc:"queue at which marking begins"`
	KMax units.Bytes    `yaml:"kmax" doc:"queue from which every packet is marked"`
	PMax units.Fraction `yaml:"pmax" doc:"share of packets marked at kmax"`
}

// Transport is how a receiver treats packets out of order and a sender loss.
type Transport string

// Transports.
const (
	GoBackN Transport = "go-back-n" // anything but the expected PSN is dropped and NAKed once
	Place   Transport = "place"     // packets are placed where they belong; only loss is retransmitted
)

// NICConfig is the configuration of every NIC.
type NICConfig struct {
	MTU          units.Bytes    `yaml:"mtu" doc:"RoCE path MTU: payload bytes of a full packet"`
	QPs          int            `yaml:"qps" doc:"QPs per connection (NCCL_IB_QPS_PER_CONNECTION)"`
	Split        bool           `yaml:"split" doc:"cut every message over the QPs of its connection instead of dealing whole messages out (NCCL_IB_SPLIT_DATA_ON_QPS)"`
	Transport    Transport      `yaml:"transport" doc:"go-back-n or place"`
	AckEvery     int            `yaml:"ack_every" doc:"packets per acknowledgement"`
	Timeout      int            `yaml:"timeout" doc:"exponent n of the InfiniBand timeout 4.096 us x 2^n (NCCL_IB_TIMEOUT); -1 is never"`
	RetryCount   int            `yaml:"retry_count" doc:"retries before the QP gives up (NCCL_IB_RETRY_CNT)"`
	LossDistance int            `yaml:"loss_distance" doc:"place: how many packets behind the newest a missing one counts as lost"`
	Window       units.Bytes    `yaml:"window" doc:"bytes a QP may have unacknowledged; unset: no limit"`
	Control      string         `yaml:"control" doc:"congestion control: dcqcn or none"`
	DCQCN        DCQCNConfig    `yaml:"dcqcn" doc:"DCQCN parameters"`
	Latency      units.Duration `yaml:"latency" doc:"time from posting a message to its first packet"`
}

// DCQCNConfig holds every parameter of DCQCN (Zhu et al., SIGCOMM 2015) under the names of the mlx5 driver.
type DCQCNConfig struct {
	G              units.Fraction `yaml:"g" doc:"weight of a new congestion estimate (dce_tcp_g 1019 is 5/1024)"`
	AlphaPeriod    units.Duration `yaml:"alpha_period" doc:"alpha decays after this long without a CNP (dce_tcp_rtt)"`
	ReducePeriod   units.Duration `yaml:"reduce_period" doc:"least time between two cuts (rate_reduce_monitor_period)"`
	CNPPeriod      units.Duration `yaml:"cnp_period" doc:"least time between two CNPs of a QP at the receiver (min_time_between_cnps)"`
	TimeReset      units.Duration `yaml:"time_reset" doc:"period of the increase timer (rpg_time_reset)"`
	ByteReset      units.Bytes    `yaml:"byte_reset" doc:"bytes of an increase by count (rpg_byte_reset)"`
	Threshold      int            `yaml:"threshold" doc:"fast-recovery rounds (rpg_threshold)"`
	AIRate         units.Rate     `yaml:"ai_rate" doc:"additive increase (rpg_ai_rate)"`
	HAIRate        units.Rate     `yaml:"hai_rate" doc:"hyper increase (rpg_hai_rate)"`
	MinRate        units.Rate     `yaml:"min_rate" doc:"rate below which no cut goes (rpg_min_rate)"`
	MinDecFac      units.Fraction `yaml:"min_dec_fac" doc:"a cut never leaves less than this share (rpg_min_dec_fac)"`
	InitialAlpha   units.Fraction `yaml:"initial_alpha" doc:"alpha before the first CNP (initial_alpha_value / 1024)"`
	ClampTarget    bool           `yaml:"clamp_target" doc:"a cut lowers the target rate even when it was not raised since the last cut (clamp_tgt_rate)"`
	RateOnFirstCNP units.Fraction `yaml:"rate_on_first_cnp" doc:"share of line rate to fall to at the first CNP; 0 is the ordinary cut"`
}

// FaultKind is what goes wrong.
type FaultKind string

// Faults.
const (
	LinkDown     FaultKind = "link-down"     // both directions stop at At and, when For is set, come back
	RateDegraded FaultKind = "rate-degraded" // the direction out of Port runs at Rate
	BitErrors    FaultKind = "bit-errors"    // bits leaving Port are wrong with probability BER
	SlowReceiver FaultKind = "slow-receiver" // the host behind NIC port Port drains at Rate
)

// Fault is one thing that goes wrong during a run. Port is a fabric.PortID.
type Fault struct {
	Kind FaultKind
	Port uint32
	At   units.Duration
	For  units.Duration // 0: for the rest of the run
	Rate units.Rate
	BER  float64
	// Detect is the time from a link going down to the switches routing around it (BFD and reroute).
	Detect units.Duration
	Every  units.Duration // flap period: the fault comes back after this long, 0: once
}
