package simtap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/workload"
)

// Inventory tells what the run was configured as, what the job measured and which flows a sampling switch would have
// seen, as configuration files, the collective library and sFlow tell of a real one. c must be the effective
// configuration (netsim.Defaults).
func Inventory(f *fabric.Fabric, plan *workload.Plan, c netsim.Config, ops []netsim.OpTime) *evidence.Inventory {
	from := source(c)
	inv := &evidence.Inventory{Simulated: true}
	hardware(inv, f, c, from)
	settings(inv, f, plan, c, from)
	measured(inv, plan, ops, from)
	flows(inv, f, plan, ops, from)
	return inv
}

// source names the run.
func source(c netsim.Config) evidence.Source {
	return evidence.Source{Run: fmt.Sprintf("simulated, seed %d", c.Seed)}
}

// hardware fills in hosts, NICs, switches and who is cabled to whom.
func hardware(inv *evidence.Inventory, f *fabric.Fabric, c netsim.Config, from evidence.Source) {
	for id := range f.Nodes {
		n := &f.Nodes[id]
		if n.Role == fabric.Host {
			h := inv.Host(n.Name)
			for i := range n.NumPorts {
				p := &f.Ports[n.FirstPort+fabric.PortID(i)]
				nic := h.NIC(p.Name, 1)
				nic.LinkLayer = evidence.Known("Ethernet", from)
				nic.Nominal = evidence.Known(p.Nominal, from)
				nic.ActiveMTU = evidence.Known(int(c.NIC.MTU), from)
				nic.MaxMTU = evidence.Known(4096, from)
				nic.Switch = f.PortName(p.Peer)
			}
			continue
		}
		s := &evidence.Switch{Name: n.Name, Tier: n.Role.String()}
		for i := range n.NumPorts {
			p := &f.Ports[n.FirstPort+fabric.PortID(i)]
			s.Ports = append(s.Ports, evidence.SwitchPort{Name: p.Name, Peer: f.PortName(p.Peer), Uplink: p.Uplink, Nominal: evidence.Known(p.Nominal, from)})
		}
		inv.Switches = append(inv.Switches, s)
	}
}

// settings lists what can be set, under the names all planes share.
func settings(inv *evidence.Inventory, f *fabric.Fabric, plan *workload.Plan, c netsim.Config, from evidence.Source) {
	set := func(name, value string) {
		inv.Settings = append(inv.Settings, evidence.Setting{Name: name, Value: value, From: from})
	}
	set("switch.path_choice", string(c.Path))
	set("switch.ecn.off", strconv.FormatBool(c.Switch.ECN.Off))
	if !c.Switch.ECN.Off {
		// The curve scales with the port; the one shown is that of the ports to the NICs.
		e := netsim.ECNFor(c.Switch.ECN, f.Ports[f.Ports[f.Endpoints[0]].Peer].Nominal)
		set("switch.ecn.kmin", e.KMin.String())
		set("switch.ecn.kmax", e.KMax.String())
		set("switch.ecn.pmax", e.PMax.String())
	}
	set("nic.control", string(c.NIC.Control))
	set("nic.qps", strconv.Itoa(c.NIC.QPs))
	set("nic.transport", string(c.NIC.Transport))
	for _, op := range plan.Ops {
		if op.Kind == workload.Send && !op.Background {
			set("roce.priority", strconv.Itoa(int(op.Priority)))
			break
		}
	}
	if c.Switch.XOFF > 0 {
		set("switch.xoff", c.Switch.XOFF.String())
	}
	set("switch.alpha", strconv.FormatFloat(c.Switch.Alpha, 'g', -1, 64))
	sortSettings(inv)
}

func sortSettings(inv *evidence.Inventory) {
	slices.SortStableFunc(inv.Settings, func(a, b evidence.Setting) int { return cmp.Compare(a.Name, b.Name) })
}

// flows adds up who sent to whom, in which application and priority. Sampling at 1:N estimates bytes; the tap gives
// the sums, as an sFlow collector with enough samples would. The name of background traffic stands for the UDP or TCP
// port by which a collector knows the application.
func flows(inv *evidence.Inventory, f *fabric.Fabric, plan *workload.Plan, ops []netsim.OpTime, from evidence.Source) {
	type pair struct {
		src, dst fabric.NodeID
		app      string
		priority uint8
	}
	index := map[pair]int{}
	for i, op := range plan.Ops {
		if op.Kind != workload.Send || ops[i].End.Before(ops[i].Start) && !op.Background {
			continue
		}
		k := pair{f.GPUs[op.Src].Host, f.GPUs[op.Dst].Host, evidence.RoCE, op.Priority}
		if k.src == k.dst {
			continue
		}
		if op.Background {
			k.app = plan.Spans[op.Span].Name
		}
		j, ok := index[k]
		if !ok {
			j = len(inv.Flows)
			index[k] = j
			inv.Flows = append(inv.Flows, evidence.Flow{Src: f.Nodes[k.src].Name, Dst: f.Nodes[k.dst].Name, Application: k.app, Priority: int8(k.priority),
				Start: ops[i].Start, End: ops[i].End, Timed: true, From: from})
		}
		fl := &inv.Flows[j]
		fl.Bytes += op.Bytes
		if ops[i].Start.Before(fl.Start) {
			fl.Start = ops[i].Start
		}
		if ops[i].End.After(fl.End) {
			fl.End = ops[i].End
		}
	}
}
