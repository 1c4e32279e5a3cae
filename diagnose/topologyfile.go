package diagnose

import (
	"fmt"

	"github.com/shunt-network/shunt/evidence"
)

// NCCL's topology file (NCCL_TOPO_DUMP_FILE), as causes ask for it.

// gdrByTopology judges GPU Direct RDMA by the topology file where no log tells: gdr="0" on a <net> says that NCCL
// found no way for the NIC to reach GPU memory when it wrote the file (src/graph/topo.cc, ncclTopoAddNet).
func (v *View) gdrByTopology() (Verdict, bool) {
	var off, known []evidence.TopoNIC
	for _, n := range v.Inv.Topology {
		gdr, ok := n.GDR.Get()
		if !ok {
			continue
		}
		known = append(known, n)
		if !gdr {
			off = append(off, n)
		}
	}
	switch {
	case len(known) == 0:
		return Verdict{}, false
	case len(off) == 0:
		return ruledOut("the topology file says that all NICs can reach GPU memory (gdr=1)"), true
	}
	f := gdrFinding()
	f.Title = fmt.Sprintf("NCCL's topology file says that %s cannot reach GPU memory (gdr=0)", object(off[0].Host, off[0].Name))
	if len(off) > 1 {
		f.Title = fmt.Sprintf("NCCL's topology file says that %d of %d NICs cannot reach GPU memory (gdr=0)", len(off), len(known))
	}
	f.Confidence = possible
	f.Where = []string{object(off[0].Host, off[0].Name)}
	for _, n := range off[:min(len(off), maxRows)] {
		f.Evidence = append(f.Evidence, Evidence{Layer: "host", What: "GPU Direct RDMA of " + object(n.Host, n.Name), Seen: "gdr=0", Expected: "gdr=1", Role: "cause", From: n.From.String()})
	}
	f.Settle = "the Channel lines of a run (via NET/IB/n/GDRDMA or not)"
	return found(f), true
}
