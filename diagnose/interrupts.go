package diagnose

import (
	"slices"

	"github.com/shunt-network/shunt/evidence"
)

// deviceIRQs is the interrupts of one device of a host.
type deviceIRQs struct {
	host  *evidence.Host
	name  string // interface or RDMA device where it is known, else the address
	irqs  []evidence.IRQ
	total uint64
	byCPU map[int]uint64
	node  int // NUMA node of the device, -1 where not known
	from  evidence.Source
}

func (d deviceIRQs) String() string { return object(d.host.Name, d.name) }

// busiest is the processor that took most of the device's interrupts, and its share of them.
func (d deviceIRQs) busiest() (cpu int, share float64) {
	cpu = -1
	for c, n := range d.byCPU {
		if cpu < 0 || n > d.byCPU[cpu] || n == d.byCPU[cpu] && c < cpu {
			cpu = c
		}
	}
	if cpu < 0 || d.total == 0 {
		return -1, 0
	}
	return cpu, float64(d.byCPU[cpu]) / float64(d.total)
}

// deviceInterrupts groups the interrupts of a host by network device, in order of appearance.
func deviceInterrupts(h *evidence.Host) []deviceIRQs {
	var all []deviceIRQs
	for _, q := range h.IRQs {
		name, node := deviceOfIRQ(h, q.Device)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(all, func(d deviceIRQs) bool { return d.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, deviceIRQs{host: h, name: name, byCPU: map[int]uint64{}, node: node, from: q.From})
		}
		all[i].irqs = append(all[i].irqs, q)
		all[i].total += q.Total
		for _, c := range q.PerCPU {
			all[i].byCPU[c.CPU] += c.Count
		}
	}
	return all
}

// deviceOfIRQ finds the network device an interrupt is of, by address or by name, and its NUMA node; "" for others.
func deviceOfIRQ(h *evidence.Host, device string) (name string, node int) {
	if device == "" {
		return "", -1
	}
	at := evidence.PCIAddress(device)
	node = -1
	take := func(n evidence.Value[int]) {
		if v, ok := n.Get(); ok && node < 0 {
			node = v
		}
	}
	for _, n := range h.NICs {
		if n.Device == device || n.Netdev.Or("") == device || at != "" && evidence.PCIAddress(n.PCI.Or("")) == at {
			name = n.Device
			take(n.NUMANode)
		}
	}
	for _, d := range h.Netdevs {
		if d.Name == device || at != "" && evidence.PCIAddress(d.PCI.Or("")) == at {
			if name == "" {
				name = d.Name
			}
			take(d.NUMANode)
		}
	}
	for _, p := range h.PCI {
		if at != "" && evidence.PCIAddress(p.Address) == at {
			if name == "" {
				name = p.Address
			}
			take(p.NUMANode)
		}
	}
	return name, node
}
