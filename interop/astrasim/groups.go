package astrasim

import (
	"io"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/interop/source"
)

// Groups are the communicators of a trace, by name.
type Groups struct {
	names  []string
	ranks  [][]int32
	Report *source.Report
}

// ReadGroups reads communicator groups: {"1": [0, 1, 2, 3]}. The result is nil when the error, a spec.Problems, is not.
func ReadGroups(file string, in io.Reader) (*Groups, error) {
	settings, r := readSettings(file, in)
	g := &Groups{Report: r}
	for i := range settings {
		x := &settings[i]
		if !x.list || len(x.values) == 0 {
			r.Wrong(x, "group %s is no list of ranks; write %q: [0, 1]", source.Quote(x.key), x.key)
			continue
		}
		if g.of(x.key) != nil {
			r.Wrong(x, "group %s is given twice; remove one", source.Quote(x.key))
		}
		var ranks []int32
		seen := make(map[int64]bool, len(x.values))
		for k := range x.values {
			v, ok := r.Int(x.word(k), "a rank of group "+x.key, 0, fabric.MaxHosts)
			if ok && seen[v] {
				r.Wrong(x.places[k], "rank %d is in group %s twice; remove one", v, x.key)
			}
			seen[v] = true
			ranks = append(ranks, int32(v))
		}
		g.names, g.ranks = append(g.names, x.key), append(g.ranks, ranks)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return g, nil
}

// of is the ranks of a group, nil when there is none of the name.
func (g *Groups) of(name string) []int32 {
	if g == nil {
		return nil
	}
	if i := slices.Index(g.names, name); i >= 0 {
		return g.ranks[i]
	}
	return nil
}
