// Package lldp owns reading what a host hears from the switches it is cabled to: lldpctl (lldpd), as text, as pairs of
// names and values, and as JSON. It tells which port of which switch an interface hangs off.
package lldp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Neighbors reads lldpctl and lldpctl -f keyvalue (lldpd, src/client/display.c and kv_writer.c):
//
//	Interface:    ens3np0, via: LLDP, RID: 1, Time: 0 day, 01:02:03
//	  Chassis:
//	    SysName:      leaf1
//	  Port:
//	    PortID:       ifname Ethernet8
//	    PortDescr:    to node1
//	lldp.ens3np0.chassis.name=leaf1
//	lldp.ens3np0.port.ifname=Ethernet8
//
// A port that is known by its MAC address alone goes by its description.
type Neighbors struct {
	f *fragment.Fragment
	heard
}

// heard is one neighbour, as far as it was read.
type heard struct {
	dev, system, port, description string
	line                           int
}

// New makes a reader for one output.
func New(f *fragment.Fragment) *Neighbors { return &Neighbors{f: f} }

// Starts tells whether a line begins a neighbour.
func Starts(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Interface: ")) && bytes.Contains(line, []byte(", via: LLDP")) || bytes.HasPrefix(line, []byte("lldp.")) && bytes.IndexByte(line, '=') > 0 || bytes.HasPrefix(line, []byte("LLDP neighbors:"))
}

// Line reads one line; false means that it is not of the output.
func (r *Neighbors) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if rest, ok := strings.CutPrefix(t, "lldp."); ok {
		r.pair(rest, n)
		return true
	}
	key, value, ok := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "Interface":
		r.End()
		dev, _, _ := strings.Cut(value, ",")
		r.heard = heard{dev: dev, line: n}
	case "SysName":
		r.system = value
	case "PortID":
		kind, id, _ := strings.Cut(value, " ")
		if kind != "mac" {
			r.port = id
		}
	case "PortDescr":
		r.description = value
	default:
		return ok || t == "" || strings.HasPrefix(t, "---")
	}
	return true
}

// pair reads "ens3np0.chassis.name=leaf1"; names of interfaces may have dots.
func (r *Neighbors) pair(t string, n int) {
	name, value, _ := strings.Cut(t, "=")
	for _, field := range []struct {
		suffix string
		to     *string
	}{{".chassis.name", &r.system}, {".port.ifname", &r.port}, {".port.local", &r.port}, {".port.descr", &r.description}} {
		dev, ok := strings.CutSuffix(name, field.suffix)
		if !ok {
			continue
		}
		if dev != r.dev {
			r.End()
			r.heard = heard{dev: dev, line: n}
		}
		*field.to = value
		return
	}
}

// End keeps the neighbour that was read last.
func (r *Neighbors) End() {
	r.keep(r.f)
	r.heard = heard{}
}

func (h heard) keep(f *fragment.Fragment) {
	if h.port == "" {
		h.port = h.description
	}
	if h.dev == "" || h.system == "" || h.port == "" {
		return
	}
	h.system, _, _ = strings.Cut(h.system, ".")
	f.TheHost().Dev(h.dev).Neighbor = evidence.Known(h.system+"/"+h.port, f.At(h.line))
}

// face is one interface of lldpctl -f json: chassis go by the name of the system.
type face struct {
	Chassis map[string]json.RawMessage `json:"chassis"`
	Port    struct {
		ID struct {
			Type  string `json:"type"`
			Value string `json:"value"`
		} `json:"id"`
		Description string `json:"descr"`
	} `json:"port"`
}

// Read reads lldpctl -f json. Where several neighbours were heard the interfaces are a list of objects with one member
// each, else one object.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var a struct {
		LLDP struct {
			Interface json.RawMessage `json:"interface"`
		} `json:"lldp"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	var list []map[string]face
	if err := json.Unmarshal(a.LLDP.Interface, &list); err != nil {
		var one map[string]face
		if err := json.Unmarshal(a.LLDP.Interface, &one); err != nil {
			return err
		}
		list = append(list, one)
	}
	for _, faces := range list {
		for _, dev := range slices.Sorted(maps.Keys(faces)) {
			i := faces[dev]
			h := heard{dev: dev, description: i.Port.Description, line: line}
			if i.Port.ID.Type != "mac" {
				h.port = i.Port.ID.Value
			}
			for _, name := range slices.Sorted(maps.Keys(i.Chassis)) {
				h.system = name
			}
			h.keep(f)
		}
	}
	return nil
}
