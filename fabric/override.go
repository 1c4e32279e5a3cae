package fabric

import (
	"fmt"

	"github.com/shunt-network/shunt/units"
)

// Override says how links differ from the rest. A lower Rate leaves the nominal rate as it is: the link was built
// for more, as one that trained down.
type Override struct {
	Between [2]string       `yaml:"between" required:"true" example:"[leaf0, spine1]" doc:"the two nodes the link joins"`
	Index   *int            `yaml:"index" min:"0" doc:"which of several links between the two, from 0 in port order (default: all of them)"`
	From    string          `yaml:"from" doc:"only the direction that leaves this node (default: both)"`
	Rate    units.Rate      `yaml:"rate" min:"1bps" example:"100Gbps" doc:"bit rate it runs at"`
	Delay   *units.Duration `yaml:"delay" min:"1ps" example:"5us" doc:"propagation time, one way"`
	BER     float64         `yaml:"ber" min:"0" max:"1" doc:"probability that a bit arrives wrong"`
}

// override changes the links of a fabric that was just built.
func (f *Fabric) override(list []Override, tell tell) {
	if len(list) == 0 {
		return
	}
	byName := make(map[string]NodeID, len(f.Nodes))
	for i := range f.Nodes {
		byName[f.Nodes[i].Name] = NodeID(i)
	}
	for i := range list {
		o, at := &list[i], fmt.Sprintf("links[%d]", i)
		if o.Rate == 0 && o.Delay == nil && o.BER == 0 {
			tell(at, "the override changes nothing; add rate, delay or ber")
		}
		ids, known := [2]NodeID{}, true
		for j, name := range o.Between {
			id, ok := byName[name]
			if !ok {
				tell(fmt.Sprintf("%s.between[%d]", at, j), "no node is called %q; %s", name, f.nodesCalled())
			}
			ids[j], known = id, known && ok
		}
		if o.From != "" && o.From != o.Between[0] && o.From != o.Between[1] {
			tell(at+".from", "%q is not an end of the link; write %s or %s", o.From, o.Between[0], o.Between[1])
			continue
		}
		if known {
			f.overrideOne(o, ids, at, tell)
		}
	}
}

// overrideOne changes the links of one override, whose ends exist.
func (f *Fabric) overrideOne(o *Override, ends [2]NodeID, at string, tell tell) {
	ports := f.Between(ends[0], ends[1])
	if len(ports) == 0 {
		tell(at+".between", "no link joins %s and %s; %s is linked to %s", o.Between[0], o.Between[1], o.Between[0], f.neighbours(ends[0]))
		return
	}
	if o.Index != nil {
		if *o.Index >= len(ports) {
			tell(at+".index", "%s and %s have %d links; write 0 to %d", o.Between[0], o.Between[1], len(ports), len(ports)-1)
			return
		}
		ports = ports[*o.Index : *o.Index+1]
	}
	for _, p := range ports {
		for _, q := range [2]PortID{p, f.Ports[p].Peer} {
			if o.From != "" && f.Node(q).Name != o.From {
				continue
			}
			port := &f.Ports[q]
			if o.Rate > port.Nominal { // (F4)
				tell(at+".rate", "%s is more than the link was built for; write %s or less", o.Rate, port.Nominal)
				return
			}
			if o.Rate != 0 {
				port.Rate = o.Rate
			}
			if o.Delay != nil {
				port.Delay = *o.Delay
			}
			if o.BER != 0 {
				port.BER = o.BER
			}
		}
	}
}

// nodesCalled says which names there are: "names go from host0 to host15, leaf0 to leaf3, spine0 to spine3".
func (f *Fabric) nodesCalled() string {
	text := "names go from"
	for i := range f.Nodes {
		first := i == 0 || f.Nodes[i-1].Role != f.Nodes[i].Role
		last := i == len(f.Nodes)-1 || f.Nodes[i+1].Role != f.Nodes[i].Role
		if first {
			if i > 0 {
				text += ","
			}
			text += " " + f.Nodes[i].Name
		}
		if last && !first {
			text += " to " + f.Nodes[i].Name
		}
	}
	return text
}

// neighbours lists a few nodes that n is linked to.
func (f *Fabric) neighbours(n NodeID) string {
	const shown = 4 // enough to see the pattern of the names
	text, count := "", 0
	last := NodeID(len(f.Nodes))
	for i := range f.Nodes[n].NumPorts {
		peer := f.Ports[f.Ports[f.Nodes[n].FirstPort+PortID(i)].Peer].Node
		if peer == last {
			continue
		}
		last = peer
		if count++; count > shown {
			return text + " and others"
		}
		if text != "" {
			text += ", "
		}
		text += f.Nodes[peer].Name
	}
	if text == "" {
		return "nothing"
	}
	return text
}
