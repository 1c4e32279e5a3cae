package route

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// DLBMode is when a switch with dynamic load balancing chooses.
type DLBMode string

// Modes of dynamic load balancing.
const (
	PerPacket  DLBMode = "per-packet"
	PerFlowlet DLBMode = "per-flowlet"
)

// Choices lists the modes.
func (DLBMode) Choices() []string { return []string{string(PerPacket), string(PerFlowlet)} }

// DLBConfig is what can be set of dynamic load balancing, as the ARS profile of SONiC and FBOSS's FlowletSwitchingConfig have it.
type DLBConfig struct {
	Mode        DLBMode        `yaml:"mode" doc:"choose for every packet, or for every flowlet (SONiC assign_mode)"`
	Interval    units.Duration `yaml:"interval" min:"1ns" example:"16us" doc:"how often the quality of the ports is taken (SONiC sampling_interval)"`
	Gap         units.Duration `yaml:"gap" min:"1ns" example:"256us" doc:"per-flowlet: idle time after which a flow may take another port (SONiC flowlet_idle_time)"`
	Slots       int            `yaml:"slots" min:"1" max:"1048576" doc:"per-flowlet: flowlet table of a switch (SONiC max_flows)"`
	LoadMin     units.Fraction `yaml:"load_min" doc:"share of its rate up to which a port's load counts as none"`
	LoadMax     units.Fraction `yaml:"load_max" doc:"share of its rate from which it counts as full"`
	QueueMin    units.Bytes    `yaml:"queue_min" doc:"queue up to which a port counts as empty"`
	QueueMax    units.Bytes    `yaml:"queue_max" doc:"queue from which it counts as full"`
	Exponent    int            `yaml:"exponent" min:"0" max:"15" doc:"a new sample weighs 1/2^exponent in both averages"`
	LoadWeight  int            `yaml:"load_weight" min:"0" max:"100" doc:"weight of the load in the quality"`
	QueueWeight int            `yaml:"queue_weight" min:"0" max:"100" doc:"weight of the queue in the quality"`
}

// DLBDefaults: interval, gap and slots of the SONiC design (ARS HLD); exponent, queue and load thresholds as FBOSS's own tests set them
// (fboss/agent/test, 100 and 200 KB, 1000 and 10000 of a reference rate of 10000), since vendors publish none.
func DLBDefaults(c DLBConfig) DLBConfig {
	c.Mode = or(c.Mode, PerPacket)
	c.Interval = or(c.Interval, 16*units.Microsecond)
	c.Gap = or(c.Gap, 256*units.Microsecond)
	c.Slots = or(c.Slots, 512)
	c.LoadMin = or(c.LoadMin, 0.1)
	c.LoadMax = or(c.LoadMax, 1)
	c.QueueMin = or(c.QueueMin, 100*units.KB)
	c.QueueMax = or(c.QueueMax, 200*units.KB)
	c.Exponent = or(c.Exponent, 3)
	if c.LoadWeight == 0 && c.QueueWeight == 0 {
		c.LoadWeight, c.QueueWeight = 1, 1
	}
	return c
}

// DLB is the quality of all ports, in bands 0 (worst) to 7 (best), as Broadcom's dynamic load balancing keeps it: past load and queue, each
// averaged over samples and cut into eight bands between two thresholds. Between samples it does not move, so all
// packets of an interval crowd into the same ports.
type DLB struct {
	c       DLBConfig
	quality []uint8
	load    []int64 // averages by port: bytes of an interval
	queue   []int64
	sent    []uint64 // bytes sent up to the last sample
	best    []uint16 // buffer
}

// NewDLB starts with every port at its best.
func NewDLB(c DLBConfig, ports int) DLB {
	d := DLB{
		c: c, quality: make([]uint8, ports), load: make([]int64, ports), queue: make([]int64, ports), sent: make([]uint64, ports),
		best: make([]uint16, 0, 1<<countBits),
	}
	for i := range d.quality {
		d.quality[i] = bands - 1
	}
	return d
}

const bands = 8

// Sample takes the quality of a port: bytes it has sent since the start, bytes queued now, and what it sends in an interval at full rate. It
// tells whether the port is at rest, so that sampling may stop until something moves.
func (d *DLB) Sample(port uint32, sent uint64, queued, full int64) (rest bool) {
	d.load[port] = average(d.load[port], int64(sent-d.sent[port]), d.c.Exponent)
	d.queue[port] = average(d.queue[port], queued, d.c.Exponent)
	d.sent[port] = sent
	low, high := full*fixed(d.c.LoadMin)>>shareBits, full*fixed(d.c.LoadMax)>>shareBits
	l := band(d.load[port], low, high)
	q := band(d.queue[port], int64(d.c.QueueMin), int64(d.c.QueueMax))
	sum := d.c.LoadWeight + d.c.QueueWeight
	d.quality[port] = uint8(bands - 1 - (2*(d.c.LoadWeight*l+d.c.QueueWeight*q)+sum)/(2*sum))
	return d.load[port] == 0 && d.queue[port] == 0
}

// average is the moving average with a new sample; it comes to rest at 0.
func average(old, sample int64, exponent int) int64 {
	step := (sample - old) >> exponent // rounds down, so a falling average does not stick
	return old + step
}

// band cuts v into eight between low and high.
func band(v, low, high int64) int {
	switch {
	case v <= low:
		return 0
	case v >= high:
		return bands - 1
	}
	return int((v - low) * bands / (high - low))
}

// Pick is a random one of the best of the ports.
func (d *DLB) Pick(ports []fabric.PortID, s *Stream) uint32 {
	d.best = d.best[:0]
	top := uint8(0)
	for i, p := range ports {
		q := d.quality[p]
		if q > top {
			top = q
			d.best = d.best[:0]
		}
		if q == top {
			d.best = append(d.best, uint16(i))
		}
	}
	return uint32(d.best[s.Below(uint32(len(d.best)))])
}

// Load is the average of the bytes that a port sent in an interval.
func (d *DLB) Load(port uint32) int64 { return d.load[port] }
