package netsim

import (
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/units"
)

// DCQCNPreset names a published set of DCQCN parameters.
type DCQCNPreset string

// Published sets of parameters.
const (
	PresetMLX5  DCQCNPreset = "mlx5"  // the defaults of NVIDIA's adapters
	PresetPaper DCQCNPreset = "paper" // Zhu et al., SIGCOMM 2015, for 40 Gbit/s
	PresetHPCC  DCQCNPreset = "hpcc"  // the ns-3 model in the artefact of HPCC, SIGCOMM 2019
)

// Choices lists the presets.
func (DCQCNPreset) Choices() []string {
	return []string{string(PresetMLX5), string(PresetPaper), string(PresetHPCC)}
}

// DCQCNConfig holds every parameter of DCQCN (Zhu et al., SIGCOMM 2015) under the names of the mlx5 driver.
type DCQCNConfig struct {
	Preset         DCQCNPreset    `yaml:"preset" doc:"published set of parameters that the others start from"`
	G              units.Fraction `yaml:"g" doc:"weight of a new congestion estimate (dce_tcp_g 1019 is 5/1024)"`
	AlphaPeriod    units.Duration `yaml:"alpha_period" doc:"alpha decays after this long without a CNP (dce_tcp_rtt)"`
	ReducePeriod   units.Duration `yaml:"reduce_period" doc:"least time between two cuts (rate_reduce_monitor_period)"`
	CNPPeriod      units.Duration `yaml:"cnp_period" doc:"least time between two CNPs of a QP at the receiver (min_time_between_cnps)"`
	TimeReset      units.Duration `yaml:"time_reset" doc:"period of the increase timer (rpg_time_reset)"`
	ByteReset      units.Bytes    `yaml:"byte_reset" doc:"bytes of an increase by count, -1 for none (rpg_byte_reset)"`
	Threshold      int            `yaml:"threshold" doc:"fast-recovery rounds (rpg_threshold)"`
	AIRate         units.Rate     `yaml:"ai_rate" doc:"additive increase (rpg_ai_rate)"`
	HAIRate        units.Rate     `yaml:"hai_rate" doc:"hyper increase (rpg_hai_rate)"`
	MinRate        units.Rate     `yaml:"min_rate" doc:"rate below which no cut goes (rpg_min_rate)"`
	MinDecFac      units.Fraction `yaml:"min_dec_fac" doc:"a cut never leaves less than this share (rpg_min_dec_fac)"`
	InitialAlpha   units.Fraction `yaml:"initial_alpha" doc:"alpha before the first CNP (initial_alpha_value / 1024)"`
	ClampTarget    bool           `yaml:"clamp_target" doc:"a cut lowers the target rate even when it was not raised since the last cut (clamp_tgt_rate); always with the preset paper"`
	RateOnFirstCNP units.Fraction `yaml:"rate_on_first_cnp" doc:"share of line rate to fall to at the first CNP; 0 is the ordinary cut"`
}

// presets are the published sets.
//
// mlx5: NVIDIA DOCA documentation, "DCQCN CC Parameters". rpg_byte_reset 32767 is taken as units of 64 bytes and the rates of increase as
// 5 and 50 Mbit/s from third parties; both are uncertain.
//
// paper: section 5 and figure 7 of the paper. It names no rates for hyper increase and for the floor; ten steps and one step stand in, which is
// uncertain.
//
// hpcc: the artefact of HPCC (simulation/mix/config.txt and rdma-hw.cc). Rates grow with the line, 5 and 50 Mbit/s for each 25 Gbit/s, so they stay
// unset here (newDCQCN).
var presets = map[DCQCNPreset]DCQCNConfig{
	PresetMLX5: {
		G:           5.0 / 1024, // dce_tcp_g 1019 of 1024 is the weight of the past
		AlphaPeriod: units.Microsecond, ReducePeriod: 4 * units.Microsecond, CNPPeriod: 4 * units.Microsecond,
		TimeReset: 300 * units.Microsecond, ByteReset: 32767 * 64, Threshold: 1,
		AIRate: 5 * units.Mbps, HAIRate: 50 * units.Mbps, MinRate: units.Mbps, MinDecFac: 0.5, InitialAlpha: 1023.0 / 1024,
	},
	PresetPaper: {
		G: 1.0 / 256, AlphaPeriod: 55 * units.Microsecond, ReducePeriod: 50 * units.Microsecond, CNPPeriod: 50 * units.Microsecond,
		TimeReset: 55 * units.Microsecond, ByteReset: 10 * units.MB, Threshold: 5,
		AIRate: 40 * units.Mbps, HAIRate: 400 * units.Mbps, MinRate: 40 * units.Mbps, MinDecFac: 0.5, InitialAlpha: 1, ClampTarget: true,
	},
	PresetHPCC: {
		G: 1.0 / 256, AlphaPeriod: units.Microsecond, ReducePeriod: 4 * units.Microsecond, CNPPeriod: 4 * units.Microsecond,
		TimeReset: 300 * units.Microsecond, ByteReset: -1, Threshold: 1,
		MinRate: 100 * units.Mbps, MinDecFac: 0.5, InitialAlpha: 1,
	},
}

// dcqcnDefaults fills in what d leaves unset from its preset.
func dcqcnDefaults(d DCQCNConfig) DCQCNConfig {
	d.Preset = or(d.Preset, PresetMLX5)
	p, ok := presets[d.Preset]
	if !ok { // Validate tells; the rest of the values should not be complained about as well
		p = presets[PresetMLX5]
	}
	d.G = or(d.G, p.G)
	d.AlphaPeriod = or(d.AlphaPeriod, p.AlphaPeriod)
	d.ReducePeriod = or(d.ReducePeriod, p.ReducePeriod)
	d.CNPPeriod = or(d.CNPPeriod, p.CNPPeriod)
	d.TimeReset = or(d.TimeReset, p.TimeReset)
	d.ByteReset = or(d.ByteReset, p.ByteReset)
	d.Threshold = or(d.Threshold, p.Threshold)
	d.AIRate = or(d.AIRate, p.AIRate)
	d.HAIRate = or(d.HAIRate, p.HAIRate)
	d.MinRate = or(d.MinRate, p.MinRate)
	d.MinDecFac = or(d.MinDecFac, p.MinDecFac)
	d.InitialAlpha = or(d.InitialAlpha, p.InitialAlpha)
	d.ClampTarget = d.ClampTarget || p.ClampTarget
	return d
}

// newDCQCN makes the parameters of a NIC of the given line rate.
func newDCQCN(d DCQCNConfig, line units.Rate) cc.Params {
	return cc.Params{
		G: d.G, MinDecFac: d.MinDecFac, InitialAlpha: d.InitialAlpha, RateOnFirstCNP: d.RateOnFirstCNP,
		AlphaPeriod: d.AlphaPeriod, ReducePeriod: d.ReducePeriod, TimeReset: d.TimeReset,
		ByteReset: d.ByteReset, Threshold: d.Threshold,
		AIRate: or(d.AIRate, cc.PerLine(5*units.Mbps, line)), HAIRate: or(d.HAIRate, cc.PerLine(50*units.Mbps, line)),
		MinRate: min(d.MinRate, line), LineRate: line,
		ClampTarget: d.ClampTarget,
	}
}

// congested answers a marked packet: at most one CNP a period and QP (the notification point of DCQCN).
func (n *Network) congested(ep, q uint32) {
	c := &n.nicCounters[ep]
	c.ECNMarkedPackets++
	if n.control.dcqcn == nil {
		return
	}
	r := &n.rcv[q]
	if r.cnpAt > n.now {
		return
	}
	r.cnpAt = n.now + n.cnpPeriod
	c.CNPSent++
	n.sendControl(q, cnp, 0)
}

// notified is a CNP at the sender.
func (n *Network) notified(q uint32) {
	s := &n.snd[q]
	n.nicCounters[s.src].CNPHandled++
	if n.control.dcqcn == nil {
		return
	}
	n.control.dcqcn[q].CNP(&n.control.dcqcnParams[s.src], units.At(n.now))
	n.reprice(q, s)
}
