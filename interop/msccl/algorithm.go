package msccl

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/workload"
)

// Algorithm is a collective algorithm.
type Algorithm struct {
	Name       string
	Collective workload.Collective // NoCollective for one that nccl-tests has no name for
	GPUs       int
	Chunks     int // that the largest buffer of a rank is cut into (nchunksperloop)
	Blocks     []Block
	Report     *source.Report
}

// Block is a thread block: steps one after the other, all sends to one GPU and all receives from one, on one channel.
type Block struct {
	source.Place
	GPU, ID    int
	Send, Recv int // -1: none
	Channel    int
	Steps      []Step
}

// Step is a step of a thread block.
type Step struct {
	source.Place
	Kind
	Count int // chunks
	// DepBlock and DepStep name a step of another block of the GPU that must be over before; -1: none.
	DepBlock, DepStep int
}

// Kind is what a step does.
type Kind struct {
	Receives, Sends bool
}

// kinds are the types of step. What is copied and reduced within a GPU takes no time.
var kinds = map[string]Kind{
	"s": {Sends: true}, "r": {Receives: true}, "rrc": {Receives: true}, "rcs": {true, true}, "rrs": {true, true}, "rrcs": {true, true},
	"cpy": {}, "re": {}, "nop": {},
}

var collectives = map[string]workload.Collective{
	"allreduce": workload.AllReduce, "allgather": workload.AllGather, "reduce_scatter": workload.ReduceScatter, "reducescatter": workload.ReduceScatter, "alltoall": workload.AllToAll,
}

// Read reads an algorithm. It is nil when the error, a spec.Problems, is not.
func Read(file string, in io.Reader) (*Algorithm, error) {
	r := reader{dec: xml.NewDecoder(in), a: &Algorithm{Report: &source.Report{File: file}}}
	r.read()
	if err := r.a.Report.Err(); err != nil {
		return nil, err
	}
	return r.a, nil
}

type reader struct {
	dec   *xml.Decoder
	a     *Algorithm
	at    source.Place
	open  []string
	gpu   int
	steps int
	attrs []xml.Attr
}

// parents is what each element stands in.
var parents = map[string]string{"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}

func (r *reader) read() {
	seen := false
	for !r.a.Report.Full() {
		line, col := r.dec.InputPos()
		r.at = source.Place{Line: line, Col: col}
		token, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				r.at = source.Place{Line: syntax.Line, Col: 1}
				err = errors.New(syntax.Msg)
			}
			r.a.Report.Wrong(r.at, "this is no well-formed XML: %v", err)
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			seen = true
			r.begin(t)
		case xml.EndElement:
			r.open = r.open[:len(r.open)-1]
		}
		if r.steps > dataflow.MaxNodes/2 {
			r.a.Report.Wrong(r.at, "the algorithm has more than the %d steps that can be run", dataflow.MaxNodes/2)
			return
		}
	}
	if !seen {
		r.a.Report.Wrong(source.Place{Line: 1, Col: 1}, "the file has no algorithm; it is like <algo ngpus=\"8\" ...><gpu id=\"0\" ...><tb ...><step .../></tb></gpu></algo>")
	}
}

// begin reads an element with its attributes.
func (r *reader) begin(t xml.StartElement) {
	name, parent := t.Name.Local, ""
	if len(r.open) > 0 {
		parent = r.open[len(r.open)-1]
	}
	r.open = append(r.open, name)
	r.attrs = t.Attr
	within, known := parents[name]
	switch {
	case !known:
		r.a.Report.Wrong(r.at, "<%s> is nothing that an algorithm has; it has algo, gpu, tb and step", name)
		return
	case within != parent:
		r.a.Report.Wrong(r.at, "<%s> stands in <%s>; it belongs into <%s>", name, parent, within)
		return
	}
	switch name {
	case "algo":
		r.a.Name = r.text("name")
		r.a.GPUs = r.number("ngpus", 1, fabric.MaxHosts)
		r.a.Chunks = r.number("nchunksperloop", 1, 1<<30)
		r.a.Collective = collectives[strings.ToLower(r.text("coll"))]
		if r.a.Collective == workload.NoCollective {
			r.a.Report.Note(r.at, "coll %s has no name in nccl-tests, so its bandwidth is not worked out", source.Quote(r.text("coll")))
		}
	case "gpu":
		r.gpu = r.number("id", 0, max(r.a.GPUs-1, 0))
	case "tb":
		last := max(r.a.GPUs-1, 0)
		r.a.Blocks = append(r.a.Blocks, Block{
			Place: r.at, GPU: r.gpu, ID: r.number("id", 0, 1<<20), Send: r.number("send", -1, last), Recv: r.number("recv", -1, last), Channel: r.number("chan", 0, 1<<16-1),
		})
	case "step":
		r.step()
	}
}

func (r *reader) step() {
	s := Step{Place: r.at, DepBlock: r.number("depid", -1, 1<<20), DepStep: r.number("deps", -1, 1<<30)}
	kind, ok := kinds[r.text("type")]
	if !ok {
		r.a.Report.Wrong(r.at, "%s is no type of step; write s, r, rrc, rcs, rrs, rrcs, cpy, re or nop", source.Quote(r.text("type")))
	}
	s.Kind = kind
	if kind.Sends || kind.Receives {
		s.Count = r.number("cnt", 1, 1<<30)
	}
	if len(r.a.Blocks) == 0 { // its tb stands where none may, which was told
		return
	}
	b := &r.a.Blocks[len(r.a.Blocks)-1]
	if n := r.number("s", 0, 1<<30); ok && n != len(b.Steps) {
		r.a.Report.Wrong(r.at, "this is step %d, and the next of its block is %d", n, len(b.Steps))
	}
	if kind.Sends && b.Send < 0 || kind.Receives && b.Recv < 0 {
		r.a.Report.Wrong(r.at, "the step sends or receives, and its block has nobody to; write send and recv of the tb")
	}
	b.Steps = append(b.Steps, s)
	r.steps++
}

func (r *reader) text(name string) string {
	for _, a := range r.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number reads an attribute. One that is missing is wrong, but for dependencies.
func (r *reader) number(name string, least, most int) int {
	text := r.text(name)
	if text == "" && (name == "depid" || name == "deps") {
		return -1
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least || v > most {
		what := fmt.Sprintf("is %s", source.Quote(text))
		if text == "" {
			what = "is missing"
		}
		r.a.Report.Wrong(r.at, "the attribute %s %s; write a whole number from %d to %d", name, what, least, most)
		return max(least, 0)
	}
	return v
}
