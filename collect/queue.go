package collect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

// queue is the files of one Load, in the order of their paths, and how they are read.
//
// The files of one host are read one after another, as a parser may need what an earlier file told; the hosts are read
// side by side, each into an inventory of its own, and these are put together in the order of the paths (merge.go).
// What comes out is therefore the same for any number of readers. Files whose path names no host are read as one more
// host, but for large ones and archives.
//
// A path can be wrong about its host: a transcript has prompts of others in it. Where two groups turn out to know the
// same host or switch they are read once more as one.
type queue struct {
	opt   Options
	items []item
	files int
}

func newQueue(opt Options) *queue { return &queue{opt: opt.filled()} }

// walker is a walk that fills the queue.
func (q *queue) walker() walker {
	return walker{q.opt, func(it item) {
		if it.why == "" {
			q.files++
			if q.files == q.opt.MaxFiles+1 {
				it.why = fmt.Sprintf("the first of the files past the limit of %d", q.opt.MaxFiles)
			} else if q.files > q.opt.MaxFiles {
				return
			}
		}
		q.items = append(q.items, it)
	}}
}

// group is files that are read by one session: places in the queue, in order.
type group []int

// largeBytes is the size from which a file that names no host is read by itself: the log of a job that runs for weeks,
// not the outputs that are pasted together for a question.
const largeBytes = 32 << 20

// groups divides the queue by the hosts that the paths name.
func (q *queue) groups() []group {
	if slices.ContainsFunc(q.items, func(it item) bool { return it.once }) {
		return q.together()
	}
	index := map[string]int{}
	var groups []group
	for at, it := range q.items {
		host, alone := it.whose()
		i, ok := index[host]
		if !ok || alone {
			i = len(groups)
			groups = append(groups, nil)
			if !alone {
				index[host] = i
			}
		}
		groups[i] = append(groups[i], at)
	}
	return groups
}

// together is one group of everything.
func (q *queue) together() []group {
	all := make(group, len(q.items))
	for i := range all {
		all[i] = i
	}
	return []group{all}
}

// whose is the host that the path of an item names, as session.stream finds it; alone tells that it names none and that
// the item is a group of its own.
func (it item) whose() (host string, alone bool) {
	if it.host != "" || it.why != "" {
		return it.host, false
	}
	speaks := it.name
	if l, ok := (*session)(nil).leafOf(it.name); ok {
		speaks = l.above + "/"
	}
	if host = hostOf(speaks); host != "" {
		return host, false
	}
	switch path.Ext(it.name) {
	case ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz", ".zip":
		return "", true
	}
	info, err := fs.Stat(it.fsys, it.file)
	return "", err == nil && info.Size() >= largeBytes
}

// load reads the queue.
func (q *queue) load(ctx context.Context) (*evidence.Inventory, *telemetry.Window, error) {
	groups := q.groups()
	sessions := make([]*session, len(groups))
	for round := 0; ; round++ {
		q.read(ctx, groups, sessions)
		if ctx.Err() != nil {
			break
		}
		before := len(groups)
		if groups, sessions = regroup(groups, sessions); len(groups) == before {
			break
		}
		if round == 1 { // what is read together may name hosts that it did not name apart; once is enough of that
			groups, sessions = q.together(), []*session{nil}
		}
	}
	s := q.merge(groups, sessions)
	cause := context.Cause(ctx)
	if cause != nil {
		first, left := q.unread(groups, sessions)
		s.unreadable(first, fmt.Sprintf("interrupted: %d of %d files were not read, this one first", left, len(q.items)))
	}
	inv, w, err := s.result()
	if err == nil {
		err = cause
	}
	return inv, w, err
}

// unread is how many items were not read, and the first of them.
func (q *queue) unread(groups []group, sessions []*session) (first string, n int) {
	at := len(q.items)
	for i, g := range groups {
		done := 0
		if sessions[i] != nil {
			done = sessions[i].done
		}
		if done < len(g) {
			at = min(at, g[done])
		}
		n += len(g) - done
	}
	if at < len(q.items) {
		first = q.items[at].show
	}
	return first, n
}

// read reads the groups that have not been read, as many at a time as the options say.
func (q *queue) read(ctx context.Context, groups []group, sessions []*session) {
	var open []int
	for i := range groups {
		if sessions[i] == nil {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(len(groups[b]), len(groups[a])) }) // the longest must not come last
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		next    int
		crashed any
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(open) || crashed != nil || ctx.Err() != nil {
			return 0, false
		}
		next++
		return open[next-1], true
	}
	for range min(q.opt.Parallel, len(open)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() {
				if value := recover(); value != nil {
					mu.Lock()
					defer mu.Unlock()
					crashed = fmt.Sprintf("%v\n%s", value, debug.Stack())
				}
			}()
			text := lines.NewReader(strings.NewReader("")) // one for all that this goroutine reads
			for i, ok := take(); ok; i, ok = take() {
				sessions[i] = q.session(ctx, groups[i], text)
			}
		}()
	}
	wg.Wait()
	if crashed != nil {
		panic(crashed) // where the caller can see it, and not the end of the process
	}
}

// session reads one group.
func (q *queue) session(ctx context.Context, g group, text *lines.Reader) *session {
	s := newSession(q.opt)
	s.ctx, s.lines = ctx, text
	for _, at := range g {
		if ctx.Err() != nil {
			break
		}
		s.at = at
		s.read(q.items[at])
		s.growth.mark(at)
		s.done++
	}
	s.finish()
	return s
}

// regroup makes one of groups that know the same host or switch. Those it changes have no session.
func regroup(groups []group, sessions []*session) ([]group, []*session) {
	belongs := make([]int, len(groups)) // to the first of those it has something in common with
	for i := range belongs {
		belongs[i] = i
	}
	find := func(i int) int {
		for belongs[i] != i {
			i = belongs[i]
		}
		return i
	}
	type thing struct {
		name     string
		isSwitch bool
	}
	owner := map[thing]int{}
	own := func(t thing, i int) {
		first, ok := owner[t]
		if !ok {
			owner[t] = i
			return
		}
		a, b := find(first), find(i)
		belongs[max(a, b)] = min(a, b)
	}
	for i, s := range sessions {
		for _, h := range s.inv.Hosts {
			own(thing{h.Name, false}, i)
		}
		for _, sw := range s.inv.Switches {
			own(thing{sw.Name, true}, i)
		}
	}
	var kept []group
	var read []*session
	place := map[int]int{}
	for i, g := range groups {
		first := find(i)
		if first == i {
			place[i] = len(kept)
			kept, read = append(kept, g), append(read, sessions[i])
			continue
		}
		k := place[first]
		kept[k], read[k] = append(slices.Clone(kept[k]), g...), nil
		slices.Sort(kept[k])
	}
	return kept, read
}
