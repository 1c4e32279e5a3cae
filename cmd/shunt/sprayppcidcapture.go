package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/spray"
)

func (a *app) ppcidCaptureCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "capture FILE...",
		Short: "find out from a capture which layout each sender uses",
		Long: `Capture reads pcap or pcapng files (- is standard input) and compares the UDP checksum of each RoCEv2 packet with what the layouts would
have made of its sequence number and queue pair. A layout that is right in packet after packet is the sender's. It counts, too, what a
device makes of the packets that knows UDP alone.

Exits with 1 where senders use different layouts, and with 3 where there are ids whose layout cannot be told.`,
		Example: `  shunt spray ppcid capture mirror.pcap
  sudo tcpdump -i eth2 -w - udp port 4791 | shunt spray ppcid capture -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := reachable(args); err != nil {
				return err
			}
			s := spray.NewSurvey()
			var notes []string
			for _, path := range args {
				note, err := a.survey(s, path)
				if err != nil {
					return err
				}
				notes = append(notes, note...)
			}
			if c.Context().Err() != nil {
				return outcome(exitInterrupted)
			}
			return a.surveyed(s, notes, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// survey takes in the frames of a file. What is cut off ends it with a note, not an error: the frames before it count.
func (a *app) survey(s *spray.Survey, path string) (notes []string, err error) {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, &failure{exitUnreachable, err}
		}
		defer f.Close()
		in = f
	}
	r, err := packet.NewReader(in)
	if err != nil {
		return nil, fail(exitUsage, "%s is neither pcap nor pcapng", path)
	}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return notes, nil
		}
		if err != nil {
			return append(notes, fmt.Sprintf("%s ends early: %v", path, err)), nil
		}
		f := packet.Decode(record.Link, record.Data)
		s.Add(&f)
	}
}

// surveyEntry is a sender in JSON.
type surveyEntry struct {
	Sender  string         `json:"sender"`
	Packets uint64         `json:"packets"`
	WithID  uint64         `json:"with_id"`
	Right   uint64         `json:"right_checksum"`
	Wrong   uint64         `json:"wrong_checksum"`
	Layouts []spray.Layout `json:"layouts"`
	Fits    []spray.Fit    `json:"fits"`
	High    int            `json:"values_of_bits_15_to_8"`
}

// layout is what the table says of a sender.
func (e *surveyEntry) layout() string {
	var names []string
	for _, l := range e.Layouts {
		names = append(names, string(l))
	}
	switch {
	case e.WithID == 0:
		return "none"
	case e.Right == e.WithID:
		return "none: right checksums"
	case len(names) == 0:
		return "?"
	case len(names) > 1:
		return strings.Join(names, " or ") + fmt.Sprintf(" (bits 15-8: %d values)", e.High)
	}
	return names[0]
}

func (a *app) surveyed(s *spray.Survey, notes []string, asJSON bool) error {
	entries := []surveyEntry{}
	kinds, unknown := map[string]bool{}, false
	for _, x := range s.Senders() {
		e := surveyEntry{x.Address.String(), x.Packets, x.WithID, x.Right, x.Wrong, x.Layouts(), x.Fits(), x.HighValues()}
		entries = append(entries, e)
		if e.WithID > 0 && e.Right < e.WithID {
			if len(e.Layouts) == 0 {
				unknown = true
			} else {
				kinds[fmt.Sprint(e.Layouts)] = true
			}
		}
	}
	verdict := error(nil)
	switch {
	case len(kinds) > 1:
		verdict = outcome(exitFindings)
	case unknown || len(entries) == 0:
		verdict = outcome(exitUndecided)
	}
	for _, n := range []struct {
		count uint64
		what  string
	}{{s.Corrupt, "packets with a wrong ICRC were left out"}, {s.NotRoCE, "frames are no RoCEv2"}, {s.More, "packets of more senders were not looked at"}} {
		if n.count > 0 {
			notes = append(notes, count(n.count)+" "+n.what+".")
		}
	}
	if asJSON {
		if err := a.encode(struct {
			Senders []surveyEntry `json:"senders"`
			Notes   []string      `json:"notes"`
		}{entries, append([]string{}, notes...)}); err != nil {
			return err
		}
		return verdict
	}
	var text string
	switch {
	case len(entries) == 0:
		text = "there is no RoCEv2 packet in it\n"
	case len(kinds) > 1:
		text = "senders use different layouts\n"
	case unknown:
		text = "of some senders the layout of the context ids cannot be told\n"
	case len(kinds) == 1:
		text = "all senders with context ids use one layout, as far as it can be told\n"
	default:
		text = "no sender writes context ids\n"
	}
	if len(entries) > 0 {
		t := table{head: []string{"sender", "layout", "packets", "checksum not 0", "verifies", "does not"}, left: 2}
		for i := range entries {
			e := &entries[i]
			t.add(e.Sender, e.layout(), count(e.Packets), count(e.WithID), count(e.Right), strconv.FormatUint(e.Wrong, 10))
		}
		text += "\n" + t.String()
	}
	if len(kinds) > 0 || unknown {
		notes = append(notes, "Each packet whose checksum does not verify is one that a device may drop which knows UDP alone. path-high and time-high have their sequence in the same bits: of paths there are few values, of hashes of the time many. A keyed layout cannot be told without its key.")
	}
	if err := a.say(text + a.noted(notes)); err != nil {
		return err
	}
	return verdict
}
