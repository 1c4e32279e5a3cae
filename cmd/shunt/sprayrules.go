package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/spray"
	"github.com/shunt-network/shunt/units"
)

func (a *app) sprayRulesCommand() *cobra.Command {
	r := spray.DefaultRules()
	var asJSON bool
	around := 0
	c := &cobra.Command{
		Use:   "rules [PATH...]",
		Short: "count the rules that a cluster needs of a switch that sprays by queue pair",
		Long: `Rules counts the rules of a switch that keeps one for each queue pair whose packets it sprays, and tells from how many hosts on they do
not fit. Queue pairs that come too late are dealt by plain ECMP, without a word. Spraying by itself needs no such rules: adaptive
routing and a table of buckets have none.

PATH is a scenario, or files and folders of a cluster as explain reads them: hosts, NICs, NCCL_IB_QPS_PER_CONNECTION and the tables of
SONiC switches (crm show resources all) are taken from them, where no flag says otherwise.

With --around it lists the assumptions under which the rules run out just past a number of hosts. Exits with 1 where the rules do not
fit into --limit, or into what is free of a switch's table.`,
		Example: `  shunt spray rules --hosts 128
  shunt spray rules --hosts 512 --peers ring --channels 16 --scope cluster
  shunt spray rules --hosts 128 --limit 32768
  shunt spray rules cluster/ --peers all-to-all
  shunt spray rules --around 64`,
		RunE: func(c *cobra.Command, args []string) error {
			cluster, err := a.clusterOf(c.Context(), c, args, &r)
			if err != nil {
				return err
			}
			if err := r.Check(); err != nil {
				return &failure{exitUsage, err}
			}
			if c.Flags().Changed("around") {
				return a.sprayRulesAround(r, around, asJSON)
			}
			return a.sprayRules(r, cluster, asJSON)
		},
	}
	f := c.Flags()
	f.IntVar(&r.Hosts, "hosts", r.Hosts, "hosts of the cluster")
	f.IntVar(&r.NICs, "nics", r.NICs, "NICs of a host")
	choice(c, &r.Scope, r.Scope.Choices(), "scope", "scope", "whose queue pairs a switch has rules of")
	f.IntVar(&r.HostsPerLeaf, "hosts-per-leaf", r.HostsPerLeaf, "scope leaf: hosts below a leaf")
	f.IntVar(&r.Ports, "ports", r.Ports, "scope rail: NICs that a leaf has ports for (default: for all)")
	choice(c, &r.Peers, r.Peers.Choices(), "peers", "peers", "with whom a NIC has connections")
	f.IntVar(&r.QPs, "qps", r.QPs, "queue pairs of a connection (NCCL_IB_QPS_PER_CONNECTION, whose default is 1)")
	f.IntVar(&r.Channels, "channels", r.Channels, "connections to a peer")
	f.IntVar(&r.PerQP, "per-qp", r.PerQP, "rules of a queue pair")
	f.IntVar(&r.Limit, "limit", r.Limit, "rules that a switch holds")
	f.IntVar(&around, "around", 64, "list the assumptions under which the rules run out just past this number of hosts")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// sprayLimit is a limit and how far it goes.
type sprayLimit struct {
	Name     string         `json:"name"`
	Rules    int            `json:"rules"`
	Need     spray.RuleNeed `json:"need"`
	Fallback float64        `json:"fallback_share"`
	// Bites is the least number of hosts whose rules do not fit; 0: they fit whatever the number.
	Bites int `json:"bites_at_hosts"`
}

func (a *app) sprayRules(r spray.Rules, cluster sprayCluster, asJSON bool) error {
	limits := []sprayLimit{{Name: "default", Rules: spray.DefaultRuleLimit}, {Name: "partition for RoCE", Rules: spray.RoCEPartition}, {Name: "raised", Rules: spray.RaisedRuleLimit}}
	if !slices.ContainsFunc(limits, func(l sprayLimit) bool { return l.Rules == r.Limit }) {
		limits = append(limits, sprayLimit{Name: "as given", Rules: r.Limit})
	}
	need := r.Need()
	for i := range limits {
		l, with := &limits[i], r
		with.Limit = l.Rules
		l.Need = with.Need()
		l.Fallback = float64(l.Need.Share())
		l.Bites, _ = with.Bites()
	}
	tables := cluster.room(need)
	verdict := error(nil)
	if !need.Fits || !roomEverywhere(tables) {
		verdict = outcome(exitFindings)
	}
	if asJSON {
		if err := a.encode(struct {
			Cluster spray.Rules    `json:"cluster"`
			Need    spray.RuleNeed `json:"need"`
			Limits  []sprayLimit   `json:"limits"`
			Tables  []sprayTable   `json:"tables,omitempty"`
			Notes   []string       `json:"notes,omitempty"`
		}{r, need, limits, tables, cluster.notes}); err != nil {
			return err
		}
		return verdict
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s hosts of %s, peers %s, %s\n\n", count(uint64(r.Hosts)), nicsOf(r.NICs), r.Peers, scopeWords(&r))
	sums := table{head: []string{"", "", ""}, left: 1}
	sums.add("NICs whose queue pairs the switch has rules of", count(need.NICs), "")
	sums.add("peers of each", count(need.Peers), "")
	sums.add("queue pairs to a peer", count(uint64(r.QPs)*uint64(r.Channels)), "")
	sums.add("queue pairs", count(need.QPs), "")
	sums.add("rules", count(need.Rules), "")
	sums.add(fmt.Sprintf("memory at %d bytes a rule", spray.RuleBytes), size(int64(need.Memory)), "")
	_, text, _ := strings.Cut(sums.String(), "\n") // without its empty head
	b.WriteString(text + "\n")
	rows := table{head: []string{"limit", "rules", "fits", "fall back to ECMP", "share", "runs out at"}, left: 1}
	for _, l := range limits {
		fits, bites := "yes", "never"
		if !l.Need.Fits {
			fits = "no"
		}
		if l.Bites > 0 {
			bites = count(uint64(l.Bites)) + " hosts"
		}
		rows.add(l.Name, count(uint64(l.Rules)), fits, count(l.Need.Fallback)+" queue pairs", shareText(units.Fraction(l.Fallback)), bites)
	}
	b.WriteString(rows.String())
	if len(tables) > 0 {
		rows := table{head: []string{"switch", "access list", "in use", "free", "fits"}, left: 2}
		for _, t := range tables {
			fits := "yes"
			if !t.Fits {
				fits = "no"
			}
			rows.add(t.Switch, t.Table, count(uint64(max(t.Used, 0))), count(uint64(max(t.Available, 0))), fits)
		}
		b.WriteString("\n" + rows.String())
	}
	b.WriteString(a.noted(cluster.notes))
	b.WriteString(a.noted([]string{
		"The limits are article 000's (a default of 16384, spray-rule-limit 32768, 24576 set apart for RoCE); none is public. A limit that is raised moves the number of hosts, and does not take it away.",
		"What is over the limit falls back without a word. Adaptive routing, random paths and a table of buckets need no rule for a queue pair.",
	}))
	if err := a.say(b.String()); err != nil {
		return err
	}
	return verdict
}

func scopeWords(r *spray.Rules) string {
	switch r.Scope {
	case spray.ScopeRail:
		if r.Ports > 0 {
			return fmt.Sprintf("a leaf has one NIC of each host, and ports for %d", r.Ports)
		}
		return "a leaf has one NIC of each host"
	case spray.ScopeLeaf:
		return fmt.Sprintf("a leaf has %d hosts", r.HostsPerLeaf)
	}
	return "each switch has the rules of all"
}

// shareText prints a share with what digits it needs to be told from none.
func shareText(f units.Fraction) string {
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(100*float64(f), 'g', 3, 64) + " %"
}

func (a *app) sprayRulesAround(r spray.Rules, hosts int, asJSON bool) error {
	if hosts < 1 || hosts > 1<<20 {
		return fail(exitUsage, "--around %d is no number of hosts", hosts)
	}
	list := spray.RulesAround(r, hosts)
	if asJSON {
		if list == nil {
			list = []spray.Rules{}
		}
		return a.encode(list)
	}
	if len(list) == 0 {
		return a.say(fmt.Sprintf("with %s rules nothing runs out just past %d hosts of %s\n", count(uint64(r.Limit)), hosts, nicsOf(r.NICs)))
	}
	rows := table{head: []string{"rules of", "peers", "queue pairs to a peer", "runs out at", "rules there"}, left: 2}
	for i := range list {
		l := &list[i]
		rows.add(string(l.Scope), string(l.Peers), strconv.Itoa(l.QPs), count(uint64(l.Hosts))+" hosts", count(l.Need().Rules))
	}
	return a.say(fmt.Sprintf("%s rules run out past %d hosts of %s where\n\n", count(uint64(r.Limit)), hosts, nicsOf(r.NICs)) + rows.String() + a.noted([]string{
		"rail: a leaf has one NIC of each host. leaf: a leaf has " + strconv.Itoa(r.HostsPerLeaf) + " hosts. cluster: each switch has the rules of all queue pairs. Queue pairs to a peer are those of a connection (NCCL's default is 1), times channels.",
	}))
}
