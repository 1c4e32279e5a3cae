package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

// ppcidEntry is an id and what is in it.
type ppcidEntry struct {
	Layout spray.Layout      `json:"layout"`
	ID     string            `json:"id"`
	Bits   string            `json:"bits"`
	Parts  map[string]uint32 `json:"parts,omitempty"`
	Error  string            `json:"error,omitempty"`
}

func entryOfID(l spray.Layout, id uint16) (ppcidEntry, error) {
	c, err := spray.NewCodec(l)
	if err != nil {
		return ppcidEntry{}, fail(exitUsage, "%w", err)
	}
	e := ppcidEntry{Layout: l, ID: fmt.Sprintf("0x%04x", id), Bits: bitsOf(l, id)}
	x, err := c.Decode(id)
	switch {
	case errors.Is(err, spray.ErrAbsent):
		e.Error = "absent: a sender that follows RoCEv2 writes 0"
	case errors.Is(err, spray.ErrLayout):
		e.Error = "rejected: another version"
	default:
		e.Parts = map[string]uint32{}
		for part, v := range map[spray.Part]uint32{spray.PartQP: x.QP, spray.PartSequence: x.Sequence, spray.PartPath: x.Path, spray.PartTime: x.Time, spray.PartEpoch: x.Epoch, spray.PartTag: x.Tag} {
			if l.Bits(part) > 0 {
				e.Parts[part.String()] = v
			}
		}
	}
	return e, nil
}

// bitsOf prints the bits of an id with the borders of its fields.
func bitsOf(l spray.Layout, id uint16) string {
	var words []string
	at := 16
	for _, f := range l.Fields() {
		at -= f.Bits
		words = append(words, fmt.Sprintf("%0*b", f.Bits, id>>at&(1<<f.Bits-1)))
	}
	return strings.Join(words, " ")
}

// text is the entry in a line: parts in the order of the layout.
func (e *ppcidEntry) text() []string {
	if e.Error != "" {
		return []string{string(e.Layout), e.ID, e.Bits, e.Error}
	}
	var words []string
	for _, f := range e.Layout.Fields() {
		if v, ok := e.Parts[f.Part.String()]; ok {
			words = append(words, fmt.Sprintf("%s=%d", f.Part, v))
		}
	}
	return []string{string(e.Layout), e.ID, e.Bits, strings.Join(words, " ")}
}

func (a *app) ppcidEncodeCommand() *cobra.Command {
	layout := spray.LayoutV2
	var x spray.Context
	var since units.Duration
	var asJSON bool
	c := &cobra.Command{
		Use:     "encode",
		Short:   "make the id of a packet",
		Example: "  shunt spray ppcid encode --layout v1 --qp 0x1234 --psn 77 --path 3 --since 12us",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if most := uint32(layout.Paths()); most > 0 && x.Path >= most {
				return fail(exitUsage, "--path %d: layout %s has paths 0 to %d", x.Path, layout, most-1)
			}
			if most := uint32(1<<layout.Bits(spray.PartEpoch) - 1); layout == spray.LayoutKeyed && (x.Epoch == 0 || x.Epoch > most) {
				return fail(exitUsage, "--epoch %d: layout %s has epochs 1 to %d", x.Epoch, layout, most)
			}
			if since < 0 {
				return fail(exitUsage, "--since %s is before the update", since)
			}
			if most := uint32(1<<24 - 1); x.QP > most || x.Sequence > most {
				return fail(exitUsage, "--qp %d --psn %d: both have 24 bits, 0 to %d", x.QP, x.Sequence, most)
			}
			switch most := uint32(1<<layout.Bits(spray.PartTag) - 1); {
			case x.Tag > 0 && most == 0:
				return fail(exitUsage, "--tag %d: layout %s has no tag", x.Tag, layout)
			case x.Tag > most:
				return fail(exitUsage, "--tag %d: layout %s has tags 0 to %d", x.Tag, layout, most)
			}
			c, err := spray.NewCodec(layout)
			if err != nil {
				return fail(exitInternal, "%w", err)
			}
			x.Time = spray.Ticks(since)
			e, err := entryOfID(layout, c.Encode(x))
			if err != nil {
				return err
			}
			return a.ppcidPrint([]ppcidEntry{e}, asJSON)
		},
	}
	choice(c, &layout, layout.Choices(), "layout", "layout", "the layout")
	f := c.Flags()
	f.Uint32Var(&x.QP, "qp", 0, "number of the queue pair at the destination")
	f.Uint32Var(&x.Sequence, "psn", 0, "packet sequence number")
	f.Uint32Var(&x.Path, "path", 0, "path")
	f.TextVar(&since, "since", units.Duration(0), "`time` since the last update of the link state")
	f.Uint32Var(&x.Epoch, "epoch", 1, "layout keyed: epoch of the key")
	f.Uint32Var(&x.Tag, "tag", 0, "layout keyed: the tag")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) ppcidDecodeCommand() *cobra.Command {
	var layout spray.Layout
	var asJSON bool
	c := &cobra.Command{
		Use:     "decode ID...",
		Short:   "read ids in one layout or in all",
		Example: "  shunt spray ppcid decode 0xbff5 --layout v2\n  tshark -r FILE -Y udp.port==4791 -T fields -e udp.checksum | xargs shunt spray ppcid decode",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			names := layout.Choices()
			if layout != "" {
				names = []string{string(layout)}
			}
			var list []ppcidEntry
			for _, text := range args {
				id, err := strconv.ParseUint(text, 0, 16)
				if err != nil {
					return fail(exitUsage, "%q is no id: 16 bits, as 0xbff5 or 49141", text)
				}
				for _, name := range names {
					e, err := entryOfID(spray.Layout(name), uint16(id))
					if err != nil {
						return err
					}
					list = append(list, e)
				}
			}
			return a.ppcidPrint(list, asJSON)
		},
	}
	choice(c, &layout, layout.Choices(), "layout", "layout", "the layout (default: all)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) ppcidPrint(list []ppcidEntry, asJSON bool) error {
	if asJSON {
		return a.encode(list)
	}
	rows := table{head: []string{"layout", "id", "bits", "read as"}, left: 4}
	for i := range list {
		rows.add(list[i].text()...)
	}
	return a.say(rows.String())
}
