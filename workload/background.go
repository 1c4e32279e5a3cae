package workload

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
)

// Background is a stream of others' traffic: storage, backup, management. The i-th host of From sends to the i-th of
// To; the shorter list starts again.
type Background struct {
	Name     string         `yaml:"name" required:"true" example:"storage" doc:"what people call it"`
	From     []string       `yaml:"from" required:"true" min:"1" doc:"hosts that send"`
	To       []string       `yaml:"to" required:"true" min:"1" doc:"hosts that receive"`
	Rate     units.Rate     `yaml:"rate" min:"1bps" example:"50Gbps" doc:"rate of each sender to each receiver (default: as fast as the network lets it)"`
	Priority uint8          `yaml:"priority" max:"7" doc:"priority (traffic class) (default 0)"`
	Start    units.Duration `yaml:"start" min:"0s" example:"2ms" doc:"when it begins, from the start of the run (default 0)"`
	For      units.Duration `yaml:"for" min:"1ps" example:"10ms" doc:"how long it lasts at its rate; this or size"`
	Size     units.Bytes    `yaml:"size" min:"1B" max:"1TiB" example:"10GiB" doc:"bytes of each sender to each receiver; this or for"`
	Message  units.Bytes    `yaml:"message" min:"1KiB" doc:"bytes of one read or write (default 1MiB)"`
}

// backgroundMessage is the largest read or write of the Linux NFS client (NFS_MAX_FILE_IO_SIZE, nfs_xdr.h).
const backgroundMessage = units.MiB

// streamPair is one sender and receiver of a Background.
type streamPair struct {
	name     string
	src, dst fabric.GPUID
	priority uint8
	rate     units.Rate
	start    units.Duration
	size     units.Bytes
	message  units.Bytes
	first    bool // the first of its Background, which makes the span
	total    units.Bytes
	pairs    int
}

// backgroundChannel keeps streams off the connections of the job.
const backgroundChannel = 1 << 15

// checkBackground resolves all streams, takes their operations from the budget and reports what is wrong.
func checkBackground(list []Background, f *fabric.Fabric, budget *int, tell tell) []streamPair {
	speaker := map[string]fabric.GPUID{} // host -> its first GPU, whose NIC the traffic takes
	for i := len(f.GPUs) - 1; i >= 0; i-- {
		speaker[f.Nodes[f.GPUs[i].Host].Name] = fabric.GPUID(i)
	}
	var out []streamPair
	for i := range list {
		g, at := &list[i], fmt.Sprintf("background[%d]", i)
		resolve := func(names []string, field string) []fabric.GPUID {
			var ids []fabric.GPUID
			for k, name := range names {
				id, ok := speaker[name]
				if !ok {
					tell(fmt.Sprintf("%s.%s[%d]", at, field, k), "no host is called %q; hosts are host0 to host%d", name, len(speaker)-1)
				}
				ids = append(ids, id)
			}
			return ids
		}
		from, to := resolve(g.From, "from"), resolve(g.To, "to")
		p := streamPair{
			name: g.Name, priority: g.Priority, rate: g.Rate, start: g.Start, size: g.Size, message: g.Message,
			pairs: max(len(from), len(to)),
		}
		if p.message == 0 {
			p.message = backgroundMessage
		}
		switch {
		case len(from) == 0 || len(to) == 0:
			tell(at, "%s has nobody to send or receive; list hosts in from and to", g.Name)
			continue
		case (g.For == 0) == (g.Size == 0):
			tell(at, "%s needs to end: add one of for and size", g.Name)
			continue
		case g.For != 0 && g.Rate == 0:
			tell(at, "%s has a time but no rate, so its bytes are unknown; add rate, or write size instead of for", g.Name)
			continue
		case g.For != 0:
			p.size = max(1, units.Bytes(g.Rate.BytesPerSecond()*g.For.Seconds()))
		}
		if messages := int64(p.size/p.message+1) * int64(p.pairs); messages > int64(*budget) {
			tell(at, "%s is %d messages; at most %d can be run: shorten it or raise message", g.Name, messages, *budget)
			continue
		} else {
			*budget -= int(messages)
		}
		p.total = p.size * units.Bytes(p.pairs)
		for k := range p.pairs {
			p.src, p.dst, p.first = from[k%len(from)], to[k%len(to)], k == 0
			if p.src == p.dst {
				tell(at, "%s pairs %s with itself; put the hosts of from and to in another order", g.Name, g.From[k%len(from)])
				break
			}
			out = append(out, p)
		}
	}
	return out
}

// write adds the messages of a stream. With a rate they are offered on its clock, whether or not those before are
// through, as a source that does not slow down; without one, each follows the last.
func (p *streamPair) write(b *Builder) {
	if p.first {
		b.Span(Span{Name: p.name, Bytes: p.total, Ranks: p.pairs, Step: -1, Background: true})
	}
	op := Op{
		Kind: Send, Priority: p.priority, Background: true, Channel: backgroundChannel,
		Span: SpanID(len(b.plan.Spans) - 1), Src: p.src, Dst: p.dst, Rate: p.rate,
	}
	var last []OpID
	for done := units.Bytes(0); done < p.size; done += p.message {
		op.Bytes, op.At = min(p.message, p.size-done), p.start
		if p.rate > 0 {
			op.At += units.Serialize(done, p.rate)
			b.Add(op)
		} else {
			last = []OpID{b.Add(op, last...)}
		}
	}
}
