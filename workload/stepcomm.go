package workload

import (
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// call writes one collective of a step over ranks of the job, given as numbers; after is by place among members.
func (w *stepWriter) call(c Call, members []int, after [][]OpID) []OpID {
	c.Ranks = make([]fabric.GPUID, len(members))
	for i, r := range members {
		c.Ranks[i] = w.GPUs[r]
	}
	c.Priority, c.Step, c.Warmup = w.priority, w.step, w.step < w.Warmup
	if c.Collective != AllToAll {
		c.Channels = w.Channels
	}
	return w.b.Call(w.f, c, after)
}

// tensor communicates one group of layers within every tensor-parallel group of stage p.
func (w *stepWriter) tensor(p int, c Collective, after [][]OpID) [][]OpID {
	call := Call{Collective: c, Size: units.Bytes(w.Group) * w.Sizes.TP, Comm: commTP, Name: "tp " + c.String()}
	if c == AllReduce {
		call.Algorithm = w.Algorithm
	}
	return w.groups(p, w.TensorGroups(p), call, after)
}

// experts sends tokens out, computes and collects them; names are those of the two exchanges in their order.
func (w *stepWriter) experts(p int, phase string, time units.Duration, after [][]OpID, there, back string) [][]OpID {
	call := Call{Collective: AllToAll, Size: units.Bytes(w.Group) * w.Sizes.EP, InFlight: w.InFlight, Comm: commEP}
	groups := w.ExpertGroups(p)
	call.Name = "ep alltoall " + there
	after = w.groups(p, groups, call, after)
	after = w.compute(p, phase, time, after)
	call.Name = "ep alltoall " + back
	return w.groups(p, groups, call, after)
}

// groups carries out call in every group of stage p.
func (w *stepWriter) groups(p int, groups [][]int, call Call, after [][]OpID) [][]OpID {
	first, end := w.Stage(p)
	out := make([]OpID, end-first)
	for _, members := range groups {
		waits := make([][]OpID, len(members))
		for i, r := range members {
			waits[i] = after[r-first]
		}
		for i, op := range w.call(call, members, waits) {
			out[members[i]-first] = op
		}
	}
	return each(out)
}

// reduceGradients adds gradients up over data parallelism in stage p. A communicator carries out one call after the
// other, so each waits for the one before; the computing does not wait.
func (w *stepWriter) reduceGradients(p int, name string, size units.Bytes, after [][]OpID) {
	first, _ := w.Stage(p)
	call := Call{Collective: AllReduce, Algorithm: w.Algorithm, Size: size, Comm: commDP, Name: name}
	for _, members := range w.DataGroups(p) {
		waits := make([][]OpID, len(members))
		for i, r := range members {
			waits[i] = append(some(w.reduced[r]), after[r-first]...)
		}
		for i, op := range w.call(call, members, waits) {
			w.reduced[members[i]] = op
		}
	}
}

// TensorGroups lists the ranks of every tensor-parallel group of stage p: consecutive ranks.
func (s *Step) TensorGroups(p int) [][]int {
	out := make([][]int, s.DP)
	for d := range out {
		for t := range s.TP {
			out[d] = append(out[d], s.Rank(t, d, p))
		}
	}
	return out
}

// DataGroups lists the ranks of every data-parallel group of stage p: equal tensor rank.
func (s *Step) DataGroups(p int) [][]int {
	out := make([][]int, s.TP)
	for t := range out {
		for d := range s.DP {
			out[t] = append(out[t], s.Rank(t, d, p))
		}
	}
	return out
}

// ExpertGroups lists the ranks of every expert-parallel group of stage p: EP ranks of a data-parallel group, next to each other or as far apart as can be.
func (s *Step) ExpertGroups(p int) [][]int {
	var out [][]int
	for _, data := range s.DataGroups(p) {
		for i := 0; i < len(data) && !s.SpreadExperts; i += s.EP {
			out = append(out, data[i:i+s.EP])
		}
		for i, apart := 0, len(data)/s.EP; i < apart && s.SpreadExperts; i++ {
			group := make([]int, s.EP)
			for e := range group {
				group[e] = data[i+e*apart]
			}
			out = append(out, group)
		}
	}
	return out
}

// count is at most how many operations one step makes.
func (w *stepWriter) count() int64 {
	stageRanks := int64(w.TP) * int64(w.DP)
	passes := 2 * int64(w.Microbatches) * int64(w.PP)
	groups := int64(w.Layers / w.PP / w.Group)
	gpus := func(members []int) []fabric.GPUID {
		out := make([]fabric.GPUID, len(members))
		for i, r := range members {
			out[i] = w.GPUs[r]
		}
		return out
	}
	perGroup := 2 * stageRanks
	if w.TP > 1 { // sequence parallelism makes two calls of half the operations
		c := Call{Collective: AllReduce, Algorithm: w.Algorithm, Ranks: gpus(w.TensorGroups(0)[0]), Size: units.Bytes(w.Group) * w.Sizes.TP, Channels: w.Channels}
		perGroup += int64(w.DP) * (c.ops(w.f) + int64(w.TP))
	}
	if w.EP > 1 {
		c := Call{Collective: AllToAll, Ranks: gpus(w.ExpertGroups(0)[0]), Size: units.Bytes(w.Group) * w.Sizes.EP}
		perGroup += 2 * stageRanks / int64(w.EP) * c.ops(w.f)
	}
	total := passes * (groups*perGroup + stageRanks*int64(w.f.Planes+1))
	if w.DP > 1 {
		bucket := min(max(w.Bucket(), units.Bytes(w.Group)*w.Sizes.DP), units.Bytes(w.Layers/w.PP)*w.Sizes.DP)
		buckets := int64(pieces(units.Bytes(w.Layers/w.PP)*w.Sizes.DP, max(1, bucket)))
		c := Call{Collective: AllReduce, Algorithm: w.Algorithm, Ranks: gpus(w.DataGroups(0)[0]), Size: bucket + units.Bytes(w.Group)*w.Sizes.DP, Channels: w.Channels}
		total += int64(w.PP) * int64(w.TP) * buckets * c.ops(w.f)
		if w.Sizes.Tail > 0 {
			c.Size = w.Sizes.Tail
			total += int64(w.PP) * int64(w.TP) * c.ops(w.f)
		}
	}
	return total + int64(len(w.GPUs))
}
