package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// ppcidOptions are the flags of the list of layouts: what a link needs.
type ppcidOptions struct {
	skew    units.Duration
	rate    units.Rate
	wire    units.Bytes
	refresh units.Duration
	details bool
	json    bool
}

func (a *app) sprayPPCIDCommand() *cobra.Command {
	o := ppcidOptions{skew: 20 * units.Microsecond, rate: 400 * units.Gbps, wire: spray.RoCEWire, refresh: 200 * units.Millisecond}
	c := &cobra.Command{
		Use:   "ppcid",
		Short: "the layouts of per-packet context ids, and what each can tell",
		Long: `Ppcid lists layouts of the per-packet context id: 16 bits that travel in the checksum field of UDP. For each it tells how far packets may
overtake one another before the sequence bits no longer tell their order, beside what a link needs, and what a receiver of one
layout makes of the ids of another.

The BTH of each packet has a sequence number of 24 bits, with which a receiver can order all that any of these can.`,
		Example: `  shunt spray ppcid
  shunt spray ppcid --rate 800Gbps --skew 10us
  shunt spray ppcid encode --layout v2 --psn 1023 --path 5
  shunt spray ppcid decode 0xbff5
  shunt spray ppcid capture mirror.pcap`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.ppcidList(o) },
	}
	f := c.Flags()
	f.TextVar(&o.skew, "skew", o.skew, "`time` by which the delays of paths differ")
	f.TextVar(&o.rate, "rate", o.rate, "`rate` of the link")
	f.TextVar(&o.wire, "packet", o.wire, "`size` of a packet on the wire")
	f.TextVar(&o.refresh, "refresh", o.refresh, "`time` between updates of the link state, after which the count of the time begins again")
	f.BoolVar(&o.details, "readings", false, "tell for each pair of layouts which parts are read wrongly")
	f.BoolVar(&o.json, "json", false, "print JSON")
	c.AddCommand(a.ppcidEncodeCommand(), a.ppcidDecodeCommand(), a.ppcidCaptureCommand())
	return c
}

// layoutEntry is a layout in the JSON list.
type layoutEntry struct {
	Layout  spray.Layout  `json:"layout"`
	Doc     string        `json:"doc"`
	Fields  []spray.Field `json:"fields"`            // from bit 15 down
	Version *uint8        `json:"version,omitempty"` // none: another layout is not noticed
	Window  int           `json:"window"`
	Enough  bool          `json:"enough"` // for the link
	Paths   int           `json:"paths"`
	// Time is what the bits of the time tell, hashed as the layouts have them, and if they were the low bits.
	Time *spray.TimeLimits `json:"time,omitempty"`
	Low  *spray.TimeLimits `json:"time_if_low_bits,omitempty"`
}

// layoutList is the JSON form of the list.
type layoutList struct {
	NeedWindow int             `json:"needed_window"`
	NeedBits   int             `json:"needed_sequence_bits"`
	TickBits   int             `json:"needed_time_bits"`
	Layouts    []layoutEntry   `json:"layouts"`
	Readings   []spray.Reading `json:"readings"`
}

func (o *ppcidOptions) list() (layoutList, error) {
	l := layoutList{NeedWindow: spray.NeededWindow(o.skew, o.rate, o.wire), TickBits: spray.TickBits(o.refresh)}
	l.NeedBits = spray.NeededBits(l.NeedWindow)
	names := spray.Layout("").Choices()
	for _, name := range names {
		layout := spray.Layout(name)
		e := layoutEntry{Layout: layout, Doc: layout.Doc(), Fields: layout.Fields(), Window: layout.Window(), Paths: layout.Paths()}
		e.Enough = e.Window >= l.NeedWindow
		if v, ok := layout.Version(); ok {
			e.Version = &v
		}
		if n := layout.Bits(spray.PartTime); n > 0 {
			hash, err := spray.LimitsOfTime(spray.TimeHash, n, o.refresh)
			if err != nil {
				return l, fail(exitUsage, "--refresh: %w", err)
			}
			low, err := spray.LimitsOfTime(spray.TimeLow, n, o.refresh)
			if err != nil {
				return l, fail(exitUsage, "--refresh: %w", err)
			}
			e.Time, e.Low = &hash, &low
		}
		l.Layouts = append(l.Layouts, e)
		for _, reader := range names {
			if reader == name {
				continue
			}
			r, err := spray.Misread(layout, spray.Layout(reader))
			if err != nil {
				return l, fail(exitInternal, "%w", err)
			}
			l.Readings = append(l.Readings, r)
		}
	}
	return l, nil
}

func (a *app) ppcidList(o ppcidOptions) error {
	if o.skew <= 0 || o.rate <= 0 || o.wire <= 0 {
		return fail(exitUsage, "--skew, --rate and --packet have to be more than 0")
	}
	l, err := o.list()
	if err != nil {
		return err
	}
	if o.json {
		return a.encode(l)
	}
	text := func(s string) string { return wrapped(s, "", a.columns()) + "\n\n" }
	rows := table{head: []string{"layout", "bits 15 to 0", "ver.", "window", "fits", "paths"}, left: 2}
	times := table{head: []string{"layout", "time bits", "counts alike", "order, hashed", "order, if the low bits"}, left: 1}
	for _, e := range l.Layouts {
		version, window, enough := "none", "none", "no"
		if e.Version != nil {
			version = strconv.Itoa(int(*e.Version))
		}
		if e.Window > 0 {
			window = strconv.Itoa(e.Window)
		}
		if e.Enough {
			enough = "yes"
		}
		rows.add(string(e.Layout), fieldWords(e.Fields), version, window, enough, strconv.Itoa(e.Paths))
		if e.Time != nil {
			order := "never"
			if e.Low.To > 0 {
				order = "up to " + e.Low.To.String()
			}
			times.add(string(e.Layout), fmt.Sprintf("%d of %d", e.Time.Bits, e.Time.Needed), figure(e.Time.Alike), "never", order)
		}
	}
	return a.say(text(fmt.Sprintf("A link of %s with %s between its paths needs a window of %d packets of %s: %d sequence bits.", o.rate, o.skew, l.NeedWindow, o.wire, l.NeedBits)) +
		rows.String() + "\n" + text(fmt.Sprintf("The time counts %s since the last update of the link state, each %s: %d bits hold it all.", spray.Tick, o.refresh, l.TickBits)) + times.String() +
		"\n" + text("How many ids of one layout a receiver of another rejects; it reads the others wrongly, and nobody notices:") + l.matrix() + l.details(o.details) + a.noted([]string{
		"The layouts are our own: no public product writes such ids, and article 000 gives four parts, 16 bits, and one disagreement of two vendors (path-high, time-high). The BTH has a sequence number of 24 bits anyway.",
		"ver.: what the version bits hold. Window: how far apart packets may come and still be put in order, half of what the sequence bits count; it fits where it is what the link needs. A layout without a version cannot reject; one in 65536 of its ids is 0, which means none.",
		"Any value but 0 is a wrong UDP checksum to a device that knows UDP alone; over IPv6 so is 0, unless the port was excepted (RFC 6935, RFC 6936). The ICRC does not cover the field.",
	}))
}

// matrix has a row for each layout that writes and a column for each that reads: the share that is rejected.
func (l *layoutList) matrix() string {
	t := table{head: []string{"written"}, left: 1}
	for _, reader := range l.Layouts {
		t.head = append(t.head, string(reader.Layout))
	}
	next := 0 // readings come by writer and then by reader, without those of one layout
	for i := range l.Layouts {
		row := []string{string(l.Layouts[i].Layout)}
		for j := range l.Layouts {
			if i == j {
				row = append(row, "reads")
				continue
			}
			row = append(row, shareText(units.Fraction(l.Readings[next].Rejected)))
			next++
		}
		t.add(row...)
	}
	return t.String()
}

// details lists which parts are read wrongly, where asked for.
func (l *layoutList) details(asked bool) string {
	if !asked {
		return ""
	}
	t := table{head: []string{"written", "read as", "", "read wrongly"}, left: 4}
	for _, r := range l.Readings {
		what := "rejected"
		if r.Silent() {
			what = "not noticed"
		}
		t.add(string(r.Writer), string(r.Reader), what, partWords(r.Wrong))
	}
	return "\n" + t.String()
}

// fieldWords lists fields as name:bits.
func fieldWords(fields []spray.Field) string {
	var words []string
	for _, f := range fields {
		words = append(words, fmt.Sprintf("%s:%d", f.Part, f.Bits))
	}
	return strings.Join(words, " ")
}

func partWords(parts []spray.Part) string {
	var words []string
	for _, p := range parts {
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}
