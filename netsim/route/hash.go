package route

// Mix64 is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): it turns numbers that differ in any bit
// into numbers that differ in half of them.
func Mix64(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// SourcePort is the UDP source port of a RoCEv2 QP: the Linux kernel derives a 20-bit flow label from the two QP numbers
// (rdma_calc_flow_label) and folds it into the dynamic port range (rdma_flow_label_to_udp_sport, both include/rdma/ib_verbs.h).
// It is the same in both directions. Adapters may choose otherwise.
func SourcePort(localQPN, remoteQPN uint32) uint16 {
	v := uint64(localQPN) * uint64(remoteQPN)
	v ^= v >> 20
	v ^= v >> 40
	label := uint32(v & 0xfffff)
	return uint16(label&0x3fff^label>>14) | 0xc000
}

// FlowHash folds what a switch hashes of a packet into 32 bits: addresses, UDP source port and, when the switch looks
// at it, the destination QPN (else 0). Protocol and destination port (UDP, 4791) are the same for all.
func FlowHash(src, dst uint32, sport uint16, destQPN uint32) uint32 {
	h := Mix64(uint64(src)<<32 | uint64(dst))
	return uint32(Mix64(h^uint64(sport)<<32^uint64(destQPN)) >> 32)
}

// WithEntropy is the hash of a flow whose packets carry entropy value ev instead of a source port of their own. The mixing is left to Pick.
func WithEntropy(flow uint32, ev EV) uint32 { return flow + uint32(ev)*0x9e3779b1 }

// Pick chooses one of n for a flow at a switch. Switches have different salts, because with the same function and seed
// in two tiers the second sees only flows that the first sent its way, and part of its ports stays idle (polarisation).
func Pick(flow, salt, n uint32) uint32 {
	x := flow ^ salt // 32-bit finaliser of MurmurHash3 (Appleby, public domain)
	x ^= x >> 16
	x *= 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	x ^= x >> 16
	return uint32(uint64(x) * uint64(n) >> 32)
}
