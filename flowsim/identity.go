package flowsim

import (
	"math/rand/v2"

	"github.com/shunt-network/shunt/fabric"
)

// What tells adapters and switches apart is what netsim gives them, so that equal seeds hash flows onto equal paths
// (TestPathsAreThoseOfPackets): the address of a NIC port is a hash of its name, its QP numbers begin at the first number of
// its stream, and the salt of a switch is a hash of its name and the seed.

// FNV-1a, 64 bits (Fowler, Noll, Vo).
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// fnvAt is the hash of the name of a port, "host3/mlx5_0", without making the string.
func fnvAt(f *fabric.Fabric, p fabric.PortID) uint64 {
	return fnv(fnv(fnv(fnvOffset, f.Node(p).Name), "/"), f.Ports[p].Name)
}

// identities are the addresses and first QP numbers of endpoints and the salts of switches.
type identities struct {
	addr, qpn []uint32 // by endpoint
	salt      []uint32 // by node, 0 for hosts
}

func newIdentities(f *fabric.Fabric, seed uint64) identities {
	d := identities{addr: make([]uint32, len(f.Endpoints)), qpn: make([]uint32, len(f.Endpoints)), salt: make([]uint32, len(f.Nodes))}
	for ep, p := range f.Endpoints {
		name := fnvAt(f, p)
		d.addr[ep] = uint32(name)
		var pcg rand.PCG
		pcg.Seed(seed, name)
		d.qpn[ep] = uint32(pcg.Uint64()>>32) & 0xffffff
	}
	for i := range f.Nodes {
		if f.Nodes[i].Role != fabric.Host {
			d.salt[i] = uint32(fnv(fnv(fnvOffset, f.Nodes[i].Name)^seed*fnvPrime, "salt") >> 32)
		}
	}
	return d
}

// nextQPN hands out the QP numbers of an adapter one after the other.
func (d *identities) nextQPN(ep uint32) uint32 {
	d.qpn[ep] = (d.qpn[ep] + 1) & 0xffffff
	return d.qpn[ep]
}
