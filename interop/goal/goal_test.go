package goal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/dataflow"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

func small() *fabric.Fabric {
	w := fabric.Wire{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	return fabric.LeafSpine{Leaves: 1, HostsPerLeaf: 4, GPUsPerHost: 1, Access: w, Trunk: w}.Build()
}

func mustJob(t *testing.T, src string) *dataflow.Result {
	t.Helper()
	s, err := ReadText("s.goal", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Job(small(), 3)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// show writes a plan as text: each operation and what it waits for.
func show(p *workload.Plan) (out []string) {
	before := make([][]int, len(p.Ops))
	for i := range p.Ops {
		for _, d := range p.Dependants(workload.OpID(i)) {
			before[d] = append(before[d], i)
		}
	}
	for i, op := range p.Ops {
		text := ""
		switch op.Kind {
		case workload.Send:
			text = fmt.Sprintf("%d>%d %dB ch%d", op.Src, op.Dst, int64(op.Bytes), op.Channel)
		case workload.Compute:
			text = fmt.Sprintf("%d calc %v", op.Src, op.Time)
		case workload.Join:
			text = fmt.Sprintf("%d join", op.Src)
		}
		slices.Sort(before[i])
		out = append(out, fmt.Sprintf("%d: %s after %v", i, text, before[i]))
	}
	return out
}

const exchange = `// two ranks
num_ranks 2

rank 0 {
a: send 700b to 1 tag 5
b: recv 300b from 1 tag 6 /* the
answer */
c: calc 50
c requires b
d: calc 60
d irequires b
d requires a
}
rank 1 {
b: send 300b to 0 nic 2 tag 6
b requires a
a: recv 700b from 0 tag 5 cpu 0
}
`

func TestSchedule(t *testing.T) {
	want := []string{
		"0: 0>1 700B ch0 after []",
		"1: 0 calc 60ns after [0]", // a receive begins at once, so only the send counts
		"2: 1>0 300B ch2 after [0]",
		"3: 0 calc 50ns after [2]",
	}
	if diff := cmp.Diff(want, show(mustJob(t, exchange).Plan)); diff != "" {
		t.Error(diff)
	}
}

// A dependency may come before the operation that it is on.
func TestLabelsMayFollow(t *testing.T) {
	got := show(mustJob(t, "num_ranks 1\nrank 0 {\na: calc 1\na requires b\nb: calc 2\n}\n").Plan)
	if diff := cmp.Diff([]string{"0: 0 calc 2ns after []", "1: 0 calc 1ns after [0]"}, got); diff != "" {
		t.Error(diff)
	}
}

// irequires waits for what the other one waits for, and not for the other one.
func TestBeginning(t *testing.T) {
	got := show(mustJob(t, "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\nc requires a\nc requires b\nd: calc 4\nd irequires c\n}\n").Plan)
	want := []string{"0: 0 calc 1ns after []", "1: 0 calc 2ns after []", "2: 0 join after [0 1]", "3: 0 calc 3ns after [0 1]", "4: 0 calc 4ns after [2]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Messages and receives of one pair and tag meet in their order; a receive from anyone takes the first that is left.
func TestMatching(t *testing.T) {
	src := `num_ranks 3
rank 0 {
send 1b to 2 tag 7
send 2b to 2 tag 7
send 4b to 2 tag 9
}
rank 1 {
send 3b to 2 tag 7
}
rank 2 {
a: recv 2b from 0 tag 7
b: recv 2b from 0 tag 7
c: recv 2b from -1 tag 7
d: recv 2b from -1 tag -1
calc1: calc 1
calc1 requires a
calc2: calc 2
calc2 requires b
calc3: calc 3
calc3 requires c
calc4: calc 4
calc4 requires d
}
`
	p := mustJob(t, src).Plan
	got := map[string]string{}
	for i, op := range p.Ops {
		for _, d := range p.Dependants(workload.OpID(i)) {
			if p.Ops[d].Kind == workload.Compute {
				got[p.Ops[d].Time.String()] = fmt.Sprint(int64(op.Bytes))
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"1ns": "1", "2ns": "2", "3ns": "3", "4ns": "4"}, got); diff != "" {
		t.Error(diff)
	}
}

// binaryOf writes a schedule as txt2bin does.
func binaryOf(s *Schedule, deps func(rank int, node int) (ends, starts []uint32)) []byte {
	le := binary.LittleEndian
	var out []byte
	out = le.AppendUint64(out, Magic)
	out = le.AppendUint32(out, uint32(s.Ranks))
	out = append(out, 0, 0)
	table := len(out)
	out = append(out, make([]byte, 16*s.Ranks)...)
	for r := range s.Ranks {
		le.PutUint64(out[table+16*r:], uint64(len(out)-8))
		var nodes []dataflow.Node
		for _, n := range s.Graph.Nodes {
			if int(n.Rank) == r {
				nodes = append(nodes, n)
			}
		}
		out = le.AppendUint32(out, uint32(len(nodes)))
		out = le.AppendUint32(out, 1)
		out = le.AppendUint32(out, 0)
		var list []uint32
		for i, n := range nodes {
			ends, starts := deps(r, i)
			out = le.AppendUint32(out, 0)
			size, kind := uint64(n.Bytes), byte(opSend)
			switch n.Kind {
			case dataflow.Recv:
				kind = opRecv
			case dataflow.Compute:
				kind, size = opCalc, uint64(n.Time/units.Nanosecond)
			}
			out = append(out, kind)
			out = le.AppendUint32(out, uint32(n.Peer))
			out = le.AppendUint64(out, size)
			out = le.AppendUint32(out, uint32(n.Tag))
			out = append(out, 0, byte(n.Channel))
			for _, l := range [][]uint32{ends, starts} {
				out = le.AppendUint32(out, uint32(len(l)))
				out = le.AppendUint32(out, uint32(len(list)))
				list = append(list, l...)
			}
		}
		for _, to := range list {
			out = le.AppendUint32(out, to)
		}
		le.PutUint64(out[table+16*r+8:], uint64(len(out)-8))
	}
	return out
}

// binaryExchange is exchange in its binary form.
func binaryExchange(t *testing.T) []byte {
	t.Helper()
	s, err := ReadText("s.goal", strings.NewReader(exchange))
	if err != nil {
		t.Fatal(err)
	}
	return binaryOf(s, func(rank, node int) (ends, starts []uint32) {
		switch {
		case rank == 0 && node == 0: // a, which d waits for
			return []uint32{3}, nil
		case rank == 0 && node == 1: // b, which c waits for, and d for its beginning
			return []uint32{2}, []uint32{3}
		case rank == 1 && node == 1:
			return []uint32{0}, nil
		}
		return nil, nil
	})
}

func TestBinaryIsTheText(t *testing.T) {
	s, err := ReadBinary("s.bin", bytes.NewReader(binaryExchange(t)))
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Job(small(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(show(mustJob(t, exchange).Plan), show(j.Plan)); diff != "" {
		t.Error(diff)
	}
}

func TestTextMistakes(t *testing.T) {
	in := func(body string) string { return "num_ranks 2\nrank 0 {\n" + body + "}\nrank 1 {\n}\n" }
	for src, want := range map[string]string{
		"":                        "s.goal: the file is no GOAL schedule",
		"rank 0 {\n}\n":           "s.goal:1:1: the number of ranks is not known",
		"num_ranks 2\nrank 0 {\n": "s.goal:2:1: rank 0 is not closed",
		"num_ranks 3\nrank 0 {\n}\nrank 1 {\n}\n":                "s.goal: num_ranks says 3 and the file has ranks 0 to 1",
		"num_ranks 2\nrank 1 {\n}\n":                             "s.goal:2:6: this is rank 1, and the next one is rank 0",
		"num_ranks 1\ncalc 5\n":                                  `s.goal:2:1: "calc" stands in no rank`,
		in("send 5 to 1\n"):                                      `s.goal:3:6: the size is "5"; write a number of bytes and b`,
		in("send 5b from 1\n"):                                   "s.goal:3:1: the send is not complete; write send 64b to 1",
		in("send 5b to 2\n"):                                     `s.goal:3:12: the rank is "2"; write a whole number from 0 to 1`,
		in("send 5b to -1\n"):                                    `s.goal:3:12: the rank is "-1"`,
		in("a: jump 5\n"):                                        `s.goal:3:4: "jump" is no operation`,
		in("a: calc 5\na: calc 6\n"):                             `s.goal:4:1: rank 0 has label "a" already`,
		in("a: calc 5\na requires b\n"):                          `s.goal:4:12: rank 0 has no label "b"`,
		in("a requires b\n"):                                     `s.goal:3:1: neither "a" nor "b" is the label`,
		in("calc 5 tag\n"):                                       `s.goal:3:8: "tag" has no number`,
		in("calc 5 core 1\n"):                                    `s.goal:3:8: "core" says nothing about an operation`,
		in("send 5b to 1\n"):                                     "s.goal:3:1: rank 0 sends to 1 with tag 0 and nobody receives it",
		in("recv 5b from 1 tag 4\n"):                             "s.goal:3:1: rank 0 receives from 1 with tag 4, and no such message is sent",
		in("recv 5b from -1 tag -1\n"):                           "s.goal:3:1: rank 0 receives from anyone with tag anyone",
		in("a: calc 1\nb: calc 1\na requires b\nb requires a\n"): "s.goal:3:1: what rank 0 does here waits for something that waits for it in turn",
	} {
		s, err := ReadText("s.goal", strings.NewReader(src))
		if err == nil {
			_, err = s.Job(small(), 3)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", src, want, err)
		}
	}
	s, err := ReadText("s.goal", strings.NewReader("num_ranks 5\nrank 0 {\n}\nrank 1 {\n}\nrank 2 {\n}\nrank 3 {\n}\nrank 4 {\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Job(small(), 3); err == nil || !strings.Contains(err.Error(), "the program has 5 ranks and the fabric 4 GPUs") {
		t.Error(err)
	}
}

func TestBinaryMistakes(t *testing.T) {
	good := binaryExchange(t)
	change := func(at int, b byte) []byte {
		out := slices.Clone(good)
		out[at] = b
		return out
	}
	const firstNode = 8 + 6 + 32 + 12
	for _, c := range []struct {
		src  []byte
		want string
	}{
		{nil, "s.bin: byte 0: the file ends where the magic number should stand"},
		{good[:100], "s.bin: byte 97: the file ends where an operation should stand"},
		{change(0, 1), "s.bin: byte 8: the magic number is 4097; a binary GOAL schedule begins with 4223"},
		{change(11, 200), "ranks; there are 1 to"},
		{change(14, 99), "s.bin: byte 46: rank 0 begins at byte 107 by the table"},
		{change(firstNode+4, 9), "an operation of rank 0 is of type 9"},
		{change(firstNode+5, 9), "rank 0 sends to or receives from rank 9; ranks are 0 to 1"},
		{change(firstNode+16, 9), "rank 0 sends or receives 648518346341352124 bytes"},
		{change(len(good)-4, 9), "operation 9 of rank 1 depends on another, and the rank has 2"},
		{change(50, 255), "rank 0 has 4 operations of which 255 wait for nothing"},
		{change(firstNode+27, 9), "the dependants of operation 0 of rank 0 are at 9, and those before end at 0"},
	} {
		_, err := ReadBinary("s.bin", bytes.NewReader(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	big := binary.BigEndian.AppendUint64(nil, Magic)
	if _, err := ReadBinary("s.bin", bytes.NewReader(big)); err == nil || !strings.Contains(err.Error(), "big-endian") {
		t.Error(err)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(exchange))
	f.Add([]byte("num_ranks 2\nrank 0 {\nrecv 1b from -1 tag -1\nsend 1b to 1\n}\nrank 1 {\nl: recv 1b from 0\nm: send 3b to 0\nm irequires l }\n"))
	net := small()
	f.Fuzz(func(t *testing.T, src []byte) {
		if s, err := ReadText("s.goal", bytes.NewReader(src)); err == nil {
			s.Job(net, 3)
		}
	})
}

func FuzzBinary(f *testing.F) {
	s, err := ReadText("s.goal", strings.NewReader("num_ranks 2\nrank 0 {\nrecv 1b from -1 tag -1\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\nsend 3b to 0\n}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binaryOf(s, func(_, node int) (ends, starts []uint32) {
		if node == 0 {
			return []uint32{1}, []uint32{1}
		}
		return nil, nil
	}))
	net := small()
	f.Fuzz(func(t *testing.T, src []byte) {
		if s, err := ReadBinary("s.bin", bytes.NewReader(src)); err == nil {
			s.Job(net, 3)
		}
	})
}
