// Package mlxlink owns reading mlxlink of NVIDIA's firmware tools: the state of a link, its module (-m), and the
// quality of its signal (-c). It sees what ethtool does not on InfiniBand, and the bit error rates on both.
package mlxlink

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Link reads one output (mstflint, mlxlink/modules/mlxlink_maps.cpp has the names):
//
//	Operational Info
//	----------------
//	State                           : Active
//	Speed                           : IB-NDR
//	Width                           : 4x
//	FEC                             : Standard_RS-FEC - (544,514)
//	Troubleshooting Info
//	Recommendation                  : No issue was observed
//	Module Info
//	Temperature [C]                 : 60 [-5..75]
//	Rx Power Current [dBm]          : 1.2,1.1,1.3,1.3 [-10..6]
//	Physical Counters and BER Info
//	Effective Physical BER          : 15E-255
//
// "15E-255" is what no error at all is shown as. The device is that of the command line, or of the file's name.
type Link struct{ f *fragment.Fragment }

// New makes a reader for one output.
func New(f *fragment.Fragment) *Link { return &Link{f} }

var heads = [][]byte{[]byte("Operational Info"), []byte("Troubleshooting Info"), []byte("Physical Counters and BER Info"), []byte("Module Info")}

// Starts tells whether a line is the head of a section.
func Starts(line []byte) bool {
	for _, h := range heads {
		if bytes.HasPrefix(line, h) && len(bytes.TrimSpace(line)) == len(h) {
			return true
		}
	}
	return false
}

// Line reads one line; false means that it is not of this output.
func (l *Link) Line(line []byte, n int) bool {
	key, value, ok := strings.Cut(string(line), ":")
	if !ok {
		t := strings.TrimSpace(key)
		return t == "" || strings.Trim(t, "-") == "" || Starts(line) || t == "Supported Info" || t == "Tool Information" || t == "Eye Opening Info"
	}
	l.set(strings.TrimSpace(key), strings.TrimSpace(value), n)
	return true
}

// set keeps one value.
func (l *Link) set(key, value string, n int) {
	if value == "" || value == "N/A" {
		return
	}
	at := l.f.At(n)
	nic := l.f.TheHost().NIC(l.f.Device, 1)
	switch key {
	case "State":
		nic.State = evidence.Known(strings.ToUpper(value), at)
	case "Physical state":
		nic.Physical = evidence.Known(value, at)
	case "Width":
		if v, err := strconv.ParseUint(strings.TrimSuffix(value, "x"), 10, 8); err == nil {
			nic.Lanes = evidence.Known(int(v), at)
		}
	case "FEC":
		nic.FEC.Active = evidence.Known(value, at)
	case "Firmware Version":
		nic.Firmware = evidence.Known(value, at)
	case "Recommendation":
		l.signal(nic, at).Recommend = evidence.Known(value, at)
	case "Link Down Counter":
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			nic.Links = evidence.Known(v, at)
		}
	default:
		if !l.ber(nic, key, value, at) {
			l.module(nic, key, value, at)
		}
	}
}

func (l *Link) signal(nic *evidence.NIC, at evidence.Source) *evidence.Signal {
	if nic.Signal == nil {
		nic.Signal = &evidence.Signal{From: at}
	}
	return nic.Signal
}

// ber reads error rates and errors; false means that the key is none.
func (l *Link) ber(nic *evidence.NIC, key, value string, at evidence.Source) bool {
	s := l.signal
	switch key {
	case "Raw Physical BER":
		rate(&s(nic, at).RawBER, value, at)
	case "Effective Physical BER":
		rate(&s(nic, at).EffectiveBER, value, at)
	case "Symbol BER":
		rate(&s(nic, at).SymbolBER, value, at)
	case "Effective Physical Errors":
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			s(nic, at).Errors = evidence.Known(v, at)
		}
	default:
		return false
	}
	return true
}

func rate(to *evidence.Value[float64], value string, at evidence.Source) {
	if v, err := strconv.ParseFloat(value, 64); err == nil && v >= 0 && v <= 1 {
		*to = evidence.Known(v, at)
	}
}

// module reads the section of the module.
func (l *Link) module(nic *evidence.NIC, key, value string, at evidence.Source) {
	if !moduleKeys[key] {
		return
	}
	if nic.Module == nil {
		nic.Module = &evidence.Module{From: at}
	}
	m := nic.Module
	switch key {
	case "Identifier":
		m.Type = evidence.Known(value, at)
	case "Cable Technology":
		m.Technology = evidence.Known(value, at)
	case "Vendor Name":
		m.Vendor = evidence.Known(value, at)
	case "Vendor Part Number":
		m.Part = evidence.Known(value, at)
	case "Vendor Serial Number":
		m.Serial = evidence.Known(value, at)
	case "Transfer Distance [m]":
		scalar(&m.Length, value, 1, at)
	case "Temperature [C]":
		scalar(&m.Temperature, value, 1, at)
		l.limits(m, "module temperature", value, 1)
	case "Voltage [mV]":
		scalar(&m.Voltage, value, 1e-3, at)
		l.limits(m, "module voltage", value, 1e-3)
	case "Bias Current [mA]":
		l.lanes(m, value, at, func(e *evidence.LaneLight) *evidence.Value[float64] { return &e.Bias })
		l.limits(m, "laser bias current", value, 1)
	case "Rx Power Current [dBm]":
		l.lanes(m, value, at, func(e *evidence.LaneLight) *evidence.Value[float64] { return &e.Receive })
		l.limits(m, "laser rx power", value, 1)
	case "Tx Power Current [dBm]":
		l.lanes(m, value, at, func(e *evidence.LaneLight) *evidence.Value[float64] { return &e.Transmit })
		l.limits(m, "laser tx power", value, 1)
	}
}

var moduleKeys = map[string]bool{
	"Identifier": true, "Cable Technology": true, "Vendor Name": true, "Vendor Part Number": true, "Vendor Serial Number": true, "Transfer Distance [m]": true,
	"Temperature [C]": true, "Voltage [mV]": true, "Bias Current [mA]": true, "Rx Power Current [dBm]": true, "Tx Power Current [dBm]": true,
}

// bare is a value without the range behind it: "60" of "60 [-5..75]".
func bare(value string) string {
	value, _, _ = strings.Cut(value, "[")
	return strings.TrimSpace(value)
}

func finite(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

func scalar(to *evidence.Value[float64], value string, scale float64, at evidence.Source) {
	if v, ok := finite(bare(value)); ok {
		*to = evidence.Known(v*scale, at)
	}
}

// noLight is what mlxlink shows where a lane receives nothing; no receiver sees less than that.
const noLight = -40

// lanes reads "1.2,1.1,1.3,1.3 [-10..6]".
func (l *Link) lanes(m *evidence.Module, value string, at evidence.Source, field func(*evidence.LaneLight) *evidence.Value[float64]) {
	const maxLanes = 16
	for i, word := range strings.Split(bare(value), ",") {
		if i >= maxLanes {
			return
		}
		for len(m.Lanes) <= i {
			m.Lanes = append(m.Lanes, evidence.LaneLight{})
		}
		v, ok := finite(word)
		switch to := field(&m.Lanes[i]); {
		case ok && v > noLight:
			*to = evidence.Known(v, at)
		case ok:
			*to = evidence.Missing[float64]("no light", at)
		}
	}
}

// limits reads the range "[-10..6]", beyond which the module warns.
func (l *Link) limits(m *evidence.Module, what, value string, scale float64) {
	const maxLimits = 64
	_, inside, ok := strings.Cut(value, "[")
	low, high, ok2 := strings.Cut(strings.TrimSuffix(inside, "]"), "..")
	a, ok3 := finite(low)
	b, ok4 := finite(high)
	if !ok || !ok2 || !ok3 || !ok4 || len(m.Limits) >= maxLimits {
		return
	}
	m.Limits = append(m.Limits, evidence.Limit{What: what, Level: "low alarm", Value: a * scale}, evidence.Limit{What: what, Level: "high alarm", Value: b * scale})
}

// answer is mlxlink --json. Lists of lanes are objects with "values" in newer versions.
type answer struct {
	Result struct {
		Output map[string]map[string]json.RawMessage `json:"output"`
	} `json:"result"`
}

// Read reads mlxlink --json.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	l := New(f)
	for _, name := range slices.Sorted(maps.Keys(a.Result.Output)) {
		section := a.Result.Output[name]
		for _, key := range slices.Sorted(maps.Keys(section)) {
			raw := section[key]
			var value string
			var list struct{ Values []string }
			switch {
			case json.Unmarshal(raw, &value) == nil:
				l.set(key, value, line)
			case json.Unmarshal(raw, &list) == nil && len(list.Values) > 0:
				l.set(key, strings.Join(list.Values, ","), line)
			}
		}
	}
	return nil
}
