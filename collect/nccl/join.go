package nccl

import (
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Join takes over what logs that were read apart know, once their lists stand in l's inventory in the order of the
// files. What every process repeats is kept once, counts are added up, and the rank of a process that another file
// told is found.
func (l *Log) Join(logs []*Log) {
	n := &l.inv.NCCL
	for _, from := range logs {
		l.bounds.join(from.bounds)
		l.secondhand = append(l.secondhand, from.secondhand...)
		for p, rank := range from.ranks {
			l.rank(p, from.sizes[p], rank)
		}
		f := &from.inv.NCCL
		n.HasLog = n.HasLog || f.HasLog
		n.Inits += f.Inits
		n.Ranks = max(n.Ranks, f.Ranks)
		n.Repeated += f.Repeated
		n.MoreConnections += f.MoreConnections
	}
	once(&n.Versions, func(v evidence.VersionSeen) any { v.From = evidence.Source{}; return v })
	once(&n.Networks, func(v evidence.NetworkChoice) any { v.From = evidence.Source{}; return v })
	once(&n.GIN, func(v evidence.NetworkChoice) any { v.From = evidence.Source{}; return v })
	once(&n.Devices, func(v evidence.DeviceList) any { return fmt.Sprint(v.Host, v.Devices) })
	once(&n.Sockets, func(v evidence.SocketChoice) any { v.From = evidence.Source{}; return v })
	once(&n.QPs, func(v evidence.QPSetup) any { v.From, v.Name = evidence.Source{}, ""; return v })
	once(&n.GDR, func(v evidence.GDRState) any { v.From, v.Device = evidence.Source{}, ""; return v })
	once(&n.Shape, func(v evidence.ChannelShape) any { v.From = evidence.Source{}; return v })
	once(&n.Graph, func(v evidence.GraphPattern) any { v.From = evidence.Source{}; return v })
	once(&n.Env, func(v evidence.EnvVar) any {
		if v.Host == "" {
			return nil // of a command line or a file: each is one
		}
		v.From = evidence.Source{}
		return v
	})
	once(&l.inv.Settings, func(v evidence.Setting) any {
		if v.Name != settingNVLS {
			return nil
		}
		v.From = evidence.Source{}
		return v
	})
	l.addUp()
	l.limitConnections()
	fragment.Recount(n)
	for i := range n.Events {
		if e := &n.Events[i]; e.Rank < 0 && e.Process != 0 {
			if rank, ok := l.ranks[processID{e.Host, e.Process}]; ok {
				e.Rank = rank
			}
		}
	}
}

// addUp makes one of the counts of the same thing, at the place of the first.
func (l *Log) addUp() {
	n := &l.inv.NCCL
	combine(&n.Channels, func(c evidence.ChannelCount) channelKey { return channelKey{c.Host, c.Via} }, func(to *evidence.ChannelCount, c evidence.ChannelCount) {
		to.GDR += c.GDR
		to.Total += c.Total
	})
	combine(&n.Tuning, func(c evidence.TuningChoice) tuningKey {
		return tuningKey{c.Host, c.Collective, int64(c.Bytes), c.Algorithm, c.Protocol}
	}, func(to *evidence.TuningChoice, c evidence.TuningChoice) { to.Count += c.Count })
	combine(&n.CallsSeen, func(c evidence.CallSeen) calledKey {
		return calledKey{c.Host, c.Collective, int(c.Elements), c.Type}
	}, func(to *evidence.CallSeen, c evidence.CallSeen) {
		to.Count += c.Count
		to.LastOp = max(to.LastOp, c.LastOp)
	})
}

// limitConnections keeps as many ends as one log does.
func (l *Log) limitConnections() {
	n := &l.inv.NCCL
	if more := len(n.Connections) - MaxConnections; more > 0 {
		n.Connections, n.MoreConnections = n.Connections[:MaxConnections], n.MoreConnections+more
	}
}

// combine adds elements to the first of the same key.
func combine[T any, K comparable](list *[]T, key func(T) K, add func(to *T, v T)) {
	at := make(map[K]int, len(*list))
	kept := (*list)[:0]
	for _, v := range *list {
		k := key(v)
		if i, ok := at[k]; ok {
			add(&kept[i], v)
			continue
		}
		at[k] = len(kept)
		kept = append(kept, v)
	}
	*list = kept
}

// once keeps the first element of each key; all of those whose key is nil.
func once[T any](list *[]T, key func(T) any) {
	seen := make(map[any]bool, len(*list))
	*list = slices.DeleteFunc(*list, func(v T) bool {
		k := key(v)
		if k == nil {
			return false
		}
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
}
