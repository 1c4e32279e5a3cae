package fabric

// LeafSpine is a two-tier fabric: every leaf has Bundle links to every spine.
type LeafSpine struct {
	Leaves, HostsPerLeaf, Spines, Bundle int
	GPUsPerHost                          int // each GPU has a NIC of its own, all on the host's leaf
	Access, Trunk                        Wire
	NVLink                               NVLink
}

// Build makes the fabric. Hosts come first, then leaves, then spines; host i hangs off leaf i/HostsPerLeaf.
// A leaf's ports are its host links, then its uplinks spine by spine.
func (s LeafSpine) Build() *Fabric {
	return twoTier{
		rails: 1, planes: 1, groups: s.Leaves, hostsPerGroup: s.HostsPerLeaf, spines: s.Spines, bundle: s.Bundle,
		gpus: s.GPUsPerHost, access: s.Access, trunk: s.Trunk, nvlink: s.NVLink,
	}.build()
}
