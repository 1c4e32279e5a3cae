package diagnose

import (
	"net/netip"
	"slices"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// facts holds what many causes ask of one View, worked out once: a job on thousands of hosts reports a hundred thousand
// events, and eighty causes that each walk them all would take seconds. A View that was not given to Run has none, and
// its questions are answered each time anew.
//
// What facts hands out is shared: it is read, never changed. Slices have no room beyond their end, so append copies.
type facts struct {
	said        map[kindSet][]evidence.Event
	unreachable *[]evidence.Event
	hostPorts   *[]hostPort
	jobDevices  *jobDevices
	ports       *[]port
	nics        *[]nic
	owners      *map[netip.Addr]place
	jobHosts    *[]string
	releases    *releases
	lists       *[]hostDevices
	hosts       map[string]*evidence.Host
	keys        map[telemetry.SeriesID][]telemetry.Key
	switches    *map[string]bool
	groups      *[]group
	siblings    *map[string]group
	priority    *int8
	linkEnds    *[]linkEnd
	pciNICs     *[]pciNIC
	endOf       *map[string]linkEnd
	sisters     *map[string]map[units.Rate]int
	otherEnds   *map[string]port
	variables   *map[string]settings
}

// settings is what the hosts of a job saw of one variable.
type settings struct {
	first  evidence.EnvVar
	byHost map[string]evidence.EnvVar // the first of each; "" for a command line or a file without a host
}

// kindSet is a set of kinds of event, a bit each.
type kindSet uint32

func kindsOf(kinds []evidence.EventKind) (s kindSet) {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// withFacts is the view with an empty store of facts, for one Run.
func (v *View) withFacts() *View {
	w := *v
	w.facts = &facts{said: map[kindSet][]evidence.Event{}, keys: map[telemetry.SeriesID][]telemetry.Key{}}
	return &w
}

// once answers from the place a fact is kept in, and works it out where it is not there yet.
func once[T any](v *View, place func(*facts) **T, work func() T) T {
	if v.facts == nil {
		return work()
	}
	kept := place(v.facts)
	if *kept == nil {
		answer := work()
		*kept = &answer
	}
	return **kept
}

// without leaves out the events that drop holds for. The given ones stay as they are.
func without(events []evidence.Event, drop func(evidence.Event) bool) []evidence.Event {
	var rest []evidence.Event
	for _, e := range events {
		if !drop(e) {
			rest = append(rest, e)
		}
	}
	return slices.Clip(rest)
}

// host finds a host by name, nil where there is none.
func (v *View) host(name string) *evidence.Host {
	if v.facts != nil {
		if v.facts.hosts == nil {
			v.facts.hosts = make(map[string]*evidence.Host, len(v.Inv.Hosts))
			for _, h := range v.Inv.Hosts {
				v.facts.hosts[h.Name] = h
			}
		}
		return v.facts.hosts[name]
	}
	for _, h := range v.Inv.Hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// keys lists the streams of a series, by object and priority; none where there is no window.
func (v *View) keys(id telemetry.SeriesID) []telemetry.Key {
	if v.Win == nil {
		return nil
	}
	if v.facts == nil {
		return v.Win.Keys(id)
	}
	keys, ok := v.facts.keys[id]
	if !ok {
		keys = v.Win.Keys(id)
		v.facts.keys[id] = keys[:len(keys):len(keys)]
	}
	return keys
}
