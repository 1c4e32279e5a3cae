package fabric

// RailOptimised is a two-tier fabric in which GPU g of every host hangs off a leaf of rail g mod Rails, so that
// equal GPUs of the hosts of one group are one switch apart. Spines join all rails and groups. NCCL knows it as
// the layout that NCCL_CROSS_NIC=0 keeps to; between rails it goes over NVLink first (PXN) where it can.
type RailOptimised struct {
	Rails         int
	LeavesPerRail int // groups of hosts; each group has one leaf of every rail
	HostsPerLeaf  int // hosts of one group
	Spines        int
	Bundle        int
	GPUsPerHost   int
	Access, Trunk Wire
	NVLink        NVLink
}

// Build makes the fabric. Group i of hosts hangs off leaves i*Rails .. i*Rails+Rails-1, one a rail.
func (s RailOptimised) Build() *Fabric {
	return twoTier{
		rails: s.Rails, planes: 1, groups: s.LeavesPerRail, hostsPerGroup: s.HostsPerLeaf, spines: s.Spines, bundle: s.Bundle,
		gpus: s.GPUsPerHost, access: s.Access, trunk: s.Trunk, nvlink: s.NVLink,
	}.build()
}
