package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
)

func (a *app) sprayFleetCommand() *cobra.Command {
	var minimums []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "fleet PATH...",
		Short: "tell which NICs of a fleet do not read one another's context ids",
		Long: `Fleet compares the NICs of a cluster by layout and firmware and tells which pairs cannot understand each other's per-packet context ids.

PATH is a table in a file (host,device,model,firmware,layout, of which host and one of the last two are needed), files and folders of hosts
as explain reads them (ibstat, ethtool -i), or a scenario. No public tool prints a layout; without one NICs are compared by firmware,
and two that differ are undecided. shunt spray ppcid capture finds layouts out from packets.

Exits with 1 where NICs disagree or are older than a --minimum, and with 3 where it cannot be told.`,
		Example: `  shunt spray fleet fleet.csv
  shunt spray fleet cluster/ --minimum 28.39.1002
  shunt spray fleet --json cluster/ | jq '.changes'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var least []spray.Firmware
			for _, text := range minimums {
				f, ok := spray.ParseFirmware(text)
				if !ok {
					return fail(exitUsage, "--minimum %s is no version, as 28.39.1002", text)
				}
				least = append(least, f)
			}
			nics, err := a.fleet(c.Context(), args)
			if err != nil {
				return err
			}
			return a.fleetVerdict(spray.CheckFleet(nics, least), asJSON)
		},
	}
	c.Flags().StringArrayVar(&minimums, "minimum", nil, "least firmware of a NIC of the same family, the first number; repeatable")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// fleet reads the NICs of tables and of files of hosts.
func (a *app) fleet(ctx context.Context, paths []string) ([]spray.FleetNIC, error) {
	if err := reachable(paths); err != nil {
		return nil, err
	}
	switch file, is, err := scenarioAmong(paths); {
	case err != nil:
		return nil, err
	case is:
		return fleetOfScenario(file)
	}
	var nics []spray.FleetNIC
	var rest []string
	for _, path := range paths {
		list, table, err := a.fleetTable(path)
		if err != nil {
			return nil, err
		}
		if !table {
			rest = append(rest, path)
		}
		nics = append(nics, list...)
	}
	if len(rest) == 0 {
		return nics, nil
	}
	inv, err := a.inventory(ctx, rest)
	if err != nil {
		return nil, err
	}
	return append(nics, fleetOf(inv)...), nil
}

// inventory reads what files tell of a cluster.
func (a *app) inventory(ctx context.Context, paths []string) (*evidence.Inventory, error) {
	type loaded struct {
		inv *evidence.Inventory
		err error
	}
	line := a.progress("reading")
	done := aside(func() loaded {
		inv, _, err := collect.LoadContext(ctx, paths, collect.Options{})
		return loaded{inv, err}
	})
	defer line.clear()
	select {
	case result := <-done:
		got := result()
		switch {
		case ctx.Err() != nil:
			return nil, outcome(exitInterrupted) // a part of the hosts is no answer
		case got.inv == nil:
			return nil, unread(paths, got.err)
		}
		return got.inv, nil
	case <-ctx.Done():
		return nil, outcome(exitInterrupted)
	}
}

// fleetTable reads a path that is a table; table is false where it is none.
func (a *app) fleetTable(path string) (nics []spray.FleetNIC, table bool, err error) {
	if path == "-" {
		return nil, false, nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, false, nil // reachable has told of what is missing
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, &failure{exitUnreachable, err}
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, false, &failure{exitUnreachable, err}
	}
	if !spray.IsFleetTable(head[:n]) {
		return nil, false, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, false, &failure{exitUnreachable, err}
	}
	if nics, err = spray.ParseFleet(path, f); err != nil {
		return nil, true, fail(exitUsage, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nics, true, nil
}

// fleetOf takes the NICs out of what is known of the hosts. Ports of InfiniBand have no UDP; of a host without an RDMA device its network
// interfaces are taken, where their firmware is known.
func fleetOf(inv *evidence.Inventory) (nics []spray.FleetNIC) {
	for _, h := range inv.Hosts {
		found := false
		for _, n := range h.NICs {
			if n.LinkLayer.Is(func(l string) bool { return l == "InfiniBand" }) {
				found = true
				continue
			}
			found = true
			device := n.Device
			if n.Port > 1 {
				device += fmt.Sprintf("/%d", n.Port)
			}
			nics = append(nics, spray.FleetNIC{Host: h.Name, Device: device, Model: n.Model.Or(""), Firmware: n.Firmware.Or(""), Layout: layoutOf(n), Since: n.ContextID.Since.Or(""), From: n.Firmware.From.String()})
		}
		for _, d := range h.Netdevs {
			if firmware, ok := d.Firmware.Get(); ok && !found && d.Master == "" {
				nics = append(nics, spray.FleetNIC{Host: h.Name, Device: d.Name, Firmware: firmware, From: d.Firmware.From.String()})
			}
		}
	}
	return nics
}

// fleetOfScenario takes the NICs of a scenario, whose layouts are known.
func fleetOfScenario(file string) (nics []spray.FleetNIC, err error) {
	s, err := scenario.Load(file)
	if err != nil {
		return nil, failed(err)
	}
	f, _, config, err := s.Prepare()
	if err != nil {
		return nil, failed(err)
	}
	for _, p := range f.Endpoints {
		host := f.Node(p).Name
		n := spray.FleetNIC{Host: host, Device: f.Ports[p].Name, Layout: spray.LayoutNone, From: file}
		if config.NIC.Transport == netsim.PPCID {
			n.Layout = cmp.Or(config.NIC.PPCID.Layout, spray.LayoutV2)
			for _, h := range config.NIC.PPCID.Hosts {
				if h.Host == host {
					n.Layout = h.Layout
				}
			}
		}
		nics = append(nics, n)
	}
	return nics, nil
}

// layoutOf is the layout that is known of a NIC; one whose ids are known to be off has none.
func layoutOf(n *evidence.NIC) spray.Layout {
	if on, known := n.ContextID.On.Get(); known && !on {
		return spray.LayoutNone
	}
	return spray.Layout(n.ContextID.Layout.Or(""))
}

func (a *app) fleetVerdict(v spray.FleetVerdict, asJSON bool) error {
	if asJSON {
		if err := a.encode(v); err != nil {
			return err
		}
		return fleetExit(v.Status)
	}
	var b strings.Builder
	switch v.Status {
	case spray.FleetAgrees:
		fmt.Fprintf(&b, "%s: nothing speaks against it\n", nicsOf(v.NICs))
	case spray.FleetDisagrees:
		fmt.Fprintf(&b, "%s: not all read one another's context ids rightly\n", nicsOf(v.NICs))
	default:
		fmt.Fprintf(&b, "%s: it cannot be told whether all read one another's context ids\n", nicsOf(v.NICs))
	}
	if len(v.Groups) > 0 {
		rows := table{head: []string{"kind", "model", "firmware", "layout", "which", "NICs"}, left: 5}
		for i := range v.Groups {
			g := &v.Groups[i]
			rows.add(kind(i), orUnknown(g.Model), orUnknown(g.Firmware), orUnknown(string(g.Layout)), first(g.NICs, 2), count(uint64(len(g.NICs))))
		}
		b.WriteString("\n" + rows.String())
	}
	if len(v.Pairs) > 0 {
		rows := table{head: []string{"", "", "pairs", "why"}, left: 4}
		for _, p := range v.Pairs {
			rows.add(kind(p.A)+" "+kind(p.B), string(p.Outcome), count(p.NICPairs), p.Why)
		}
		b.WriteString("\n" + rows.String())
	}
	if len(v.Changes) > 0 {
		b.WriteString("\n")
		for _, c := range v.Changes {
			fmt.Fprintf(&b, "%s\n", wrapped(kind(c.Group)+": "+c.Do, "  ", a.columns()))
		}
	}
	b.WriteString(a.noted(v.Notes))
	if err := a.say(b.String()); err != nil {
		return err
	}
	return fleetExit(v.Status)
}

func fleetExit(s spray.FleetStatus) error {
	switch s {
	case spray.FleetDisagrees:
		return outcome(exitFindings)
	case spray.FleetUndecided:
		return outcome(exitUndecided)
	}
	return nil
}

func nicsOf(n int) string {
	if n == 1 {
		return "1 NIC"
	}
	return count(uint64(n)) + " NICs"
}

// kind names a group: A to Z, then AA and so on.
func kind(i int) string {
	name := ""
	for i++; i > 0; i = (i - 1) / 26 {
		name = string(rune('A'+(i-1)%26)) + name
	}
	return name
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// first lists the first of many.
func first(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:n], ", ") + fmt.Sprintf(" and %d more", len(list)-n)
}
