package simai

import "github.com/shunt-network/shunt/workload"

// groups says who communicates in each phase under a policy: what a collective without a suffix means.
type groups struct{ forward, inputGrad, grad Group }

// policyGroups is Workload.cc's decode_involved_dimensions. Where a dimension of ASTRA-sim's system is meant, TP is the
// first of them and DP the rest.
var policyGroups = map[Policy]groups{
	Data:           {NoGroup, NoGroup, All},
	Micro:          {NoGroup, NoGroup, All},
	DLRM:           {NoGroup, NoGroup, All},
	DLRMEnhanced:   {NoGroup, NoGroup, All},
	Model:          {All, All, NoGroup},
	Inference:      {All, All, NoGroup},
	Transformer:    {TP, TP, DP},
	TransformerFIB: {TP, TP, DP},
	DataModel:      {TP, TP, DP},
	ModelData:      {DP, DP, TP},
}

// of is the groups of layer i.
func (w *Workload) of(i int) groups {
	switch {
	case w.Policy == Customized:
		return policyGroups[w.Layers[i].Policy]
	case (w.Policy == DLRM || w.Policy == DLRMEnhanced) && i == 0: // the embedding tables
		return groups{All, All, All}
	}
	return policyGroups[w.Policy]
}

// run carries out one pass of the workload, in the order of Workload.cc's iterate functions.
func (x *writer) run() {
	switch x.Policy {
	case Micro:
		for i := range x.Layers { // one after the other; SimAI itself runs the first alone
			x.blocking(x.comm(&x.Layers[i].Grad, x.of(i).grad))
		}
		return
	case DLRM, DLRMEnhanced:
		x.dlrm()
	default:
		x.forward(0, len(x.Layers))
		if x.Policy != Inference {
			x.backward()
		}
	}
	x.flush()
}

// forward computes layers from first up to end, each followed by its collective, for which the next one waits.
func (x *writer) forward(first, end int) {
	x.enter("forward")
	for i := first; i < end && x.ok(); i++ {
		x.compute(x.Layers[i].Forward.Compute)
		if x.Policy != Data {
			x.blocking(x.comm(&x.Layers[i].Forward, x.of(i).forward))
		}
	}
}

// backward goes through the layers from the last to the first. The collective of a weight gradient goes on while the
// layers before it compute; that of an input gradient is waited for at once in a transformer, and elsewhere only after
// the weight gradient of the same layer is computed.
func (x *writer) backward() {
	x.enter("backward")
	transformer := x.Policy == Transformer || x.Policy == TransformerFIB
	for i := len(x.Layers) - 1; i >= 0 && x.ok(); i-- {
		l := &x.Layers[i]
		switch {
		case x.Policy == Data:
			x.compute(l.Grad.Compute)
			x.free(x.comm(&l.Grad, x.of(i).grad), l)
			if i > 0 {
				x.compute(l.InputGrad.Compute)
			}
		case transformer:
			if x.Policy == TransformerFIB && x.initiates[i] {
				x.forward(x.checkpoint(i), i)
				x.enter("backward")
			}
			x.compute(l.InputGrad.Compute)
			x.blocking(x.comm(&l.InputGrad, x.of(i).inputGrad))
			x.compute(l.Grad.Compute)
			x.free(x.comm(&l.Grad, x.of(i).grad), l)
		default:
			x.compute(l.InputGrad.Compute)
			var done []workload.OpID
			if i > 0 {
				done = x.comm(&l.InputGrad, x.of(i).inputGrad)
			}
			x.compute(l.Grad.Compute)
			if x.Policy != Model {
				x.free(x.comm(&l.Grad, x.of(i).grad), l)
			}
			x.alsoWait(done)
		}
	}
}

// checkpoint is the layer from which activations are computed again for layer i: the last checkpoint at or before it.
func (x *writer) checkpoint(i int) int {
	for k := i; k >= 0; k-- {
		if x.checkpoints[k] {
			return k
		}
	}
	x.Report.Wrong(x.header, "layer %d computes activations again and no layer before it is a checkpoint; add one to checkpoints", i)
	return i
}

// dlrm is a recommendation model: the embeddings of layer 0 are exchanged while the bottom network computes, and their
// gradients while it computes backwards.
func (x *writer) dlrm() {
	var embeddings, gradients []workload.OpID
	x.enter("forward")
	for i := range x.Layers {
		l := &x.Layers[i]
		x.compute(l.Forward.Compute)
		if l.Forward.Collective == workload.AllToAll {
			if done := x.comm(&l.Forward, x.of(i).forward); i == 0 {
				embeddings = done
			}
		} else if i == x.LastBottom {
			x.alsoWait(embeddings)
		}
	}
	x.enter("backward")
	for i := len(x.Layers) - 1; i >= 0 && x.ok(); i-- {
		l := &x.Layers[i]
		x.compute(l.Grad.Compute)
		x.free(x.comm(&l.Grad, x.of(i).grad), l)
		if i == 0 {
			if x.Policy == DLRM {
				x.alsoWait(gradients)
			}
			break
		}
		x.compute(l.InputGrad.Compute)
		if i == x.LastBottom+1 {
			gradients = x.comm(&x.Layers[0].InputGrad, x.of(0).inputGrad)
		}
	}
}
