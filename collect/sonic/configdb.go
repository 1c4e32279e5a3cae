package sonic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// configDB is the part of /etc/sonic/config_db.json, or of show runningconfiguration all, that tells how packets are
// sorted, marked and paused, and what hangs off which port (sonic-buildimage: sonic-yang-models and
// files/build_templates/qos_config.j2). Values are text throughout, and older releases write references to other tables
// in brackets: "[DSCP_TO_TC_MAP|AZURE]".
type configDB struct {
	Metadata map[string]struct {
		Hostname string `json:"hostname"`
		Model    string `json:"hwsku"`
		Type     string `json:"type"`
	} `json:"DEVICE_METADATA"`
	Versions map[string]struct {
		Version string `json:"VERSION"`
	} `json:"VERSIONS"`
	Ports map[string]struct {
		Speed       string `json:"speed"`
		MTU         string `json:"mtu"`
		FEC         string `json:"fec"`
		Admin       string `json:"admin_status"`
		Description string `json:"description"`
	} `json:"PORT"`
	Neighbors map[string]struct {
		Name string `json:"name"`
		Port string `json:"port"`
	} `json:"DEVICE_NEIGHBOR"`
	NeighborKinds map[string]struct {
		Type string `json:"type"`
	} `json:"DEVICE_NEIGHBOR_METADATA"`
	DSCPToTC map[string]map[string]string `json:"DSCP_TO_TC_MAP"`
	TCToPG   map[string]map[string]string `json:"TC_TO_PRIORITY_GROUP_MAP"`
	TCToQ    map[string]map[string]string `json:"TC_TO_QUEUE_MAP"`
	PFCToPG  map[string]map[string]string `json:"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"`
	PFCToQ   map[string]map[string]string `json:"MAP_PFC_PRIORITY_TO_QUEUE"`
	PortMaps map[string]struct {
		DSCPToTC string `json:"dscp_to_tc_map"`
		TCToPG   string `json:"tc_to_pg_map"`
		TCToQ    string `json:"tc_to_queue_map"`
		PFCToPG  string `json:"pfc_to_pg_map"`
		PFCToQ   string `json:"pfc_to_queue_map"`
		PFC      string `json:"pfc_enable"`
		Watch    string `json:"pfcwd_sw_enable"`
	} `json:"PORT_QOS_MAP"`
	Queues map[string]struct {
		Marking string `json:"wred_profile"`
	} `json:"QUEUE"`
	Marking map[string]map[string]string `json:"WRED_PROFILE"`
	Groups  map[string]struct {
		Profile string `json:"profile"`
	} `json:"BUFFER_PG"`
	QueueBuffers map[string]struct {
		Profile string `json:"profile"`
	} `json:"BUFFER_QUEUE"`
	Buffers  map[string]map[string]string `json:"BUFFER_PROFILE"`
	Watchdog map[string]map[string]string `json:"PFC_WD"`
	Spray    map[string]struct {
		Interval string `json:"sampling_interval"` // microseconds
	} `json:"ARS_PROFILE"`
	SprayGroups map[string]struct {
		Profile string `json:"profile_name"`
		Mode    string `json:"assign_mode"`
	} `json:"ARS_NEXTHOP_GROUP"`
}

// ConfigTables are names of which one at least stands at the top of the file; PORT_QOS_MAP alone is what people cut out.
var ConfigTables = []string{"DSCP_TO_TC_MAP", "PORT_QOS_MAP", "WRED_PROFILE", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "BUFFER_PROFILE", "DEVICE_METADATA", "PFC_WD"}

// ReadConfigDB reads config_db.json.
func ReadConfigDB(f *fragment.Fragment, text []byte, line int) error {
	var db configDB
	if err := json.Unmarshal(text, &db); err != nil {
		return err
	}
	m := db.Metadata["localhost"]
	if m.Hostname != "" {
		f.Host = m.Hostname
	}
	at := f.At(line)
	s := f.Inv.Switch(f.Host)
	if m.Model != "" {
		s.Model = evidence.Known(m.Model, at)
	}
	if s.Tier == "" {
		s.Tier = tierOf(m.Type)
	}
	if v := db.Versions["DATABASE"].Version; v != "" {
		s.Software = evidence.Known(v, at)
	}
	q := &evidence.SwitchQoS{
		DSCPToTC: map[string]evidence.DSCPMap{}, TCToPG: classMaps(db.TCToPG), TCToQ: classMaps(db.TCToQ), PFCToPG: classMaps(db.PFCToPG), PFCToQ: classMaps(db.PFCToQ),
		Marking: map[string]evidence.MarkingProfile{}, Buffers: map[string]evidence.BufferProfile{}, From: at,
	}
	for name, entries := range db.DSCPToTC {
		d := evidence.NoDSCP()
		for k, v := range entries {
			if dscp, ok := small(k, len(d)); ok {
				if tc, ok := small(v, evidence.Priorities); ok {
					d[dscp] = int8(tc)
				}
			}
		}
		q.DSCPToTC[name] = d
	}
	for name, p := range db.Marking {
		q.Marking[name] = markingProfile(p, at)
	}
	for name, p := range db.Buffers {
		q.Buffers[name] = evidence.BufferProfile{Pool: reference(p["pool"]), Size: bytesOf(p["size"], at), XOn: bytesOf(p["xon"], at), XOff: bytesOf(p["xoff"], at), Dynamic: number(p["dynamic_th"], at), Static: bytesOf(p["static_th"], at), From: at}
	}
	if g := db.Watchdog["GLOBAL"]; g != nil {
		q.PauseWatch = number(g["POLL_INTERVAL"], at)
	}
	if s.QoS != nil { // profiles that show ecn listed
		for name, p := range s.QoS.Marking {
			if _, there := q.Marking[name]; !there {
				q.Marking[name] = p
			}
		}
	}
	if len(db.PortMaps)+len(db.DSCPToTC)+len(db.Queues)+len(db.Marking)+len(db.Groups)+len(db.Watchdog) > 0 {
		s.QoS = q
	}
	if spray := db.spraying(at); spray != nil {
		s.Spray = spray
	}
	db.ports(s, at)
	return nil
}

// spraying is how a switch sprays packets (adaptive routing and switching, ARS): nil where no group of next hops chooses by packet. A
// profile that does not set its sampling interval has that of the chip, which is not known here.
func (db *configDB) spraying(at evidence.Source) *evidence.Spraying {
	for _, name := range sorted(db.SprayGroups) {
		g := db.SprayGroups[name]
		if !strings.HasPrefix(g.Mode, "per_packet") {
			continue
		}
		spray := &evidence.Spraying{From: at}
		if us, ok := number(db.Spray[reference(g.Profile)].Interval, at).Get(); ok && us > 0 {
			spray.Refresh = evidence.Known(units.Duration(us)*units.Microsecond, at)
		}
		return spray
	}
	return nil
}

// ports fills what is set by port.
func (db *configDB) ports(s *evidence.Switch, at evidence.Source) {
	for _, name := range sorted(db.Ports) {
		c := db.Ports[name]
		p := s.Port(name)
		if mbps, err := strconv.ParseUint(c.Speed, 10, 31); err == nil {
			p.Nominal = evidence.Known(units.Rate(mbps)*units.Mbps, at)
		}
		p.MTU = number(c.MTU, at)
		if c.FEC != "" {
			p.FECSet = evidence.Known(c.FEC, at)
		}
		if c.Description != "" {
			p.Description = evidence.Known(c.Description, at)
		}
	}
	for _, name := range sorted(db.Neighbors) {
		n := db.Neighbors[name]
		p := s.Port(name)
		if p.Peer == "" && n.Name != "" {
			p.Peer = n.Name
			if n.Port != "" {
				p.Peer += "/" + n.Port
			}
		}
		kind := tierOf(db.NeighborKinds[n.Name].Type)
		if kind == "" {
			kind = tierByName(n.Name)
		}
		p.Uplink = p.Uplink || above(kind, s)
	}
	qos := func(name string) *evidence.PortQoS {
		p := s.Port(name)
		if p.QoS == nil {
			p.QoS = &evidence.PortQoS{From: at}
		}
		return p.QoS
	}
	for _, name := range sorted(db.PortMaps) {
		m := db.PortMaps[name]
		names := strings.Split(name, ",") // older releases list ports in one key
		if name == "global" {
			continue
		}
		for _, one := range names {
			q := qos(one)
			q.DSCPToTC, q.TCToPG, q.TCToQ = named(m.DSCPToTC, at), named(m.TCToPG, at), named(m.TCToQ, at)
			q.PFCToPG, q.PFCToQ = named(m.PFCToPG, at), named(m.PFCToQ, at)
			q.PFC, q.Watch = flags(m.PFC, at), flags(m.Watch, at)
		}
	}
	// "global" holds the maps of switches that sort alike on all ports.
	if g, ok := db.PortMaps["global"]; ok && g.DSCPToTC != "" {
		for i := range s.Ports {
			if q := qos(s.Ports[i].Name); !q.DSCPToTC.Known() {
				q.DSCPToTC = named(g.DSCPToTC, at)
			}
		}
	}
	for _, key := range sorted(db.Queues) {
		v := db.Queues[key]
		if v.Marking != "" {
			eachClass(key, func(port string, class int) { qos(port).Marking[class] = named(v.Marking, at) })
		}
	}
	for _, key := range sorted(db.Groups) {
		v := db.Groups[key]
		eachClass(key, func(port string, class int) { qos(port).Groups[class] = named(v.Profile, at) })
	}
	for _, key := range sorted(db.QueueBuffers) {
		v := db.QueueBuffers[key]
		eachClass(key, func(port string, class int) { qos(port).Queues[class] = named(v.Profile, at) })
	}
}

// eachClass takes a key apart: "Ethernet0|3-4", "Ethernet0,Ethernet4|3". A key of three parts names a card of a chassis
// first.
func eachClass(key string, do func(port string, class int)) {
	i := strings.LastIndexByte(key, '|')
	if i < 0 {
		return
	}
	ports, classes := key[:i], key[i+1:]
	if j := strings.LastIndexByte(ports, '|'); j >= 0 {
		ports = ports[j+1:]
	}
	first, last, ranged := strings.Cut(classes, "-")
	if !ranged {
		last = first
	}
	a, ok1 := small(first, evidence.Priorities)
	b, ok2 := small(last, evidence.Priorities)
	if !ok1 || !ok2 {
		return
	}
	for port := range strings.SplitSeq(ports, ",") {
		for class := a; class <= b; class++ {
			do(port, class)
		}
	}
}

func classMaps(tables map[string]map[string]string) map[string]evidence.ClassMap {
	all := map[string]evidence.ClassMap{}
	for name, entries := range tables {
		m := evidence.NoClass()
		for k, v := range entries {
			if from, ok := small(k, len(m)); ok {
				if to, ok := small(v, len(m)); ok {
					m[from] = int8(to)
				}
			}
		}
		all[name] = m
	}
	return all
}

func markingProfile(p map[string]string, at evidence.Source) evidence.MarkingProfile {
	m := evidence.MarkingProfile{Min: bytesOf(p["green_min_threshold"], at), Max: bytesOf(p["green_max_threshold"], at), From: at}
	if percent, err := strconv.ParseFloat(p["green_drop_probability"], 64); err == nil && percent >= 0 && percent <= 100 {
		m.Share = evidence.Known(percent/100, at)
	}
	switch ecn := p["ecn"]; {
	case ecn != "":
		m.ECN = evidence.Known(ecn, at)
	case p["wred_green_enable"] != "":
		m.ECN = evidence.Known("ecn_none", at) // the default of the profile (SAI_ECN_MARK_MODE_NONE)
	}
	return m
}

// tierOf takes the role a device has in a fabric for its tier (DEVICE_METADATA type).
func tierOf(kind string) string {
	switch strings.ToLower(kind) {
	case "torrouter", "backendtorrouter":
		return "leaf"
	case "leafrouter", "backendleafrouter":
		return "spine"
	case "spinerouter", "upperspinerouter":
		return "core"
	}
	return ""
}

// sorted lists keys in the order of their numbers, so that Ethernet8 comes before Ethernet16.
func sorted[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

// above tells whether a tier is above a switch's; a switch whose tier nothing else tells goes by its name.
func above(tier string, s *evidence.Switch) bool {
	if s.Tier == "" {
		s.Tier = tierByName(s.Name)
	}
	return s.Tier != "" && tier != "" && strings.Index(tiers, tier) > strings.Index(tiers, s.Tier)
}

const tiers = "leaf spine core"

// tierByName takes the tier from a name that says it, "" for any other.
func tierByName(name string) string {
	name = strings.ToLower(name)
	for _, t := range []struct{ word, tier string }{{"superspine", "core"}, {"super-spine", "core"}, {"core", "core"}, {"spine", "spine"}, {"leaf", "leaf"}, {"tor", "leaf"}} {
		if strings.Contains(name, t.word) {
			return t.tier
		}
	}
	return ""
}

// reference takes the name out of "[TABLE|NAME]".
func reference(v string) string {
	v = strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
	if i := strings.LastIndexByte(v, '|'); i >= 0 {
		v = v[i+1:]
	}
	return v
}

func named(v string, at evidence.Source) evidence.Value[string] {
	if v = reference(v); v == "" {
		return evidence.Missing[string]("not set", at)
	}
	return evidence.Known(v, at)
}

// flags reads "3,4".
func flags(v string, at evidence.Source) evidence.Value[[evidence.Priorities]bool] {
	var set [evidence.Priorities]bool
	if strings.TrimSpace(v) == "" {
		return evidence.Known(set, at)
	}
	for part := range strings.SplitSeq(v, ",") {
		n, ok := small(strings.TrimSpace(part), evidence.Priorities)
		if !ok {
			return evidence.Missing[[evidence.Priorities]bool]("not a list of priorities: "+v, at)
		}
		set[n] = true
	}
	return evidence.Known(set, at)
}

func small(v string, limit int) (int, bool) {
	n, err := strconv.ParseUint(v, 10, 8)
	return int(n), err == nil && int(n) < limit
}

func number(v string, at evidence.Source) evidence.Value[int] {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return evidence.Value[int]{}
	}
	return evidence.Known(int(n), at)
}

func bytesOf(v string, at evidence.Source) evidence.Value[units.Bytes] {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return evidence.Value[units.Bytes]{}
	}
	return evidence.Known(units.Bytes(n), at)
}
