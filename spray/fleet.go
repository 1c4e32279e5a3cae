package spray

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The fleet check of S0.12: which NICs of a cluster do not understand one another's PPCIDs, and what to do about it before a job finds out
// by packets that vanish without a log line. It goes by what is known of each NIC: its layout where somebody told it, else its
// firmware. No public tool prints a layout (article 000 says that ibstat does; it prints the firmware), but two NICs of one model
// with one firmware have the same layout, whichever it is.

// LayoutNone is the layout of a NIC that writes no context ids and ignores the field, as all do that follow RoCEv2.
const LayoutNone Layout = "none"

// FleetNIC is one NIC. Empty texts are not known.
type FleetNIC struct {
	Host     string `json:"host"`
	Device   string `json:"device,omitempty"`
	Model    string `json:"model,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	Layout   Layout `json:"layout,omitempty"`
	Since    string `json:"since,omitempty"` // the oldest firmware that understands the layout
	From     string `json:"from,omitempty"`  // file and line, for messages
}

// Name is the host and the device.
func (n *FleetNIC) Name() string {
	if n.Device == "" {
		return n.Host
	}
	return n.Host + " " + n.Device
}

// FleetGroup is NICs that are alike.
type FleetGroup struct {
	Model    string   `json:"model,omitempty"`
	Firmware string   `json:"firmware,omitempty"`
	Layout   Layout   `json:"layout,omitempty"`
	NICs     []string `json:"nics"`

	version Firmware
	valid   bool // of version
	since   Firmware
	bounded bool // by since
}

// FleetOutcome is whether two groups understand each other.
type FleetOutcome string

// Outcomes.
const (
	FleetTalks    FleetOutcome = "talk"     // the same layout
	FleetIgnored  FleetOutcome = "no ids"   // one of them has no ids: packets arrive, their order is left to the BTH
	FleetRejects  FleetOutcome = "rejected" // another version, which is noticed: ids are dropped, and a counter can tell
	FleetMisreads FleetOutcome = "misread"  // other bits, which nobody notices
	FleetUnknown  FleetOutcome = "unknown"
)

// FleetPair is two groups that are not known to understand each other.
type FleetPair struct {
	A        int          `json:"a"` // in Groups
	B        int          `json:"b"`
	Outcome  FleetOutcome `json:"outcome"`
	Why      string       `json:"why"`
	NICPairs uint64       `json:"nic_pairs"`
}

// FleetChange is what to do about a group.
type FleetChange struct {
	Group int    `json:"group"` // in Groups
	Do    string `json:"do"`
}

// FleetStatus is the verdict.
type FleetStatus string

// Verdicts.
const (
	FleetAgrees    FleetStatus = "agrees"
	FleetDisagrees FleetStatus = "disagrees" // some cannot read others' ids, or are older than a minimum
	FleetUndecided FleetStatus = "undecided"
)

// FleetVerdict is what came of the check.
type FleetVerdict struct {
	Status  FleetStatus   `json:"status"`
	NICs    int           `json:"nics"`
	Groups  []FleetGroup  `json:"groups"` // the largest first
	Pairs   []FleetPair   `json:"pairs"`  // that do not talk, or are not known to
	Changes []FleetChange `json:"changes"`
	Notes   []string      `json:"notes"`
}

// maxGroups bounds the kinds of NIC that are compared with each other: a site has a few, and each pair is looked at.
const maxGroups = 500

// CheckFleet compares all NICs with each other. A minimum is a firmware below which a NIC of the same family is to be upgraded.
func CheckFleet(nics []FleetNIC, minimums []Firmware) FleetVerdict {
	v := FleetVerdict{Status: FleetAgrees, NICs: len(nics), Groups: group(nics), Pairs: []FleetPair{}, Changes: []FleetChange{}, Notes: []string{}}
	if len(nics) == 0 {
		v.Status = FleetUndecided
		v.Notes = append(v.Notes, "no NIC is known")
		return v
	}
	unknown := false
	if rest := len(v.Groups) - maxGroups; rest > 0 {
		unknown = true
		v.Notes = append(v.Notes, fmt.Sprintf("there are more than %d kinds of NIC; the %d rarest were not compared", maxGroups, rest))
		v.Groups = v.Groups[:maxGroups]
	}
	for a := range v.Groups {
		for b := a; b < len(v.Groups); b++ {
			outcome, why := meet(&v.Groups[a], &v.Groups[b])
			n, m := uint64(len(v.Groups[a].NICs)), uint64(len(v.Groups[b].NICs))
			pairs := n * m
			if a == b {
				pairs = n * (n - 1) / 2
			}
			switch outcome {
			case FleetTalks:
				continue
			case FleetUnknown:
				unknown = true
				if pairs == 0 { // a NIC of which nothing is known, on its own
					continue
				}
			case FleetRejects, FleetMisreads:
				v.Status = FleetDisagrees
			}
			v.Pairs = append(v.Pairs, FleetPair{a, b, outcome, why, pairs})
		}
	}
	if unknown && v.Status == FleetAgrees {
		v.Status = FleetUndecided
	}
	v.changes(minimums)
	v.notes()
	return v
}

// group puts NICs that are alike together.
func group(nics []FleetNIC) []FleetGroup {
	type key struct {
		model, firmware, since string
		layout                 Layout
	}
	at := map[key]int{}
	groups := []FleetGroup{}
	for i := range nics {
		n := &nics[i]
		version, valid := ParseFirmware(n.Firmware)
		k := key{n.Model, strings.TrimSpace(n.Firmware), strings.TrimSpace(n.Since), n.Layout}
		if valid {
			k.firmware, _, _ = strings.Cut(k.firmware, " ") // without the board
			k.model = cmp.Or(version.Model(), k.model)
		}
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k] = g
			made := FleetGroup{Model: k.model, Firmware: k.firmware, Layout: k.layout, version: version, valid: valid}
			made.since, made.bounded = ParseFirmware(k.since)
			groups = append(groups, made)
		}
		groups[g].NICs = append(groups[g].NICs, n.Name())
	}
	slices.SortStableFunc(groups, func(a, b FleetGroup) int {
		return cmp.Or(cmp.Compare(len(b.NICs), len(a.NICs)), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Firmware, b.Firmware), cmp.Compare(a.Layout, b.Layout))
	})
	return groups
}

// meet tells whether two groups understand each other, both ways; two of one group too.
func meet(a, b *FleetGroup) (FleetOutcome, string) {
	switch {
	case a.Layout == LayoutNone && b.Layout == LayoutNone:
		return FleetTalks, ""
	case a.Layout != "" && b.Layout != "" && (a.Layout == LayoutNone || b.Layout == LayoutNone):
		return FleetIgnored, "one of them has no context ids: packets arrive, and their order is left to the BTH"
	case a.Layout != "" && a.Layout == b.Layout:
		return FleetTalks, ""
	case a.Layout == "" || b.Layout == "":
		if a.valid && b.valid && a.Firmware == b.Firmware && a.Model == b.Model {
			return FleetTalks, "" // the same program
		}
		if !a.valid || !b.valid {
			return FleetUnknown, "neither layout nor firmware is known of both"
		}
		return FleetUnknown, "their firmwares differ, and the layout is not known of both"
	}
	there, err := Misread(a.Layout, b.Layout)
	if err != nil {
		return FleetMisreads, fmt.Sprintf("%s and %s are two layouts", a.Layout, b.Layout)
	}
	back, err := Misread(b.Layout, a.Layout)
	if err != nil {
		return FleetMisreads, fmt.Sprintf("%s and %s are two layouts", a.Layout, b.Layout)
	}
	if there.Rejected == 1 && back.Rejected == 1 {
		return FleetRejects, "each rejects the other's version"
	}
	worse, other := there, back
	if worse.Rejected > other.Rejected {
		worse, other = other, worse
	}
	why := fmt.Sprintf("%s, read as %s, gives a wrong %s", worse.Writer, worse.Reader, words(worse.Wrong))
	if worse.Rejected > 0 {
		why += fmt.Sprintf(", in the %.3g %% that are not rejected", 100*(1-worse.Rejected))
	}
	return FleetMisreads, why
}

// words lists parts in a sentence.
func words(parts []Part) string {
	var names []string
	for _, p := range parts {
		names = append(names, p.String())
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
