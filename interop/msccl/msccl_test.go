package msccl

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func small() *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

// An all_gather of three GPUs around a ring, the middle step of which forwards; GPU 0 has a second block that waits.
const ring = `<algo name="ring3" proto="Simple" nchannels="1" nchunksperloop="3" ngpus="3" coll="allgather" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="3" s_chunks="0">
    <tb id="0" send="1" recv="2" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rcs" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="3" s_chunks="0">
    <tb id="0" send="2" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1"/>
      <step s="1" type="rcs" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1"/>
    </tb>
  </gpu>
  <gpu id="2" i_chunks="1" o_chunks="3" s_chunks="0">
    <tb id="0" send="0" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="2" cnt="1"/>
      <step s="1" type="rcs" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
    </tb>
  </gpu>
</algo>
`

func job(src string, size units.Bytes) (*workload.Plan, error) {
	a, err := Read("a.xml", strings.NewReader(src))
	if err != nil {
		return nil, err
	}
	r, err := a.Job(small(), size, 3)
	if err != nil {
		return nil, err
	}
	return r.Plan, nil
}

func TestRing(t *testing.T) {
	p, err := job(ring, 3000)
	if err != nil {
		t.Fatal(err)
	}
	var sends []string
	before := map[workload.OpID]int{}
	for i, op := range p.Ops {
		for _, d := range p.Dependants(workload.OpID(i)) {
			before[d]++
		}
		if op.Kind == workload.Send {
			sends = append(sends, fmt.Sprintf("%d>%d %dB after %d", op.Src, op.Dst, int64(op.Bytes), before[workload.OpID(i)]))
		}
	}
	// First every GPU sends its own part, then what it was sent, for which it waits.
	want := []string{
		"0>1 1000B after 0", "1>2 1000B after 0", "2>0 1000B after 0",
		"0>1 1000B after 1", "1>2 1000B after 1", "2>0 1000B after 1",
	}
	if diff := cmp.Diff(want, sends); diff != "" {
		t.Error(diff)
	}
	s := p.Spans[0]
	if s.Collective != workload.AllGather || s.Algorithm != "ring3" || s.Bytes != 3000 || s.Ranks != 3 {
		t.Errorf("span %+v", s)
	}
}

// A step of another block is waited for.
func TestDependencies(t *testing.T) {
	src := `<algo name="x" ngpus="2" nchunksperloop="1" coll="other">
<gpu id="0">
<tb id="0" send="-1" recv="1" chan="0"><step s="0" type="r" cnt="1"/></tb>
<tb id="1" send="1" recv="-1" chan="1"><step s="0" type="nop" depid="0" deps="0"/><step s="1" type="s" cnt="1"/></tb>
</gpu>
<gpu id="1">
<tb id="0" send="0" recv="-1" chan="0"><step s="0" type="s" cnt="1"/></tb>
<tb id="1" send="-1" recv="0" chan="1"><step s="0" type="r" cnt="1"/></tb>
</gpu>
</algo>`
	p, err := job(src, 64)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ops) != 2 || p.Ops[0].Src != 1 || p.Ops[0].Channel != 0 || p.Ops[1].Src != 0 || p.Ops[1].Channel != 1 {
		t.Fatalf("operations %+v", p.Ops)
	}
	if diff := cmp.Diff([]workload.OpID{1}, p.Dependants(0)); diff != "" {
		t.Error(diff)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{ring, "", "a.xml:1:1: the file has no algorithm"},
		{"</gpu>\n  <gpu id=\"1\"", "  <gpu id=\"1\"", "a.xml:11:5: <gpu> stands in <gpu>; it belongs into <algo>"},
		{"</algo>", "", "a.xml:27:1: this is no well-formed XML"},
		{`ngpus="3"`, `ngpus="x"`, `a.xml:1:1: the attribute ngpus is "x"; write a whole number from 1 to`},
		{`send="2" recv="0"`, `send="3" recv="0"`, `a.xml:13:5: the attribute send is "3"; write a whole number from -1 to 2`},
		{`type="r" srcbuf="o" srcoff="1"`, `type="x" srcbuf="o" srcoff="1"`, `a.xml:6:7: "x" is no type of step`},
		{`<step s="2" type="r" srcbuf="o" srcoff="1"`, `<step s="3" type="r" srcbuf="o" srcoff="1"`, "a.xml:6:7: this is step 3, and the next of its block is 2"},
		{`send="1" recv="2"`, `send="1" recv="-1"`, "a.xml:5:7: the step sends or receives, and its block has nobody to"},
		{`depid="0" deps="1"`, `depid="0" deps="7"`, "a.xml:9:7: the step depends on step 7 of block 0, which GPU 0 does not have"},
		{`tb id="1"`, `tb id="0"`, "a.xml:8:5: GPU 0 has a block 0 already"},
		{`cnt="1" depid="-1" deps="-1" hasdep="0"/>`, `depid="-1" deps="-1" hasdep="0"/>`, "a.xml:4:7: the attribute cnt is missing"},
		{`<gpu id="1"`, `<rank id="1"`, "a.xml:12:3: <rank> is nothing that an algorithm has"},
		{`<tb id="0" send="2"`, `<step id="0" send="2"`, "<step> stands in <gpu>; it belongs into <tb>"},
		{`<step s="2" type="r" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1"/>`, "", "a.xml:5:7: rank 0 sends to 1 with tag 0 and nobody receives it"},
	} {
		src := strings.Replace(ring, c.from, c.to, 1)
		_, err := job(src, 3000)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	if _, err := job(ring, 0); err == nil || !strings.Contains(err.Error(), "a.xml:3:5: the algorithm does not say how much it moves; set size") {
		t.Error(err)
	}
	if _, err := job(ring, 2); err == nil || !strings.Contains(err.Error(), "set a size of at least 3 bytes") {
		t.Error(err)
	}
}

func Fuzz(f *testing.F) {
	f.Add([]byte(ring))
	net := small()
	f.Fuzz(func(t *testing.T, src []byte) {
		if a, err := Read("a.xml", bytes.NewReader(src)); err == nil {
			a.Job(net, 1<<20, 3)
		}
	})
}
