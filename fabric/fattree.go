package fabric

import "fmt"

// FatTree is a three-tier folded Clos network: pods of leaves and spines, every leaf linked to every spine of its
// pod, and cores that join the pods. Spine j of every pod reaches the same cores, those of group j, so that a
// path is fixed by the spine and the core it climbs to (Al-Fares et al., SIGCOMM 2008).
type FatTree struct {
	Pods, LeavesPerPod, SpinesPerPod int
	CoresPerSpine                    int // cores that each spine is linked to; there are SpinesPerPod times as many
	HostsPerLeaf                     int
	GPUsPerHost                      int // each GPU has a NIC of its own, all on the host's leaf
	Access, Trunk                    Wire
	NVLink                           NVLink
}

// KAry is the fat-tree of switches with k ports each, k even: k pods of k/2 leaves and k/2 spines, k/2 NICs a leaf,
// k*k/4 cores. GPUsPerHost must divide k/2.
func KAry(k, gpusPerHost int) FatTree {
	return FatTree{
		Pods: k, LeavesPerPod: k / 2, SpinesPerPod: k / 2, CoresPerSpine: k / 2,
		HostsPerLeaf: k / 2 / gpusPerHost, GPUsPerHost: gpusPerHost,
	}
}

// Build makes the fabric. Nodes are hosts, leaves and spines pod by pod, then cores. A leaf's ports are its host links, then
// its uplinks; a spine's are its leaves, then its cores.
func (s FatTree) Build() *Fabric {
	b := &builder{}
	hostsPerPod := s.LeavesPerPod * s.HostsPerLeaf
	hosts := make([]NodeID, s.Pods*hostsPerPod)
	for i := range hosts {
		hosts[i] = b.node(Node{Name: fmt.Sprintf("host%d", i), Role: Host, Pod: i / hostsPerPod, Rail: -1})
	}
	leaves := make([]NodeID, s.Pods*s.LeavesPerPod)
	for i := range leaves {
		leaves[i] = b.node(Node{Name: fmt.Sprintf("leaf%d", i), Role: Leaf, Pod: i / s.LeavesPerPod, Rail: -1})
	}
	spines := make([]NodeID, s.Pods*s.SpinesPerPod)
	for i := range spines {
		spines[i] = b.node(Node{Name: fmt.Sprintf("spine%d", i), Role: Spine, Pod: i / s.SpinesPerPod, Rail: -1})
	}
	cores := make([]NodeID, s.SpinesPerPod*s.CoresPerSpine)
	for i := range cores {
		cores[i] = b.node(Node{Name: fmt.Sprintf("core%d", i), Role: Core, Rail: -1})
	}
	for i, h := range hosts {
		for g := range s.GPUsPerHost {
			slot, _ := b.connect(h, leaves[i/s.HostsPerLeaf], s.Access)
			b.addGPU(h, g, slot)
		}
	}
	for i, l := range leaves {
		pod := i / s.LeavesPerPod
		for _, sp := range spines[pod*s.SpinesPerPod : (pod+1)*s.SpinesPerPod] {
			b.connect(l, sp, s.Trunk)
		}
	}
	for i, sp := range spines {
		group := i % s.SpinesPerPod
		for _, c := range cores[group*s.CoresPerSpine : (group+1)*s.CoresPerSpine] {
			b.connect(sp, c, s.Trunk)
		}
	}
	return b.build(s.NVLink, 1)
}
