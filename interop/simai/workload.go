package simai

import (
	"io"
	"math"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// Policy is how a model is split over GPUs, and with that what happens in which order.
type Policy string

// Policies.
const (
	Data           Policy = "DATA"
	Model          Policy = "MODEL"
	DataModel      Policy = "HYBRID_DATA_MODEL"
	ModelData      Policy = "HYBRID_MODEL_DATA"
	Transformer    Policy = "HYBRID_TRANSFORMER"
	TransformerFIB Policy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
	DLRM           Policy = "HYBRID_DLRM"
	DLRMEnhanced   Policy = "HYBRID_DLRM_ENHANCED"
	Customized     Policy = "HYBRID_CUSTOMIZED"
	Micro          Policy = "MICRO"
	Inference      Policy = "DISTRIBUTED_INFERENCE"
)

// Policies lists all policies.
var Policies = []Policy{Data, Model, DataModel, ModelData, Transformer, TransformerFIB, DLRM, DLRMEnhanced, Customized, Micro, Inference}

// Group is which GPUs communicate.
type Group uint8

// Groups.
const (
	NoGroup Group = iota
	TP            // tensor-parallel GPUs, next to each other
	EP            // expert-parallel GPUs
	DP            // data-parallel GPUs
	DPEP          // GPUs of a data-parallel group that hold the same experts
	All           // all GPUs
)

var groupNames = [...]string{NoGroup: "", TP: "tp", EP: "ep", DP: "dp", DPEP: "dp_ep", All: "all"}

func (g Group) String() string { return groupNames[g] }

// Phase is a part of the work of a layer: computing, then a collective.
type Phase struct {
	source.Place
	Compute    units.Duration
	Collective workload.Collective // NoCollective: none
	Group      Group               // as the name of the collective says; NoGroup: what the policy says
	Bytes      units.Bytes
}

// Layer is a line of a workload.
type Layer struct {
	source.Place
	Name                     string
	Forward, InputGrad, Grad Phase // Grad is that of the weights
	Update                   units.Duration
	Policy                   Policy // of HYBRID_CUSTOMIZED, else empty
}

// Workload is a workload file.
type Workload struct {
	Policy Policy
	// What the header says, 0 where it does not.
	TP, EP, PP, GPUs       int
	PipelineBytes          units.Bytes
	Checkpoints, Initiates []int // numbers of layers
	LastBottom             int   // DLRM: last layer of the bottom network

	Layers []Layer
	Report *source.Report
	header source.Place
}

const maxLayers = 1 << 20 // a model of 100 layers with thousands of microbatches written out

// ReadWorkload reads a workload. The result is nil when the error, a spec.Problems, is not.
func ReadWorkload(file string, in io.Reader) (*Workload, error) {
	r := source.NewReader(file, in)
	w := &Workload{Report: &r.Report}
	for len(r.Words()) == 0 {
		if !r.Line() {
			r.Wrong(r, "the file is empty; it begins with a policy such as %s", TransformerFIB)
			return nil, r.Err()
		}
	}
	w.readHeader(r.Words())
	r.Line()
	word, ok := r.Next()
	if !ok {
		r.Wrong(word, "the file ends where the number of layers should stand")
	} else if n, ok := r.Int(word, "the number of layers", 0, maxLayers); ok && r.OK() {
		for i := range n {
			if !w.readLayer(r, i, n) {
				break
			}
		}
	}
	if r.OK() {
		w.checkLayers()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

// readHeader reads "POLICY key: value ...". Keys come with and without a colon.
func (w *Workload) readHeader(words []source.Word) {
	r := w.Report
	w.header = words[0].Place
	known := false
	for _, p := range Policies {
		if words[0].Is(string(p)) {
			w.Policy, known = p, true
		}
	}
	if !known {
		var names []string
		for _, p := range Policies {
			names = append(names, string(p))
		}
		r.Wrong(words[0], "%s is no policy; write one of %s", source.Quote(words[0].Text), strings.Join(names, ", "))
		return
	}
	for i := 1; i < len(words); {
		key := strings.ToLower(strings.TrimSuffix(words[i].String(), ":"))
		i++
		number := func(most int64) int {
			if i >= len(words) {
				r.Wrong(words[i-1], "%s has no number; write it behind the word", words[i-1])
				return 0
			}
			i++
			n, _ := r.Int(words[i-1], key, 0, most)
			return int(n)
		}
		switch key {
		case "model_parallel_npu_group":
			w.TP = number(fabric.MaxHosts)
		case "ep":
			w.EP = number(fabric.MaxHosts)
		case "pp":
			w.PP = number(fabric.MaxHosts)
		case "all_gpus":
			w.GPUs = number(math.MaxInt32)
		case "vpp", "ga": // the layers of the file are already written out for them
			number(math.MaxInt32)
		case "pp_comm":
			w.PipelineBytes = units.Bytes(number(1 << 50))
		case "dlrm_last_bottom_layer":
			w.LastBottom = number(maxLayers)
		case "checkpoints", "checkpoint_initiates":
			var layers []int
			for range min(number(maxLayers), len(words)) {
				layers = append(layers, number(maxLayers))
			}
			if key == "checkpoints" {
				w.Checkpoints = layers
			} else {
				w.Initiates = layers
			}
		default:
			r.Note(words[i-1], "%s is nothing that is known of a workload and is not used", source.Quote(words[i-1].Text))
		}
	}
}

// readLayer reads a layer of twelve words, thirteen with HYBRID_CUSTOMIZED.
func (w *Workload) readLayer(r *source.Reader, i, of int64) bool {
	ok := true
	next := func(what string) source.Word {
		word, more := r.Next()
		if !more && ok {
			r.Wrong(word, "the file ends in layer %d of %d where %s should stand; a layer has 12 words: its name, -1, and for forward, input gradient and weight gradient each a time in ns, a collective and its bytes, then the time of the update", i+1, of, what)
		}
		ok = ok && more
		return word
	}
	const longest = int64(3600 * units.Second / units.Nanosecond) // an hour of computing in one layer
	number := func(what string, least, most int64) (v int64) {
		if word := next(what); ok {
			v, ok = r.Int(word, what, least, most)
		}
		return v
	}
	var l Layer
	name := next("the name of a layer")
	l.Place, l.Name = name.Place, name.String()
	number("the layer this one depends on", math.MinInt32, math.MaxInt32)
	for _, p := range []struct {
		*Phase
		name string
	}{{&l.Forward, "the forward pass"}, {&l.InputGrad, "the input gradient"}, {&l.Grad, "the weight gradient"}} {
		p.Compute = units.Duration(number("the time of "+p.name+" in ns", 0, longest)) * units.Nanosecond
		if !ok {
			return false
		}
		word := next("the collective of " + p.name)
		p.Place = word.Place
		if ok {
			ok = p.collective(r, word)
		}
		p.Bytes = units.Bytes(number("the bytes of "+p.name, 0, 1<<50))
	}
	l.Update = units.Duration(number("the time of the update in ns", 0, longest)) * units.Nanosecond
	if ok && w.Policy == Customized {
		word := next("the policy of the layer")
		l.Policy = Policy(word.Text)
		if ok && policyGroups[l.Policy] == (groups{}) {
			r.Wrong(word, "%s says nothing about the groups of a layer; write DATA, MODEL, HYBRID_TRANSFORMER, HYBRID_DATA_MODEL or HYBRID_MODEL_DATA", source.Quote(word.Text))
			ok = false
		}
	}
	if ok {
		w.Layers = append(w.Layers, l)
	}
	return ok
}

// collectives are the names of collectives. BROADCAST is none in SimAI: its reader does not know it.
var collectives = map[string]workload.Collective{
	"NONE": workload.NoCollective, "BROADCAST": workload.NoCollective, "ALLREDUCE": workload.AllReduce, "ALLGATHER": workload.AllGather,
	"REDUCESCATTER": workload.ReduceScatter, "ALLTOALL": workload.AllToAll,
}

// collective reads a name such as ALLGATHER, ALLGATHER_EP or ALLGATHER_DP_EP.
func (p *Phase) collective(r *source.Reader, w source.Word) bool {
	name, group := w.String(), NoGroup
	if base, ok := strings.CutSuffix(name, "_DP_EP"); ok {
		name, group = base, DPEP
	} else if base, ok := strings.CutSuffix(name, "_EP"); ok {
		name, group = base, EP
	}
	c, known := collectives[name]
	switch {
	case name == "ALLREDUCEALLTOALL":
		r.Wrong(w, "ALLREDUCEALLTOALL is an all_reduce over some dimensions of ASTRA-sim's system and an alltoall over the others, which the file does not tell; write the two as layers of their own")
		return false
	case !known:
		r.Wrong(w, "%s is no collective; write NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, and _EP or _DP_EP behind for those groups", source.Quote(w.Text))
		return false
	case name == "BROADCAST":
		r.Note(w, "BROADCAST is not carried out, as in SimAI, whose reader does not know it")
	}
	p.Collective, p.Group = c, group
	return true
}

// checkLayers checks the numbers of layers in the header.
func (w *Workload) checkLayers() {
	if len(w.Layers) == 0 {
		w.Report.Wrong(w.header, "the workload has no layers; add lines of twelve words")
		return
	}
	for _, list := range [][]int{w.Checkpoints, w.Initiates} {
		for _, i := range list {
			if i >= len(w.Layers) {
				w.Report.Wrong(w.header, "the header names layer %d for a checkpoint; layers go from 0 to %d", i, len(w.Layers)-1)
			}
		}
	}
	if w.LastBottom >= len(w.Layers) {
		w.Report.Wrong(w.header, "the last layer of the bottom network is %d; layers go from 0 to %d", w.LastBottom, len(w.Layers)-1)
	}
}
