package fabric

// DualPlane is two independent two-tier fabrics under the same hosts: every GPU has a NIC port in each, so that a
// failed leaf costs half the bandwidth and no connection. No path leads from one plane to the other but through
// a host. Rails may split the leaves of each plane as in RailOptimised. (The scheme of Alibaba HPN, SIGCOMM 2024.)
type DualPlane struct {
	Rails         int // 1: the GPUs of a host share their leaf
	LeavesPerRail int // of each plane
	HostsPerLeaf  int
	Spines        int // of each plane
	Bundle        int
	GPUsPerHost   int
	Access, Trunk Wire // Access is one port; a GPU has two
	NVLink        NVLink
}

// Build makes the fabric. The first half of the leaves and of the spines is plane 0; GPU.NICs[p] lies in plane p.
func (s DualPlane) Build() *Fabric {
	return twoTier{
		rails: s.Rails, planes: 2, groups: s.LeavesPerRail, hostsPerGroup: s.HostsPerLeaf, spines: s.Spines, bundle: s.Bundle,
		gpus: s.GPUsPerHost, access: s.Access, trunk: s.Trunk, nvlink: s.NVLink,
	}.build()
}
