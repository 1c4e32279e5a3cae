package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/scenario"
	"github.com/shunt-network/shunt/spray"
)

// sprayTable is a table of a switch of this cluster, and whether the rules find room in what is free of it.
type sprayTable struct {
	Switch    string `json:"switch"`
	Table     string `json:"table"`
	Used      int64  `json:"used"`
	Available int64  `json:"available"`
	Fits      bool   `json:"fits"`
	From      string `json:"from"`
}

// sprayCluster is what paths tell of a cluster.
type sprayCluster struct {
	notes  []string
	tables []evidence.HardwareTable
	owners []string // of the tables
}

// clusterOf fills in what the paths tell and no flag says otherwise: hosts and NICs, queue pairs of a connection, and the switches' tables.
func (a *app) clusterOf(ctx context.Context, c *cobra.Command, paths []string, r *spray.Rules) (sprayCluster, error) {
	if len(paths) == 0 {
		return sprayCluster{}, nil
	}
	if err := reachable(paths); err != nil {
		return sprayCluster{}, err
	}
	unset := func(name string) bool { return !c.Flags().Changed(name) }
	file, is, err := scenarioAmong(paths)
	if err != nil {
		return sprayCluster{}, err
	}
	if is {
		return scenarioCluster(file, unset, r)
	}
	inv, err := a.inventory(ctx, paths)
	if err != nil {
		return sprayCluster{}, err
	}
	return filesCluster(inv, unset, r)
}

// scenarioCluster takes the cluster of a scenario.
func scenarioCluster(file string, unset func(string) bool, r *spray.Rules) (sprayCluster, error) {
	s, err := scenario.Load(file)
	if err != nil {
		return sprayCluster{}, failed(err)
	}
	f, _, config, err := s.Prepare()
	if err != nil {
		return sprayCluster{}, failed(err)
	}
	if unset("hosts") {
		r.Hosts = len(f.Hosts())
	}
	if unset("nics") {
		r.NICs = max(1, len(f.Endpoints)/max(1, len(f.Hosts())))
	}
	if unset("qps") && config.NIC.QPs > 0 {
		r.QPs = config.NIC.QPs
	}
	notes := []string{"Hosts, NICs, queue pairs of a connection, what is below a leaf and the limit are those of " + file + ", where no flag says otherwise."}
	if hosts, whole := belowLeaf(f); whole && unset("scope") {
		r.Scope = spray.ScopeLeaf
		if unset("hosts-per-leaf") {
			r.HostsPerLeaf = hosts
		}
		notes = append(notes, "Queue pairs between hosts below one leaf are among them. The simulator's switches take rules only where they have a choice of paths, and need fewer.")
	}
	rules := config.PathParams.Buckets.Rules
	if unset("limit") && rules.Limit > 0 {
		r.Limit = rules.Limit
	}
	if unset("per-qp") && rules.PerQP > 0 {
		r.PerQP = rules.PerQP
	}
	return sprayCluster{notes: notes}, nil
}

// belowLeaf is the most hosts that a leaf has, and whether every host has all its NICs below one leaf.
func belowLeaf(f *fabric.Fabric) (hosts int, whole bool) {
	leafOf := map[fabric.NodeID]fabric.NodeID{}
	count := map[fabric.NodeID]int{}
	for _, ep := range f.Endpoints {
		host, leaf := f.Ports[ep].Node, f.Ports[f.Ports[ep].Peer].Node
		switch at, seen := leafOf[host]; {
		case !seen:
			leafOf[host] = leaf
			count[leaf]++
			hosts = max(hosts, count[leaf])
		case at != leaf:
			return 0, false
		}
	}
	return hosts, hosts > 0
}

// filesCluster takes the cluster of files of hosts and switches.
func filesCluster(inv *evidence.Inventory, unset func(string) bool, r *spray.Rules) (sprayCluster, error) {
	var result sprayCluster
	hosts, most := 0, 0
	for _, h := range inv.Hosts {
		n := 0
		for _, nic := range h.NICs {
			if !nic.LinkLayer.Is(func(l string) bool { return l == "InfiniBand" }) {
				n++
			}
		}
		if n > 0 {
			hosts, most = hosts+1, max(most, n)
		}
	}
	switch {
	case hosts == 0 && (unset("hosts") || unset("nics")):
		return result, fail(exitUndecided, "no RDMA NIC with Ethernet is known of any host: give --hosts and --nics")
	case hosts > 0:
		if unset("hosts") {
			r.Hosts = hosts
		}
		if unset("nics") {
			r.NICs = most
		}
		result.notes = append(result.notes, fmt.Sprintf("The files tell of %d hosts with Ethernet NICs, at most %d of them in one. Hosts whose files are missing are not counted; --hosts counts them.", hosts, most))
	}
	if v, ok := inv.NCCL.Lookup("NCCL_IB_QPS_PER_CONNECTION"); ok && unset("qps") {
		if n, err := strconv.Atoi(v.Value); err == nil && n > 0 {
			r.QPs = n
			result.notes = append(result.notes, fmt.Sprintf("Queue pairs of a connection: NCCL_IB_QPS_PER_CONNECTION=%d (%s).", n, v.From))
		}
	}
	for _, s := range inv.Switches {
		for _, t := range s.Hardware {
			if t.Name == "acl_entry" { // rules by queue pair are entries of an access list
				result.tables, result.owners = append(result.tables, t), append(result.owners, s.Name)
			}
		}
	}
	return result, nil
}

// room tells for each table whether the rules find room in it; a table whose figures are missing is left out.
func (c *sprayCluster) room(need spray.RuleNeed) (list []sprayTable) {
	for i, t := range c.tables {
		used, ok1 := t.Used.Get()
		free, ok2 := t.Available.Get()
		if ok1 && ok2 {
			list = append(list, sprayTable{c.owners[i], t.Table, used, free, free >= 0 && uint64(free) >= need.Rules, t.From.String()})
		}
	}
	return list
}

// roomEverywhere tells whether each switch has an access list that takes the rules: a switch has others too, of which they need none.
func roomEverywhere(tables []sprayTable) bool {
	for _, t := range tables {
		if !slices.ContainsFunc(tables, func(o sprayTable) bool { return o.Switch == t.Switch && o.Fits }) {
			return false
		}
	}
	return true
}
