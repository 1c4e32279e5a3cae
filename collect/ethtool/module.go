package ethtool

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxLanes is how many lanes a module may have: eight with QSFP-DD and OSFP, and twice that on OSFP-XD.
const MaxLanes = 16

// Module reads ethtool -m, whose names differ with the standard the module follows (ethtool: qsfp.c for SFF-8636,
// cmis.c for CMIS, sfpdiag.c for SFF-8472, sff-common.c for what they share):
//
//	Identifier                                : 0x11 (QSFP28)
//	Vendor name                               : Mellanox
//	Length (Copper or Active cable)           : 10m          CMIS: Cable assembly length
//	Module State                              : 0x03 (ModuleReady)
//	Module temperature                        : 38.55 degrees C / 101.39 degrees F
//	Laser tx bias current (Channel 1)         : 6.750 mA     SFF-8472: Laser bias current
//	Transmit avg optical power (Channel 1)    : 0.9356 mW / -0.29 dBm
//	Rcvr signal avg optical power(Channel 1)  : 0.8811 mW / -0.55 dBm
//	Laser rx power low alarm    (Channel 1)   : On
//	Laser rx power low alarm threshold        : 0.0646 mW / -11.90 dBm
//
// It does not name the interface: the file or the prompt does. "-inf dBm" and -40 dBm with 0 mW are no light.
type Module struct {
	f *fragment.Fragment
	m *evidence.Module
}

// NewModule makes a reader for one output.
func NewModule(f *fragment.Fragment) *Module { return &Module{f: f} }

// StartsModule tells whether a line begins the output, or is one that nothing else prints.
func StartsModule(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	return bytes.HasPrefix(t, []byte("Identifier ")) && bytes.Contains(t, []byte(": 0x")) ||
		bytes.HasPrefix(t, []byte("Rcvr signal avg optical power")) || bytes.HasPrefix(t, []byte("Laser tx bias current"))
}

// Line reads one line; false means that it is not of this output.
func (r *Module) Line(line []byte, n int) bool {
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok {
		return key == ""
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if key == "Identifier" || r.m == nil {
		r.m = &evidence.Module{From: r.f.At(n)}
		r.f.TheHost().Dev(r.f.Device).Module = r.m
	}
	at := r.f.At(n)
	switch key {
	case "Identifier":
		r.m.Type = evidence.Known(inBrackets(value), at)
	case "Vendor name":
		r.m.Vendor = text(value, at)
	case "Vendor PN":
		r.m.Part = text(value, at)
	case "Vendor SN":
		r.m.Serial = text(value, at)
	case "Transmitter technology":
		r.m.Technology = evidence.Known(inBrackets(value), at)
	case "Module State":
		r.m.State = evidence.Known(inBrackets(value), at)
	case "Module Fault Cause":
		r.m.Fault = evidence.Known(inBrackets(value), at)
	case "Cable assembly length", "Length (Copper or Active cable)", "Length (Copper)":
		if v, ok := leading(value); ok && v > 0 {
			r.m.Length = evidence.Known(v, at)
		}
	case "Module temperature":
		r.level(&r.m.Temperature, value, at)
	case "Module voltage":
		r.level(&r.m.Voltage, value, at)
	default:
		r.measured(key, value, n)
	}
	return true
}

func (r *Module) level(to *evidence.Value[float64], value string, at evidence.Source) {
	if v, ok := leading(value); ok {
		*to = evidence.Known(v, at)
	}
}

// measured reads what stands there by lane, flags and thresholds.
func (r *Module) measured(key, value string, n int) {
	name, channel := splitChannel(key)
	if what, level, ok := cutLevel(name); ok {
		switch {
		case strings.HasSuffix(name, " threshold"):
			if v, ok := quantity(value); ok && len(r.m.Limits) < maxFlags {
				r.m.Limits = append(r.m.Limits, evidence.Limit{What: what, Level: level, Value: v})
			}
		case value == "On" && len(r.m.Alarms) < maxFlags:
			r.m.Alarms = append(r.m.Alarms, evidence.Alarm{What: what, Level: level, Channel: channel, From: r.f.At(n)})
		}
		return
	}
	at := r.f.At(n)
	switch strings.ToLower(name) {
	case "laser tx bias current", "laser bias current":
		if v, ok := leading(value); ok {
			r.lane(channel, func(l *evidence.LaneLight) { l.Bias = evidence.Known(v, at) })
		}
	case "transmit avg optical power", "laser output power":
		r.lane(channel, func(l *evidence.LaneLight) { l.Transmit = power(value, at) })
	case "rcvr signal avg optical power", "receiver signal oma", "receiver signal average optical power":
		r.lane(channel, func(l *evidence.LaneLight) { l.Receive = power(value, at) })
	}
}

// maxFlags limits alarms and thresholds: five quantities with four levels and 16 lanes.
const maxFlags = 512

// lane finds a lane; SFP modules have one and do not number it.
func (r *Module) lane(channel int, set func(*evidence.LaneLight)) {
	channel = max(channel, 1)
	if channel > MaxLanes {
		return
	}
	for len(r.m.Lanes) < channel {
		r.m.Lanes = append(r.m.Lanes, evidence.LaneLight{})
	}
	set(&r.m.Lanes[channel-1])
}

// splitChannel takes "(Channel 1)" or "(Chan 1)" off a name; 0 where there is none.
func splitChannel(key string) (name string, channel int) {
	name, rest, ok := strings.Cut(key, "(Chan")
	if !ok {
		return key, 0
	}
	rest = strings.TrimSuffix(strings.TrimLeft(strings.TrimPrefix(rest, "nel"), " "), ")")
	channel, err := strconv.Atoi(rest)
	if err != nil || channel < 0 {
		return key, 0
	}
	return strings.TrimSpace(name), channel
}

// cutLevel takes "laser rx power" and "low alarm" out of "Laser rx power low alarm threshold".
func cutLevel(name string) (what, level string, ok bool) {
	name = strings.ToLower(strings.TrimSuffix(name, " threshold"))
	for _, l := range [...]string{"high alarm", "low alarm", "high warning", "low warning"} {
		if what, ok := strings.CutSuffix(name, " "+l); ok {
			return strings.TrimSpace(what), l, true
		}
	}
	return "", "", false
}

// power reads "0.9356 mW / -0.29 dBm".
func power(value string, at evidence.Source) evidence.Value[float64] {
	if mw, known := leading(value); known && mw == 0 {
		return evidence.Missing[float64]("no light", at)
	}
	v, ok := quantity(value)
	if !ok {
		return evidence.Missing[float64](value, at)
	}
	return evidence.Known(v, at)
}

// quantity is a value in dBm where it has one, else its first number.
func quantity(value string) (float64, bool) {
	if _, dbm, ok := strings.Cut(value, "/"); ok && strings.Contains(dbm, "dBm") {
		return leading(strings.TrimSpace(dbm))
	}
	return leading(value)
}

// leading is the number a value begins with.
func leading(value string) (float64, bool) {
	end := 0
	for end < len(value) && strings.IndexByte("+-.0123456789", value[end]) >= 0 {
		end++
	}
	v, err := strconv.ParseFloat(value[:end], 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// inBrackets is what stands in the brackets of "0x11 (QSFP28)", all of it where there are none.
func inBrackets(value string) string {
	_, inside, ok := strings.Cut(value, "(")
	if !ok {
		return value
	}
	return strings.TrimSuffix(strings.TrimSpace(inside), ")")
}

func text(value string, at evidence.Source) evidence.Value[string] {
	if value == "" {
		return evidence.Missing[string]("empty", at)
	}
	return evidence.Known(value, at)
}
