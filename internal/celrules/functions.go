package celrules

import (
	"fmt"
	"slices"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/shunt-network/shunt/rules"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// streams answers for the series of the cluster that is judged.
type streams struct{ list map[streamKey][]rules.Stream }

type streamKey struct{ series, object string }

// use takes the series of a cluster.
func (s *streams) use(c *rules.Cluster) {
	s.list = make(map[streamKey][]rules.Stream, len(c.Series))
	for _, x := range c.Series {
		k := streamKey{x.Series, x.Object}
		s.list[k] = append(s.list[k], x)
	}
}

// Measures are the functions over series and what they need: how often what they read is known.
var measures = []struct {
	name string
	kind telemetry.Kind
	read func(rules.Stream) (float64, bool)
	join func(a, b float64) float64 // over priorities, where none is given
}{
	{"growth", telemetry.Counter, func(s rules.Stream) (float64, bool) { return known(s.Growth) }, func(a, b float64) float64 { return a + b }},
	{"rate", telemetry.Counter, func(s rules.Stream) (float64, bool) {
		g, ok := known(s.Growth)
		t, timed := known(s.Seconds)
		return g / t, ok && timed && t > 0
	}, func(a, b float64) float64 { return a + b }},
	{"level", telemetry.Gauge, func(s rules.Stream) (float64, bool) { return known(s.Max) }, func(a, b float64) float64 { return max(a, b) }},
	{"last", telemetry.Gauge, func(s rules.Stream) (float64, bool) { return known(s.Last) }, func(a, b float64) float64 { return max(a, b) }},
}

func known(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

// functions declares what expressions have besides the language's own:
//
//	growth(series, object), growth(series, object, priority)   of a counter over the window
//	rate(series, object [, priority])                          the same a second
//	level(series, object [, priority])                         the highest of a gauge
//	last(series, object [, priority])                          its last value
//	objects(series)                                            the objects that have it
//	gbps(bits)                                                 "400 Gbps"
//	percent(share)                                             "12 %"
//
// Without a priority a measure is of all of them together.
func (s *streams) functions() []cel.EnvOption {
	var list []cel.EnvOption
	for _, m := range measures {
		list = append(list, cel.Function(m.name,
			cel.Overload(m.name+"_object", []*cel.Type{cel.StringType, cel.StringType}, cel.DoubleType, cel.BinaryBinding(func(series, object ref.Val) ref.Val {
				return s.measure(m.name, series, object, nil)
			})),
			cel.Overload(m.name+"_priority", []*cel.Type{cel.StringType, cel.StringType, cel.IntType}, cel.DoubleType, cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return s.measure(m.name, args[0], args[1], args[2])
			})),
		))
	}
	return append(list,
		cel.Function("objects", cel.Overload("objects_series", []*cel.Type{cel.StringType}, cel.ListType(cel.StringType), cel.UnaryBinding(s.objects))),
		cel.Function("gbps", cel.Overload("gbps_int", []*cel.Type{cel.IntType}, cel.StringType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.String(units.Rate(v.(types.Int)).String())
		}))),
		cel.Function("percent", cel.Overload("percent_double", []*cel.Type{cel.DoubleType}, cel.StringType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.String(strconv.FormatFloat(float64(v.(types.Double))*100, 'g', 3, 64) + " %")
		}))),
	)
}

// measure reads one measure of one object; what is not known is an error, as everywhere.
func (s *streams) measure(name string, series, object, priority ref.Val) ref.Val {
	id, thing := string(series.(types.String)), string(object.(types.String))
	var sum float64
	found := false
	for _, x := range s.list[streamKey{id, thing}] {
		if priority != nil && (x.Priority == nil || types.Int(*x.Priority) != priority.(types.Int)) {
			continue
		}
		for _, m := range measures {
			if m.name != name {
				continue
			}
			if v, ok := m.read(x); ok {
				if found {
					sum = m.join(sum, v)
				} else {
					sum, found = v, true
				}
			}
		}
	}
	if !found {
		return types.NewErr("the %s of %s of %s is not known", name, id, thing)
	}
	return types.Double(sum)
}

// objects lists what has a series, in order.
func (s *streams) objects(series ref.Val) ref.Val {
	var list []string
	for k := range s.list {
		if k.series == string(series.(types.String)) {
			list = append(list, k.object)
		}
	}
	slices.Sort(list)
	return types.DefaultTypeAdapter.NativeToValue(list)
}

// mistakeIn says what is wrong with the name of a series as a function is given it, "" where nothing is.
func mistakeIn(function, series string) string {
	for id := range telemetry.SeriesCount {
		if id.String() != series {
			continue
		}
		for _, m := range measures {
			if m.name == function && m.kind != telemetry.Catalogue[id].Kind {
				if m.kind == telemetry.Counter {
					return fmt.Sprintf("%s is a gauge: level or last read it", series)
				}
				return fmt.Sprintf("%s is a counter: growth or rate read it", series)
			}
		}
		return ""
	}
	return fmt.Sprintf("there is no series %q; docs/series.md lists them", series)
}
