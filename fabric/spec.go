package fabric

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// Topology names a generator.
type Topology string

// Topologies.
const (
	TopologyLeafSpine     Topology = "leaf-spine"
	TopologyFatTree       Topology = "fat-tree"
	TopologyRailOptimised Topology = "rail-optimised"
	TopologyDualPlane     Topology = "dual-plane"
)

// Choices lists the topologies.
func (Topology) Choices() []string {
	return []string{string(TopologyLeafSpine), string(TopologyFatTree), string(TopologyRailOptimised), string(TopologyDualPlane)}
}

// Limits on a fabric; Build reports what is beyond them.
const (
	MaxHosts = 131_072   // the 10^5 GPUs that flow-level runs are made for, at one GPU a host
	MaxPorts = 2_097_152 // a full fat-tree of MaxHosts has 6 ports a host
)

// Spec is a fabric as people write it: pure data, the fabric: part of a scenario or a file of its own.
type Spec struct {
	_            struct{} `doc:"A network of hosts and switches."`
	Topology     Topology `yaml:"topology" required:"true" doc:"how the network is built"`
	Leaves       int      `yaml:"leaves" min:"1" max:"16384" doc:"leaf switches; with rails or planes: those of one rail in one plane"`
	HostsPerLeaf int      `yaml:"hosts_per_leaf" min:"1" max:"4096" doc:"hosts below a leaf; with rails: below each leaf of a group, one leaf a rail"`
	Spines       int      `yaml:"spines" min:"1" max:"4096" doc:"spine switches; with planes: of one plane; not needed under a single leaf"`
	Bundle       int      `yaml:"bundle" min:"1" max:"64" doc:"parallel links between a leaf and a spine (default 1)"`
	Rails        int      `yaml:"rails" min:"1" max:"64" doc:"rails; GPU g of a host hangs off rail g mod rails (default: one for each GPU in rail-optimised, 1 in dual-plane)"`

	K             int `yaml:"k" min:"2" max:"128" doc:"fat-tree of switches with k ports; stands for pods, leaves_per_pod, spines_per_pod, cores and hosts_per_leaf"`
	Pods          int `yaml:"pods" min:"1" max:"1024" doc:"pods of a fat-tree"`
	LeavesPerPod  int `yaml:"leaves_per_pod" min:"1" max:"1024" doc:"leaf switches of a pod"`
	SpinesPerPod  int `yaml:"spines_per_pod" min:"1" max:"1024" doc:"spine switches of a pod; each leaf has a link to each"`
	CoresPerSpine int `yaml:"cores_per_spine" min:"1" max:"1024" doc:"core switches above a spine; spine j of every pod reaches the same ones"`

	GPUsPerHost int    `yaml:"gpus_per_host" min:"1" max:"64" doc:"GPUs of a host, each with a NIC of its own (default 1)"`
	Link        Wire   `yaml:"link" required:"true" doc:"link from a NIC port to its leaf"`
	Trunk       Trunk  `yaml:"trunk" doc:"links between switches"`
	NVLink      NVLink `yaml:"nvlink" doc:"network inside a host; without it, GPUs of one host talk through their NICs"`

	Links []Override `yaml:"links" doc:"links that differ from the rest"`
}

// Trunk is a Wire whose unset parts are those of the host link.
type Trunk struct {
	Rate  units.Rate     `yaml:"rate" min:"1bps" example:"800Gbps" doc:"bit rate of one direction (default: as link)"`
	Delay units.Duration `yaml:"delay" min:"1ps" example:"500ns" doc:"propagation time, one way (default: as link)"`
}

// Build makes the fabric. Everything that is wrong is reported, each with the path of the field ("links[2].between")
// and what would be right; the fabric is nil when there was something. The fields' own types and bounds are
// expected to hold, as internal/spec makes sure.
func (s Spec) Build(report func(path, text string)) *Fabric {
	wrong := 0
	tell := func(path, format string, args ...any) {
		wrong++
		if report != nil {
			report(path, fmt.Sprintf(format, args...))
		}
	}
	s.defaults()
	s.checkFields(tell)
	if wrong > 0 {
		return nil
	}
	s.checkSize(tell)
	if wrong > 0 {
		return nil
	}
	f := s.generate()
	f.override(s.Links, tell)
	if wrong > 0 {
		return nil
	}
	return f
}

// defaults fills in what may be left out. A default that depends on the topology is set for that topology alone, so
// that checkFields still sees a field that was given out of place.
func (s *Spec) defaults() {
	setDefault(&s.GPUsPerHost, 1)
	if s.Trunk.Rate == 0 {
		s.Trunk.Rate = s.Link.Rate
	}
	if s.Trunk.Delay == 0 {
		s.Trunk.Delay = s.Link.Delay
	}
	switch s.Topology {
	case TopologyLeafSpine:
		setDefault(&s.Bundle, 1)
	case TopologyRailOptimised:
		setDefault(&s.Bundle, 1)
		setDefault(&s.Rails, s.GPUsPerHost)
	case TopologyDualPlane:
		setDefault(&s.Bundle, 1)
		setDefault(&s.Rails, 1)
	}
}

func setDefault(v *int, d int) {
	if *v == 0 {
		*v = d
	}
}

// sizes lists the fields that only some topologies use: one table for what is missing, out of place and said twice.
func (s *Spec) sizes() []size {
	clos := []Topology{TopologyLeafSpine, TopologyRailOptimised, TopologyDualPlane}
	tree := []Topology{TopologyFatTree}
	return []size{
		{"leaves", s.Leaves, clos, true}, {"hosts_per_leaf", s.HostsPerLeaf, append(tree, clos...), true}, {"spines", s.Spines, clos, s.Leaves*max(s.Rails, 1) > 1},
		{"bundle", s.Bundle, clos, false}, {"rails", s.Rails, clos[1:], false}, {"k", s.K, tree, false}, {"pods", s.Pods, tree, true},
		{"leaves_per_pod", s.LeavesPerPod, tree, true}, {"spines_per_pod", s.SpinesPerPod, tree, true}, {"cores_per_spine", s.CoresPerSpine, tree, true},
	}
}

type size struct {
	name   string
	value  int        // 0: not given
	of     []Topology // that use it
	needed bool       // by them, and without a default
}

func (z size) appliesTo(t Topology) bool {
	for _, o := range z.of {
		if o == t {
			return true
		}
	}
	return false
}

// tell reports a problem of the field at path.
type tell func(path, format string, args ...any)

// checkFields reports fields that are missing, out of place or at odds with each other.
func (s *Spec) checkFields(tell tell) {
	if s.Topology == "" {
		tell("topology", "no topology; write one of %s", strings.Join(s.Topology.Choices(), ", "))
		return
	}
	byK := s.Topology == TopologyFatTree && s.K != 0
	for _, z := range s.sizes() {
		stands := byK && z.name != "k" && z.appliesTo(TopologyFatTree)
		switch {
		case z.value < 0:
			tell(z.name, "%s is %d; write 1 or more", z.name, z.value)
		case z.value != 0 && !z.appliesTo(s.Topology):
			tell(z.name, "%s does not apply to a %s network; remove it", z.name, s.Topology)
		case z.value != 0 && stands:
			tell(z.name, "k: %d says %s already; remove one of the two", s.K, z.name)
		case z.value == 0 && z.needed && z.appliesTo(s.Topology) && !stands:
			if s.Topology == TopologyFatTree {
				tell("", "a fat-tree network needs %s; add it, or k instead of all sizes", z.name)
			} else {
				tell("", "a %s network needs %s; add %s: 4 or what it has", s.Topology, z.name, z.name)
			}
		}
	}
	if byK && s.K%2 != 0 {
		tell("k", "k is %d; write an even number, half of the ports lead up", s.K)
	} else if byK && s.K/2%s.GPUsPerHost != 0 {
		tell("gpus_per_host", "%d GPUs a host do not divide the %d host ports of a leaf (k/2); write a divisor", s.GPUsPerHost, s.K/2)
	}
	if s.Rails > s.GPUsPerHost {
		tell("rails", "%d rails but %d GPUs a host leave rails empty; write %d or fewer", s.Rails, s.GPUsPerHost, s.GPUsPerHost)
	}
	if s.Link.Rate <= 0 {
		tell("link", "link has no rate; add rate: 400Gbps or what it runs at")
	}
	if s.NVLink.Latency != 0 && s.NVLink.Rate == 0 {
		tell("nvlink", "nvlink has a latency but no rate; add rate: 3.6Tbps or what one GPU has in one direction")
	}
}

// checkSize reports a fabric beyond the limits before any of it is built.
func (s *Spec) checkSize(tell tell) {
	hosts, ports := s.tree().count()
	if s.Topology != TopologyFatTree {
		hosts, ports = s.clos().count()
	}
	if hosts > MaxHosts {
		tell("", "the network has %d hosts; at most %d can be built", hosts, MaxHosts)
	} else if ports > MaxPorts {
		tell("", "the network has %d ports; at most %d can be built", ports, MaxPorts)
	}
}

// count is how many hosts and ports build would make, in numbers wide enough for the largest sizes a Spec allows:
// 2 planes x 64 rails x 16384 leaves x 4096 spines x 64 links are 2^39.
func (s twoTier) count() (hosts, ports int64) {
	leaves := int64(s.planes) * int64(s.groups) * int64(s.rails)
	hosts = int64(s.groups) * int64(s.hostsPerGroup)
	return hosts, 2 * (hosts*int64(s.gpus)*int64(s.planes) + leaves*int64(s.spines)*int64(s.bundle))
}

// count is how many hosts and ports Build would make.
func (s FatTree) count() (hosts, ports int64) {
	pods := int64(s.Pods)
	hosts = pods * int64(s.LeavesPerPod) * int64(s.HostsPerLeaf)
	return hosts, 2 * (hosts*int64(s.GPUsPerHost) + pods*int64(s.SpinesPerPod)*int64(s.LeavesPerPod+s.CoresPerSpine))
}

func (s *Spec) generate() *Fabric {
	if s.Topology == TopologyFatTree {
		return s.tree().Build()
	}
	return s.clos().build()
}

func (s *Spec) trunk() Wire { return Wire{Rate: s.Trunk.Rate, Delay: s.Trunk.Delay} }

// clos is the two-tier network that s describes.
func (s *Spec) clos() twoTier {
	t := twoTier{
		rails: max(s.Rails, 1), planes: 1, groups: s.Leaves, hostsPerGroup: s.HostsPerLeaf, spines: s.Spines, bundle: s.Bundle,
		gpus: s.GPUsPerHost, access: s.Link, trunk: s.trunk(), nvlink: s.NVLink,
	}
	if s.Topology == TopologyDualPlane {
		t.planes = 2
	}
	return t
}

// tree is the fat-tree that s describes.
func (s *Spec) tree() FatTree {
	t := FatTree{
		Pods: s.Pods, LeavesPerPod: s.LeavesPerPod, SpinesPerPod: s.SpinesPerPod, CoresPerSpine: s.CoresPerSpine,
		HostsPerLeaf: s.HostsPerLeaf, GPUsPerHost: s.GPUsPerHost,
	}
	if s.K != 0 {
		t = KAry(s.K, s.GPUsPerHost)
	}
	t.Access, t.Trunk, t.NVLink = s.Link, s.trunk(), s.NVLink
	return t
}
