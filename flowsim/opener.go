package flowsim

import "github.com/shunt-network/shunt/fabric"

// Opener hands out what tells the QPs of a run apart, as both simulators do, to those who look at the paths of a job without running it.
type Opener struct{ id identities }

// NewOpener begins with the first QP of every adapter.
func NewOpener(f *fabric.Fabric, seed uint64) *Opener { return &Opener{newIdentities(f, seed)} }

// Address is what switches hash as the address of an endpoint.
func (o *Opener) Address(ep uint32) uint32 { return o.id.addr[ep] }

// NextQPN is the number of the next QP of an endpoint's adapter.
func (o *Opener) NextQPN(ep uint32) uint32 { return o.id.nextQPN(ep) }

// Salts are the salts of the switches by node, 0 for hosts.
func (o *Opener) Salts() []uint32 { return o.id.salt }
