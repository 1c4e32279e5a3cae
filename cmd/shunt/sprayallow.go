package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
)

// allowFlags are the flags that only some devices have a use for.
var allowFlags = []struct {
	name string
	of   []spray.Middlebox
}{
	{"chain", []spray.Middlebox{spray.BoxIptables, spray.BoxNftables}},
	{"table", []spray.Middlebox{spray.BoxNftables}},
	{"group", []spray.Middlebox{spray.BoxAWS, spray.BoxTerraform}},
}

func (a *app) sprayAllowCommand() *cobra.Command {
	r := spray.AllowRule{Chain: spray.ChainForward, Table: "inet filter"}
	var from []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "allow --for DEVICE",
		Short: "the rule that lets packets with context ids through a firewall",
		Long: `Allow prints the rule that lets RoCEv2 packets with a UDP checksum other than 0 through: commands for iptables, a file for nft -f, commands
of the AWS CLI for a security group, or Terraform. It changes nothing. Lines with # say what the rule cannot do.`,
		Example: `  shunt spray allow --for nftables | sudo nft -f -
  shunt spray allow --for iptables --from 192.0.2.0/24,2001:db8::/32 --chain input
  shunt spray allow --for terraform --group sg-0123456789abcdef0 > roce.tf`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if r.For == "" {
				return fail(exitUsage, "--for is missing; write one of %s", strings.Join(r.For.Choices(), ", "))
			}
			for _, f := range allowFlags {
				if c.Flags().Changed(f.name) && !slices.Contains(f.of, r.For) {
					return fail(exitUsage, "--%s means nothing to %s", f.name, r.For)
				}
			}
			for _, text := range from {
				p, err := netip.ParsePrefix(text)
				if err != nil {
					return fail(exitUsage, "--from %s: write a prefix, as 192.0.2.0/24", text)
				}
				r.From = append(r.From, p)
			}
			rule, err := r.Render()
			if err != nil {
				return &failure{exitUsage, err}
			}
			if asJSON {
				return a.encode(rule)
			}
			var b strings.Builder
			for _, n := range rule.Notes {
				fmt.Fprintln(&b, wrapped(n, "# ", a.columns()))
			}
			return a.say(b.String() + rule.Text)
		},
	}
	choice(c, &r.For, r.For.Choices(), "for", "device", "the device")
	f := c.Flags()
	f.StringSliceVar(&from, "from", nil, "prefixes of the senders (default: any; of a security group its members)")
	f.StringVar(&r.Group, "group", "", "aws, terraform: id of the security group (default: a variable)")
	choice(c, &r.Chain, []string{spray.ChainForward, spray.ChainInput}, "chain", "chain", "iptables, nftables: what passes through, or what the host receives")
	f.StringVar(&r.Table, "table", r.Table, "nftables: family and name of the table that filters")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
