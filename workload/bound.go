package workload

import "github.com/shunt-network/shunt/units"

// LowerBound is the least time that collective c of n ranks takes when each rank sends at most rate, in closed form;
// size is as nccl-tests count it. Derivations:
//
//	all_reduce      each of S bytes is added up n-1 times and handed out n-1 times, 2(n-1)S transfers over n senders:
//	                2(n-1)/n * S/B   (nccl-tests, doc/PERFORMANCE.md; Patarasuk and Yuan, JPDC 2009)
//	all_gather      (n-1)/n * S/B: each rank receives all but its own part
//	reduce_scatter  (n-1)/n * S/B
//	alltoall        (n-1)/n * S/B: each rank sends all but its own part
//	sendrecv        S/B
//
// hop is the time a byte takes from one rank to the next without waiting; a ring makes 2(n-1), n-1 and n-1 of them one
// after the other, alltoall and sendrecv one. With hop 0 the bound holds for every algorithm but in-network reduction.
// Where the GPUs of a host share their NICs' rate through NVLink, as NCCL's rings do, rate is that of the host.
func (c Collective) LowerBound(n int, size units.Bytes, rate units.Rate, hop units.Duration) units.Duration {
	if n < 2 || rate <= 0 {
		return 0
	}
	var hops, parts int // parts of size/n that one rank sends
	switch c {
	case AllReduce:
		hops, parts = 2*(n-1), 2*(n-1)
	case AllGather, ReduceScatter:
		hops, parts = n-1, n-1
	case AllToAll:
		hops, parts = 1, n-1
	case SendRecv:
		hops, parts = 1, n
	default:
		return 0
	}
	// parts*size/n without overflow: whole parts, and the share of the remainder.
	q, r := size/units.Bytes(n), size%units.Bytes(n)
	bytes := q*units.Bytes(parts) + r*units.Bytes(parts)/units.Bytes(n)
	return units.Serialize(bytes, rate) + units.Duration(hops)*hop
}
