package hpcc

import (
	"bytes"
	"io"
	"math"
	"strings"

	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// Control is the rate control that CC_MODE chooses.
type Control int

// Modes of the model and of its descendants.
const (
	ControlDCQCN    Control = 1
	ControlHPCC     Control = 3
	ControlTIMELY   Control = 7
	ControlDCTCP    Control = 8
	ControlHPCCPINT Control = 10
	ControlNone     Control = 12 // ASTRA-sim's
)

var controlNames = map[Control]string{
	ControlDCQCN: "dcqcn", ControlHPCC: "hpcc", ControlTIMELY: "timely", ControlDCTCP: "dctcp", ControlHPCCPINT: "hpcc-pint", ControlNone: "none",
}

// Threshold is an entry of KMIN_MAP, KMAX_MAP or PMAX_MAP: the value of ports of one rate.
type Threshold struct {
	Rate  units.Rate
	Value float64 // kilobytes, or a share
}

// LinkDown is a link that goes down during a run.
type LinkDown struct {
	source.Place
	After units.Duration // after 2 s of simulated time, where the flows of the model's own files begin
	A, B  int32          // nodes; 0 and 0: none
}

// linkDownBase is added to LINK_DOWN's time (third.cc: Seconds(2) + MicroSeconds(link_down_time)).
const linkDownBase = 2 * units.Second

// Config is a configuration file: what it says that matters here. A field that the file does not have is zero, or nil
// where zero is a value of its own.
type Config struct {
	Topology, Flows string // TOPOLOGY_FILE, FLOW_FILE
	Payload         units.Bytes
	Stop            units.Duration // SIMULATOR_STOP_TIME, 0 when not given or beyond what a run can last
	Control         Control
	QCN             *bool // ENABLE_QCN
	DynamicPFC      *bool
	AlphaPeriod     units.Duration // ALPHA_RESUME_INTERVAL
	ReducePeriod    units.Duration // RATE_DECREASE_INTERVAL
	Timer           units.Duration // RP_TIMER
	Gain            float64        // EWMA_GAIN
	FastRecovery    int
	AI, HAI, Min    units.Rate
	ClampTarget     bool
	ErrorRate       float64 // ERROR_RATE_PER_LINK
	AckEvery        int     // L2_ACK_INTERVAL
	BackToZero      bool
	Window          *bool // HAS_WIN
	GlobalWindow    bool  // GLOBAL_T
	Buffer          units.Bytes
	Utilisation     float64 // U_TARGET
	Stages          *int    // MI_THRESH
	AckFirst        bool    // ACK_HIGH_PRIO
	LinkDown        LinkDown
	KMin, KMax      []Threshold
	PMax            []Threshold
	// Unused are the settings of the file that have no counterpart here, in its order.
	Unused []Setting
	Report *source.Report
	places map[string]source.Place
}

// Setting is a line of a configuration.
type Setting struct {
	source.Place
	Key, Value string
}

// At is the place of a setting, the last where it is given twice; none where the file does not have it.
func (c *Config) At(key string) source.Place { return c.places[key] }

// outputs are settings that only say what is recorded and where.
var outputs = []string{
	"TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE", "QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END", "ENABLE_TRACE",
	"BW_MON_FILE", "RATE_MON_FILE", "CNP_MON_FILE", "MON_START", "MON_END", "QP_MON_INTERVAL", "QLEN_MON_INTERVAL", "BW_MON_INTERVAL",
}

// ReadConfig reads a configuration: lines of a KEY and its values. What stands in braces behind them is a comment, as
// in the model's config_doc.txt. A key that is given twice counts the second time, as in ns-3. The configuration is nil
// when the error, a spec.Problems, is not.
func ReadConfig(file string, in io.Reader) (*Config, error) {
	r := source.NewReader(file, in)
	c := &Config{Report: &r.Report, places: map[string]source.Place{}}
	for r.Line() && !r.Full() {
		words := r.Words()
		if len(words) == 0 || words[0].Text[0] == '#' || words[0].Text[0] == '{' {
			continue
		}
		for i, w := range words {
			if bytes.HasPrefix(w.Text, []byte("{")) {
				words = words[:i]
				break
			}
		}
		c.line(words)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) line(words []source.Word) {
	key, values := words[0].String(), words[1:]
	c.places[key] = words[0].Place
	for _, name := range outputs {
		if key == name {
			return
		}
	}
	if len(values) == 0 {
		c.Report.Wrong(words[0], "%s has no value; write it behind the key, or remove the line", source.Quote(key))
		return
	}
	if !c.set(key, values) {
		var text []string
		for _, v := range values {
			text = append(text, v.String())
		}
		c.Unused = append(c.Unused, Setting{words[0].Place, key, strings.Join(text, " ")})
	}
}

// set takes a setting over; it is false for one that nothing here is made of.
func (c *Config) set(key string, v []source.Word) bool {
	r, w := c.Report, v[0]
	flag := func() bool {
		n, _ := r.Int(w, key, 0, 1<<31)
		return n != 0
	}
	optional := func() *bool {
		b := flag()
		return &b
	}
	micros := func() units.Duration {
		d, _ := r.Times(w, key+" in microseconds", units.Microsecond)
		return d
	}
	rate := func() units.Rate {
		x, _ := r.Rate(w, key)
		return x
	}
	switch key {
	case "TOPOLOGY_FILE":
		c.Topology = w.String()
	case "FLOW_FILE":
		c.Flows = w.String()
	case "PACKET_PAYLOAD_SIZE":
		n, _ := r.Int(w, key, 1, 65535)
		c.Payload = units.Bytes(n)
	case "SIMULATOR_STOP_TIME":
		s, _ := r.Float(w, key+" in seconds", 0, math.MaxFloat64)
		if s < latest.Seconds() { // ASTRA-sim and SimAI write 4e13 for "never"
			c.Stop = units.Duration(s * float64(units.Second))
		}
	case "CC_MODE":
		n, _ := r.Int(w, key, 0, 1000)
		c.Control = Control(n)
	case "ENABLE_QCN":
		c.QCN = optional()
	case "USE_DYNAMIC_PFC_THRESHOLD":
		c.DynamicPFC = optional()
	case "ALPHA_RESUME_INTERVAL":
		c.AlphaPeriod = micros()
	case "RATE_DECREASE_INTERVAL":
		c.ReducePeriod = micros()
	case "RP_TIMER":
		c.Timer = micros()
	case "EWMA_GAIN":
		c.Gain, _ = r.Float(w, key, 0, 1)
	case "FAST_RECOVERY_TIMES":
		n, _ := r.Int(w, key, 0, 1<<20)
		c.FastRecovery = int(n)
	case "RATE_AI":
		c.AI = rate()
	case "RATE_HAI":
		c.HAI = rate()
	case "MIN_RATE":
		c.Min = rate()
	case "CLAMP_TARGET_RATE":
		c.ClampTarget = flag()
	case "ERROR_RATE_PER_LINK":
		c.ErrorRate, _ = r.Float(w, key, 0, 1)
	case "L2_ACK_INTERVAL":
		n, _ := r.Int(w, key, 0, 1<<20)
		c.AckEvery = int(n)
	case "L2_BACK_TO_ZERO":
		c.BackToZero = flag()
	case "HAS_WIN":
		c.Window = optional()
	case "GLOBAL_T":
		c.GlobalWindow = flag()
	case "U_TARGET":
		c.Utilisation, _ = r.Float(w, key, 0, 1)
	case "MI_THRESH":
		n, _ := r.Int(w, key, 0, 1000)
		stages := int(n)
		c.Stages = &stages
	case "ACK_HIGH_PRIO":
		c.AckFirst = flag()
	case "BUFFER_SIZE":
		n, _ := r.Int(w, key+" in MiB", 1, 1<<19)
		c.Buffer = units.Bytes(n) * units.MiB
	case "LINK_DOWN":
		c.linkDown(v)
	case "KMIN_MAP":
		c.KMin = c.table(key, v, math.MaxInt32/1000)
	case "KMAX_MAP":
		c.KMax = c.table(key, v, math.MaxInt32/1000)
	case "PMAX_MAP":
		c.PMax = c.table(key, v, 1)
	default:
		return false
	}
	return true
}

// linkDown reads "time_us node_a node_b".
func (c *Config) linkDown(v []source.Word) {
	if len(v) < 3 {
		c.Report.Wrong(v[0], "LINK_DOWN has %d numbers; write the time in microseconds and two nodes, or 0 0 0", len(v))
		return
	}
	d := LinkDown{Place: v[0].Place}
	d.After, _ = c.Report.Times(v[0], "the time of LINK_DOWN in microseconds", units.Microsecond)
	a, _ := c.Report.Int(v[1], "the first node of LINK_DOWN", 0, maxNodes)
	b, _ := c.Report.Int(v[2], "the second node of LINK_DOWN", 0, maxNodes)
	d.A, d.B = int32(a), int32(b)
	c.LinkDown = d
}

// table reads "n rate value rate value ...".
func (c *Config) table(key string, v []source.Word, most float64) []Threshold {
	n, ok := c.Report.Int(v[0], "the number of entries of "+key, 0, 1000)
	if !ok {
		return nil
	}
	if len(v)-1 < int(2*n) {
		c.Report.Wrong(v[0], "%s has %d words for %d pairs of rate and value; write %d pairs", key, len(v)-1, n, n)
		return nil
	}
	out := make([]Threshold, 0, n)
	for i := range int(n) {
		rate, ok := c.Report.Rate(v[1+2*i], "a rate of "+key)
		value, ok2 := c.Report.Float(v[2+2*i], "a value of "+key, 0, most)
		if ok && ok2 {
			out = append(out, Threshold{rate, value})
		}
	}
	return out
}
