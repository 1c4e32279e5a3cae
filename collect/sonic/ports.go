package sonic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Ports reads show interfaces status, and show interfaces description (sonic-utilities, scripts/intfutil):
//
//	  Interface        Lanes    Speed    MTU    FEC    Alias     Vlan    Oper    Admin             Type    Asym PFC
//	-----------  -----------  -------  -----  -----  -------  -------  ------  -------  ---------------  ----------
//	  Ethernet0  0,1,2,3,4,5     400G   9100     rs     etp1   routed      up       up  QSFP-DD Double…         off
type Ports struct {
	f *fragment.Fragment
	table
}

// NewPorts makes a reader for one output.
func NewPorts(f *fragment.Fragment) *Ports { return &Ports{f: f} }

// StartsPorts tells whether a line is the head of one of the tables.
func StartsPorts(line []byte) bool {
	return bytes.Contains(line, []byte("Interface")) && bytes.Contains(line, []byte("Oper")) && bytes.Contains(line, []byte("Admin")) && bytes.Contains(line, []byte("Alias"))
}

// Line reads one line; false means that it is not of the table.
func (t *Ports) Line(line []byte, n int) bool {
	switch {
	case StartsPorts(line):
		t.head, t.columns = split(line), nil
		return true
	case t.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := t.cells(line)
	name := t.cell(row, "Interface")
	if !isPort(name) {
		return strings.HasPrefix(name, "PortChannel")
	}
	at := t.f.At(n)
	s := t.f.Inv.Switch(t.f.Host)
	p := s.Port(name)
	if oper := t.cell(row, "Oper"); oper != "" {
		p.State = evidence.Known(oper, at)
	}
	up := p.State.Is(func(s string) bool { return s == "up" })
	if rate, ok := speedOf(t.cell(row, "Speed")); ok && up { // a port that is down shows the speed it is set to
		p.Rate = evidence.Known(rate, at)
	}
	if mtu, err := strconv.ParseUint(t.cell(row, "MTU"), 10, 20); err == nil {
		p.MTU = evidence.Known(int(mtu), at)
	}
	if fec := t.cell(row, "FEC"); fec != "" && fec != "N/A" {
		p.FECSet = evidence.Known(fec, at)
	}
	if text := t.cell(row, "Description"); text != "" && text != "N/A" {
		p.Description = evidence.Known(text, at)
		if p.Peer == "" {
			describePeer(s, p, text)
		}
	}
	return true
}

// describePeer takes the peer from a description that names one, as operators write them: "spine1:Ethernet8",
// "to spine1 Ethernet8", "uplink spine1".
func describePeer(s *evidence.Switch, p *evidence.SwitchPort, text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :|/,;<>", r) }) {
		if tier := tierByName(word); tier != "" && word != s.Name && strings.ContainsAny(word, "0123456789") {
			p.Peer, p.Uplink = word, p.Uplink || above(tier, s)
			return
		}
	}
}

// speedOf reads "400G" and "1000M".
func speedOf(cell string) (units.Rate, bool) {
	for suffix, unit := range map[string]units.Rate{"G": units.Gbps, "M": units.Mbps} {
		if number, ok := strings.CutSuffix(cell, suffix); ok {
			v, err := strconv.ParseFloat(number, 64)
			return units.Rate(v * float64(unit)), err == nil && v > 0 && v < 1e6
		}
	}
	return 0, false
}

// Neighbors reads show lldp table (sonic-utilities, scripts/lldpshow):
//
//	LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr
//	-----------  --------------  --------------  ------------  -----------------
//	Ethernet0    spine1          Ethernet8       BR            Ethernet8
type Neighbors struct {
	f *fragment.Fragment
	table
}

// NewNeighbors makes a reader for one output.
func NewNeighbors(f *fragment.Fragment) *Neighbors { return &Neighbors{f: f} }

// StartsNeighbors tells whether a line is the head of the table.
func StartsNeighbors(line []byte) bool {
	return bytes.Contains(line, []byte("LocalPort")) && bytes.Contains(line, []byte("RemoteDevice")) && bytes.Contains(line, []byte("RemotePortID"))
}

// Line reads one line; false means that it is not of the table.
func (t *Neighbors) Line(line []byte, _ int) bool {
	switch {
	case StartsNeighbors(line):
		t.head, t.columns = split(line), nil
		return true
	case t.dashes(line), len(bytes.TrimSpace(line)) == 0:
		return true
	}
	row := t.cells(line)
	local, remote := t.cell(row, "LocalPort"), t.cell(row, "RemoteDevice")
	if !isPort(local) || remote == "" {
		return isPort(local) || strings.HasPrefix(local, "eth")
	}
	remote, _, _ = strings.Cut(remote, ".")
	far := t.cell(row, "RemotePortID")
	// A host names the port by its MAC and describes it by the interface.
	if strings.Count(far, ":") == 5 || far == "" {
		far = t.cell(row, "RemotePortDescr")
	}
	s := t.f.Inv.Switch(t.f.Host)
	p := s.Port(local)
	p.Peer = remote
	if far != "" && !strings.Contains(far, " ") {
		p.Peer += "/" + far
	}
	p.Uplink = p.Uplink || above(tierByName(remote), s)
	return true
}

// Marking reads show ecn, or ecnconfig -l (sonic-utilities, scripts/ecnconfig):
//
//	Profile: AZURE_LOSSLESS
//	-----------------------  -------
//	green_max_threshold      2097152
//	ecn                      ecn_all
type Marking struct {
	f       *fragment.Fragment
	name    string
	entries map[string]string
	from    int
}

// NewMarking makes a reader for one output.
func NewMarking(f *fragment.Fragment) *Marking { return &Marking{f: f} }

// StartsMarking tells whether a line begins a profile.
func StartsMarking(line []byte) bool {
	name, ok := bytes.CutPrefix(line, []byte("Profile: "))
	return ok && len(name) > 0 && bytes.IndexByte(bytes.TrimSpace(name), ' ') < 0
}

// Line reads one line; false means that it is not of this output.
func (m *Marking) Line(line []byte, n int) bool {
	if StartsMarking(line) {
		m.End()
		m.name, m.entries, m.from = strings.TrimSpace(string(line[len("Profile: "):])), map[string]string{}, n
		return true
	}
	f := strings.Fields(string(line))
	switch {
	case len(f) == 0, strings.HasPrefix(f[0], "---"):
		return true
	case len(f) != 2 || m.entries == nil || len(m.entries) > maxEntries:
		return false
	}
	m.entries[f[0]] = f[1]
	return true
}

// maxEntries limits the entries of a profile: it has three colours with four values each, and a few of its own.
const maxEntries = 64

// End keeps the profile that was read last. One that has no threshold at all is something else that is called a profile.
func (m *Marking) End() {
	if m.entries["green_max_threshold"] == "" && m.entries["ecn"] == "" {
		return
	}
	s := m.f.Inv.Switch(m.f.Host)
	if s.QoS == nil {
		s.QoS = &evidence.SwitchQoS{From: m.f.At(m.from)}
	}
	if s.QoS.Marking == nil {
		s.QoS.Marking = map[string]evidence.MarkingProfile{}
	}
	s.QoS.Marking[m.name] = markingProfile(m.entries, m.f.At(m.from))
	m.entries = nil
}
