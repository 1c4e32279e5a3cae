package netsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// Defaults fills in what c leaves unset. What depends on the port stays unset: the ECN thresholds (ECNFor) and the
// headroom (HeadroomFor). Where a value is a vendor's default it is named so; a real adapter prints its own with
// mlxconfig -e query.
func Defaults(c Config) Config {
	s := &c.Switch
	// The shared buffer and the threshold 1/8 of the ns-3 model of HPCC (Li et al., SIGCOMM 2019, artefact); its point to
	// resume lies 3 KiB below the one to pause (switch-mmu).
	s.Buffer = or(s.Buffer, 32*units.MiB)
	s.Alpha = or(s.Alpha, 1.0/8)
	s.XON = or(s.XON, 3*units.KiB)
	s.ECN.PMax = or(s.ECN.PMax, 0.2)
	if s.Lossless == nil { // RoCE on priority 3 and CNPs on strict priority 6: nv set qos roce of Cumulus Linux
		s.Lossless = []int{3}
	}
	if s.Weights == nil {
		s.Weights = []int{1, 1, 1, 1, 1, 1, 0, 0}
	}
	s.ECN.At = or(s.ECN.At, AtDequeue)
	if s.ECN.Priorities == nil {
		s.ECN.Priorities = s.Lossless
		if len(s.Lossless) == 0 {
			s.ECN.Priorities = []int{3}
		}
	}
	// pfcwd of SONiC (sonic-utilities, pfcwd/main.py); it scales them up on switches with more than 32 ports.
	s.Watchdog.Poll = or(s.Watchdog.Poll, 200*units.Millisecond)
	s.Watchdog.Detection = or(s.Watchdog.Detection, 200*units.Millisecond)
	s.Watchdog.Restoration = or(s.Watchdog.Restoration, 200*units.Millisecond)
	s.Watchdog.Action = or(s.Watchdog.Action, StormDrop)
	s.BFD.Multiplier = or(s.BFD.Multiplier, 3) // the detect multiplier that FRR and SONiC start with
	// Payload and timeout of SwitchML (p4app-switchML: 256 values of 32 bits, 10 ms). Its program has 8192 slots for all jobs together; 512 keep a
	// 400 Gbit/s port busy over a round trip of 10 us.
	s.Reduction.Slots = or(s.Reduction.Slots, 512)
	s.Reduction.Chunk = or(s.Reduction.Chunk, 1024)
	s.Reduction.Timeout = or(s.Reduction.Timeout, 10*units.Millisecond)
	s.Trim.Size = or(s.Trim.Size, headerBytes) // the headers; SONiC's SWITCH_TRIMMING keeps 128 bytes
	s.Trim.Priority = or(s.Trim.Priority, 7)
	n := &c.NIC
	n.MTU = or(n.MTU, 4096)
	n.nccl()
	n.QPs = or(n.QPs, 1) // NCCL_IB_QPS_PER_CONNECTION (NCCL src/transport/net_ib)
	n.Transport = or(n.Transport, GoBackN)
	if n.Transport == UEC { // an ACK for 16 KB, and its own class for control: htsim, uec.cpp
		n.AckEvery = or(n.AckEvery, max(1, int(16*units.KiB/max(n.MTU, 1))))
		n.AckPriority = or(n.AckPriority, 7)
	}
	n.AckEvery = or(n.AckEvery, 1)
	n.IRN.RTOLow = or(n.IRN.RTOLow, 100*units.Microsecond) // these three: IRN, SIGCOMM 2018, section 4.1
	n.IRN.RTOHigh = or(n.IRN.RTOHigh, 320*units.Microsecond)
	n.IRN.Few = or(n.IRN.Few, 3)
	n.UEC.RTO = or(n.UEC.RTO, 100*units.Microsecond) // these two: htsim, uec.cpp
	n.UEC.LossFactor = or(n.UEC.LossFactor, 1.5)
	n.UEC.Reach = or(n.UEC.Reach, 4096) // ours: 16 MiB, beyond any window that makes sense at a few microseconds
	n.Timeout = or(n.Timeout, 20)       // NCCL_IB_TIMEOUT since NCCL 2.23, 18 before
	n.RetryCount = or(n.RetryCount, 7)  // NCCL_IB_RETRY_CNT, the most the verbs allow
	n.Deal = dealDefaults(n.Deal)
	n.PPCID = ppcidDefaults(n.PPCID)
	if n.Transport == PPCID { // what lies further ahead is dropped, so that a gap has to be told lost before
		n.LossDistance = or(n.LossDistance, n.PPCID.Layout.Window()/2)
	}
	n.LossDistance = or(n.LossDistance, 4096)
	n.Control = or(n.Control, DCQCN)
	n.DCQCN = dcqcnDefaults(n.DCQCN)
	n.HPCC, n.TIMELY = cc.HPCCDefaults(n.HPCC), cc.TIMELYDefaults(n.TIMELY)
	n.Swift, n.NSCC = cc.SwiftDefaults(n.Swift), cc.NSCCDefaults(n.NSCC)
	c.Path = or(c.Path, ECMP)
	c.PathParams = pathDefaults(c.PathParams)
	c.MaxEvents = or(c.MaxEvents, 20_000_000_000) // about an hour of computing
	return c
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// ECNFor is the marking curve of a port of rate r: what c sets, else 800 KB and 3200 KB at 400 Gbit/s in proportion to the
// rate, which is how SimAI's shipped configuration scales them.
func ECNFor(c ECNConfig, r units.Rate) ECNConfig {
	perGbps := units.Bytes(r / units.Gbps)
	c.KMin = or(c.KMin, 2*units.KB*perGbps)
	c.KMax = or(c.KMax, max(8*units.KB*perGbps, c.KMin))
	return c
}

// HeadroomFor is what may still arrive on a lossless class after its receiver decided to pause a peer that sends at rate r
// over a cable of the given delay through switch latency lat: two ways of wire, the packet that holds the pause frame up, the one the peer
// has just begun, the one that crossed the threshold, and the pause frames of all classes in front (IEEE 802.1Q annex N lists
// the same terms; the response time of the hardware is 0 in the model).
func HeadroomFor(r units.Rate, delay, lat units.Duration, mtu units.Bytes) units.Bytes {
	wire := units.Bytes((2*delay + lat).Seconds() * r.BytesPerSecond())
	return wire + 3*(mtu+headerBytes) + Priorities*pauseBytes
}

// Validate tells everything that is wrong with a configuration whose defaults are filled in.
func (c Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("netsim: "+format, args...))
		}
	}
	s, n := c.Switch, c.NIC
	wrong(s.Buffer <= 0 || s.Buffer >= 1<<40, "switch buffer %v: must be positive and below 1 TiB", s.Buffer)
	wrong(!(s.Alpha > 0 && s.Alpha <= 1024), "switch alpha %v: must be above 0 and at most 1024", s.Alpha)
	wrong(s.Latency < 0, "switch latency %v: must not be negative", s.Latency)
	wrong(s.XOFF < 0 || s.XON < 0 || s.Headroom < 0, "switch xoff, xon, headroom: must not be negative")
	wrong(s.Headroom >= 1<<31, "switch headroom %v: must be below 2 GiB", s.Headroom)
	wrong(s.XOFF > 0 && s.XON >= s.XOFF, "switch xon %v: must be less than xoff %v, it is the distance below it", s.XON, s.XOFF)
	wrong(s.ECN.KMin < 0 || s.ECN.KMax < 0 || s.ECN.KMax > 0 && s.ECN.KMax < s.ECN.KMin, "switch ecn: kmax %v must not be below kmin %v", s.ECN.KMax, s.ECN.KMin)
	wrong(!(s.ECN.PMax >= 0 && s.ECN.PMax <= 1), "switch ecn pmax %v: must be between 0%% and 100%%", s.ECN.PMax)
	wrong(s.ECN.KMax >= 1<<31, "switch ecn kmax %v: must be below 2 GiB", s.ECN.KMax)
	wrong(s.PauseQuanta < 0 || s.PauseQuanta > 65535, "switch pause_quanta %d: must be 1 to 65535 (16 bits)", s.PauseQuanta)
	w := s.Watchdog
	wrong(w.Poll < units.Nanosecond || w.Detection < w.Poll || w.Restoration < w.Poll, "switch pfc_watchdog: poll must be at least 1ns, detection and restoration not below poll")
	wrong(!slices.Contains(w.Action.Choices(), string(w.Action)), "switch pfc_watchdog action %q: must be %s or %s", w.Action, StormDrop, StormForward)
	wrong(s.BFD.Interval < 0 || s.BFD.Reroute < 0, "switch bfd interval, reroute: must not be negative")
	wrong(s.BFD.Multiplier < 1 || s.BFD.Multiplier > 255, "switch bfd multiplier %d: must be 1 to 255 (8 bits)", s.BFD.Multiplier)
	r := s.Reduction
	wrong(r.Slots < 1 || r.Slots > 1<<16, "switch reduction slots %d: must be 1 to %d", r.Slots, 1<<16)
	wrong(r.Chunk < 1 || r.Chunk > 16384, "switch reduction chunk %v: must be 1 to 16384 bytes", r.Chunk)
	wrong(r.Rate < 0 || r.Convert < 0 || r.Timeout < units.Nanosecond, "switch reduction: rate and convert must not be negative, timeout at least 1ns")
	wrong(!slices.Contains(s.ECN.At.Choices(), string(s.ECN.At)), "switch ecn at %q: must be %s or %s", s.ECN.At, AtDequeue, AtEnqueue)
	for _, p := range s.ECN.Priorities {
		wrong(p < 0 || p >= Priorities, "switch ecn priority %d: must be 0 to %d", p, Priorities-1)
	}
	wrong(s.Queue < 0 || s.Queue > 0 && s.Queue < n.MTU+headerBytes, "switch queue %v: must hold at least one packet of %v", s.Queue, n.MTU+headerBytes)
	wrong(s.Trim.Priority < 0 || s.Trim.Priority >= Priorities, "switch trim priority %d: must be 0 to %d", s.Trim.Priority, Priorities-1)
	wrong(s.Trim.Size < headerBytes || s.Trim.Size > 16384, "switch trim size %v: must be %d to 16384 bytes", s.Trim.Size, headerBytes)
	wrong(s.Trim.On && n.Transport != UEC && n.Transport != Place && n.Transport != PPCID, "switch trim: %s does not understand a packet without payload; set the nic transport to %s, %s or %s", n.Transport, UEC, Place, PPCID)
	for _, p := range s.Lossless {
		wrong(s.Trim.On && p == s.Trim.Priority, "switch trim priority %d: is lossless; trimmed packets need a lossy one", p)
		wrong(p < 0 || p >= Priorities, "switch lossless priority %d: must be 0 to %d", p, Priorities-1)
	}
	wrong(len(s.Weights) != Priorities, "switch weights: %d given, there are %d priorities", len(s.Weights), Priorities)
	for p, w := range s.Weights {
		wrong(w < 0 || w > 1000, "switch weight %d of priority %d: must be 0 (strict) to 1000", w, p)
	}
	wrong(n.MTU < 1 || n.MTU > 16384, "nic mtu %v: must be 1 to 16384 bytes", n.MTU)
	wrong(n.QPs < 1 || n.QPs > 1024, "nic qps %d: must be 1 to 1024", n.QPs)
	wrong(!slices.Contains(n.Transport.Choices(), string(n.Transport)), "nic transport %q: must be one of %s", n.Transport, strings.Join(n.Transport.Choices(), ", "))
	_, err := NCCLDefaults(n.NCCL)
	wrong(n.NCCL != "" && err != nil, "nic nccl: %v", err)
	wrong(n.AckPriority < 0 || n.AckPriority >= Priorities, "nic ack_priority %d: must be 0 to %d", n.AckPriority, Priorities-1)
	wrong(n.IRN.RTOLow < units.Nanosecond || n.IRN.RTOHigh < n.IRN.RTOLow, "nic irn rto_low, rto_high: must be at least 1ns, and rto_high not below rto_low")
	wrong(n.IRN.Few < 0, "nic irn few %d: must not be negative", n.IRN.Few)
	wrong(n.UEC.RTO < units.Nanosecond, "nic uec rto: must be at least 1ns")
	wrong(!(n.UEC.LossFactor > 0 && n.UEC.LossFactor <= 1000), "nic uec loss_factor %v: must be above 0 and at most 1000", n.UEC.LossFactor)
	wrong(n.UEC.Reach < 64 || n.UEC.Reach > 1<<20, "nic uec reach %d: must be 64 to %d packets", n.UEC.Reach, 1<<20)
	wrong(n.AckEvery < 1 || n.AckEvery > 1<<20, "nic ack_every %d: must be 1 to %d", n.AckEvery, 1<<20)
	wrong(n.Timeout > 31, "nic timeout %d: must be at most 31 (5 bits)", n.Timeout)
	wrong(n.RetryCount < 0 || n.RetryCount > 7, "nic retry_count %d: must be 0 to 7 (3 bits)", n.RetryCount)
	wrong(n.Window < 0 || n.Window > 0 && n.Window < n.MTU, "nic window %v: must hold at least one packet of %v", n.Window, n.MTU)
	wrong(n.LossDistance < 1 || n.LossDistance > 1<<20, "nic loss_distance %d: must be 1 to %d packets", n.LossDistance, 1<<20)
	n.PPCID.validate(wrong)
	n.Deal.validate(wrong)
	c.validateControl(wrong)
	wrong(n.Latency < 0, "nic latency %v: must not be negative", n.Latency)
	c.validatePath(wrong)
	for i, f := range c.Faults {
		wrong(f.At < 0 || f.For < 0 || f.Detect < 0 || f.Recover < 0 || f.Every < 0, "fault %d: times must not be negative", i)
		wrong(f.Every > 0 && (f.For == 0 || f.For >= f.Every), "fault %d: to come back every %v it must last for less than that, and for more than 0", i, f.Every)
		switch f.Kind {
		case LinkDown, OneWayDown, SwitchReboot, NICReset, ChecksumDrop:
		case SilentDrop:
			wrong(!(f.Loss > 0 && f.Loss <= 1), "fault %d (%s): loss %v must be above 0 and at most 1", i, f.Kind, f.Loss)
			wrong(!(f.Flows >= 0 && f.Flows <= 1), "fault %d (%s): flows %v must be 0 to 1", i, f.Kind, f.Flows)
		case RateDegraded, SlowReceiver:
			wrong(f.Rate <= 0, "fault %d (%s): needs a rate", i, f.Kind)
		case BitErrors:
			wrong(!(f.BER >= 0 && f.BER < 1), "fault %d (%s): bit error rate %v must be at least 0 and below 1", i, f.Kind, f.BER)
		default:
			wrong(true, "fault %d: unknown kind %q", i, f.Kind)
		}
	}
	return errors.Join(errs...)
}
