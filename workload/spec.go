package workload

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Spec is what runs on a fabric, as people write it: one job, and the traffic of others beside it.
type Spec struct {
	Job        Job          `yaml:"job" doc:"what is measured: one of collective, step, pattern"`
	Background []Background `yaml:"background" doc:"traffic of others, which the run does not wait for"`
}

// Job is exactly one of its three kinds.
type Job struct {
	Collective *CollectiveJob `yaml:"collective" doc:"one collective, repeated, as nccl-tests measure it"`
	Step       *StepJob       `yaml:"step" doc:"steps of a training job: computing and collectives that wait for each other"`
	Pattern    *PatternJob    `yaml:"pattern" doc:"plain transfers in a pattern"`
	Priority   *uint8         `yaml:"priority" max:"7" doc:"priority (traffic class) of the job's traffic (default 3)"`
}

// RoCEPriority is the priority of a job that names none: the one that vendors' RoCE set-ups protect with PFC
// (Cumulus Linux: nv set qos roce).
const RoCEPriority uint8 = 3

// MaxOps bounds a plan. An operation takes about 100 bytes here and again as much while it runs.
const MaxOps = 8 << 20

// CollectiveJob is a benchmark of one collective.
type CollectiveJob struct {
	Kind      Collective  `yaml:"kind" required:"true" doc:"the collective, under nccl-tests' name"`
	Size      units.Bytes `yaml:"size" required:"true" min:"1B" max:"1TiB" example:"1GiB" doc:"bytes, as the size column of nccl-tests counts them"`
	Algorithm Algorithm   `yaml:"algorithm" doc:"how it is carried out (default: ring, or direct for alltoall and sendrecv)"`
	Ranks     Ranks       `yaml:"ranks" min:"2" example:"0-15" doc:"GPUs that take part, in rank order (default: all)"`
	Repeat    int         `yaml:"repeat" min:"1" max:"10000" doc:"measured calls, one after the other (default 1)"`
	Warmup    int         `yaml:"warmup" min:"0" max:"10000" doc:"calls before them that are not measured (default 0)"`
	Channels  int         `yaml:"channels" min:"1" max:"64" doc:"parallel rings or tree pairs, or messages of a pair (default: one for each GPU of a host and plane; one for each plane in alltoall and sendrecv)"`
	Chunks    int         `yaml:"chunks" min:"1" max:"4096" doc:"pieces that a rank's share of a channel is cut into (default: as NCCL's 4 MiB buffers make it)"`
	InFlight  int         `yaml:"in_flight" min:"1" doc:"alltoall: peers that a rank exchanges with at once (default: all)"`
}

type tell func(path, format string, args ...any)

// Plan writes s out for fabric f. The same arguments give the same plan. Everything that is wrong is reported,
// each with the path of the field ("job.step.tp") and what would be right; the plan is nil when there was something.
func (s Spec) Plan(f *fabric.Fabric, seed uint64, report func(path, text string)) *Plan {
	b := &Builder{}
	write, ok := s.prepare(b, f, seed, MaxOps, report)
	if !ok {
		return nil
	}
	for _, w := range write {
		w()
	}
	return b.Plan()
}

// Check reports what Plan would report but for the number of operations: a job that is too large to be written out may still be
// worked out phase by phase.
func (s Spec) Check(f *fabric.Fabric, report func(path, text string)) bool {
	_, ok := s.prepare(&Builder{}, f, 0, math.MaxInt, report)
	return ok
}

// Fits tells whether the job is right and, written out, no more than a number of operations.
func (s Spec) Fits(f *fabric.Fabric, ops int) bool {
	_, ok := s.prepare(&Builder{}, f, 0, ops, nil)
	return ok
}

// prepare checks s and returns what writes it out.
func (s Spec) prepare(b *Builder, f *fabric.Fabric, seed uint64, budget int, report func(path, text string)) (write []func(), ok bool) {
	wrong := 0
	t := func(path, format string, args ...any) {
		wrong++
		if report != nil {
			report(path, fmt.Sprintf(format, args...))
		}
	}
	kinds := 0
	for _, given := range []bool{s.Job.Collective != nil, s.Job.Step != nil, s.Job.Pattern != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		t("job", "the job has %d kinds; write exactly one of collective, step, pattern", kinds)
	}
	priority := s.Job.TrafficClass()
	streams := checkBackground(s.Background, f, &budget, t)
	if j := s.Job.Collective; j != nil {
		write = append(write, j.plan(b, f, priority, budget, t))
	}
	if j := s.Job.Step; j != nil {
		write = append(write, j.plan(b, f, priority, seed, budget, t))
	}
	if j := s.Job.Pattern; j != nil {
		write = append(write, j.plan(b, f, priority, seed, budget, t))
	}
	for _, s := range streams {
		write = append(write, func() { s.write(b) })
	}
	return write, wrong == 0
}

// TrafficClass is the priority of the job's traffic.
func (j *Job) TrafficClass() uint8 {
	if j.Priority != nil {
		return *j.Priority
	}
	return RoCEPriority
}

// plan checks the job and returns what writes it out.
func (j *CollectiveJob) plan(b *Builder, f *fabric.Fabric, priority uint8, budget int, tell tell) func() {
	const at = "job.collective"
	ranks := j.Ranks.gpus(f, at+".ranks", tell)
	if ranks != nil && len(ranks) < 2 {
		tell(at, "a collective needs two ranks; the fabric or the list of ranks has %d", len(ranks))
		return nil
	}
	if j.Kind == NoCollective {
		tell(at, "no kind of collective; add kind: all_reduce or another")
		return nil
	}
	checkAlgorithm(j.Kind, j.Algorithm, at+".algorithm", tell)
	if ranks != nil {
		if why := j.call(ranks).fits(f); why != "" {
			tell(at+".algorithm", "%s does not suit the ranks: %s", j.Algorithm, why)
		}
	}
	if j.InFlight != 0 && j.Kind != AllToAll {
		tell(at+".in_flight", "in_flight applies to alltoall alone; remove it")
	}
	call := j.call(ranks)
	call.Priority = priority
	calls := j.Warmup + max(1, j.Repeat)
	if each := call.ops(f); each > int64(budget/calls) {
		tell(at, "%d calls of %d operations each are too many; at most %d can be run: lower repeat, chunks, channels or ranks", calls, each, budget)
	}
	return func() {
		b.grow(int64(calls) * call.ops(f))
		var after [][]OpID
		for i := range calls {
			call.Warmup = i < j.Warmup
			after = each(b.Call(f, call, after))
		}
	}
}

// call is one call of the benchmark.
func (j *CollectiveJob) call(ranks []fabric.GPUID) Call {
	return Call{
		Collective: j.Kind, Algorithm: j.Algorithm, Ranks: ranks, Size: j.Size, Channels: j.Channels, Chunks: j.Chunks,
		InFlight: j.InFlight, Step: -1,
	}
}

// Call is one call of the benchmark on a fabric that Check has found fit for it.
func (j *CollectiveJob) Call(f *fabric.Fabric) Call {
	return j.call(j.Ranks.gpus(f, "", func(string, string, ...any) {}))
}

// each makes a list of operations by rank into what Call takes.
func each(ops []OpID) [][]OpID {
	out := make([][]OpID, len(ops))
	for i := range ops {
		out[i] = ops[i : i+1]
	}
	return out
}

func checkAlgorithm(c Collective, a Algorithm, path string, tell tell) {
	if a == "" {
		return
	}
	for _, known := range algorithms[c] {
		if a == known {
			return
		}
	}
	tell(path, "%s is not done by %s; write %s", c, a, oneOf(algorithms[c]))
}

func oneOf(list []Algorithm) string {
	out := string(list[0])
	for _, a := range list[1:] {
		out += " or " + string(a)
	}
	return out
}

// ops is at most how many operations c makes.
func (c Call) ops(f *fabric.Fabric) int64 {
	if len(c.Ranks) < 2 {
		return int64(len(c.Ranks))
	}
	c = c.withDefaults(f)
	n, ch, chunks := int64(len(c.Ranks)), int64(c.Channels), int64(c.Chunks)
	share := max(1, c.Size/units.Bytes(ch)) // of a channel
	switch {
	case c.Algorithm == Hierarchical || c.Algorithm == NVLS || c.Algorithm == InNetwork:
		return c.hierarchyOps(f)
	case c.Algorithm == Tree:
		if chunks == 0 {
			chunks = int64(pieces(share/2+1, stepBytes))
		}
		return 4*(n-1)*ch*chunks + n
	case c.Collective == AllToAll:
		return n*(n-1)*ch + n
	case c.Collective == SendRecv:
		return n*ch + n
	}
	if chunks == 0 {
		chunks = int64(pieces(share/units.Bytes(n)+1, chunkBytes))
	}
	steps := n - 1
	if c.Collective == AllReduce {
		steps *= 2
	}
	return steps*n*ch*chunks*slicesPerChunk + n
}

// stream is the source of random numbers of one entity: adding another does not move its dice.
func stream(seed uint64, entity string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(entity))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
