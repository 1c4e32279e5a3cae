package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
)

// With returns a copy of the scenario with changes made, in the names of settings that findings use. The error names a
// setting that a scenario has not, or a value that it cannot take.
func (s *Scenario) With(changes []diagnose.Change) (*Scenario, error) {
	c := *s
	c.Faults = slices.Clone(s.Faults)
	c.Background = slices.Clone(s.Background)
	c.Fabric.Links = slices.Clone(s.Fabric.Links)
	for _, ch := range changes {
		if err := c.change(ch); err != nil {
			return nil, fmt.Errorf("scenario: %s=%s: %w", ch.Setting, ch.Value, err)
		}
	}
	return &c, nil
}

func (s *Scenario) change(ch diagnose.Change) (err error) {
	switch ch.Setting {
	case "switch.path_choice":
		if !slices.Contains(s.PathChoice.Choices(), ch.Value) {
			return fmt.Errorf("no such path choice")
		}
		s.PathChoice = netsim.PathChoice(ch.Value)
	case "switch.ecn.off":
		s.Switch.ECN.Off, err = strconv.ParseBool(ch.Value)
	case "switch.ecn.kmin":
		err = s.Switch.ECN.KMin.UnmarshalText([]byte(ch.Value))
	case "switch.ecn.kmax":
		err = s.Switch.ECN.KMax.UnmarshalText([]byte(ch.Value))
	case "switch.ecn.pmax":
		err = s.Switch.ECN.PMax.UnmarshalText([]byte(ch.Value))
	case "nic.qps":
		s.NIC.QPs, err = strconv.Atoi(ch.Value)
	case "nic.split":
		s.NIC.Split, err = strconv.ParseBool(ch.Value)
	case "nic.window":
		err = s.NIC.Window.UnmarshalText([]byte(ch.Value))
	case "nic.transport":
		s.NIC.Transport = netsim.Transport(ch.Value)
	case "background.priority":
		return s.moveBackground(ch)
	case "link.healthy":
		return s.heal(ch.Object)
	case "host.receive":
		s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool {
			host, _, _ := strings.Cut(ch.Object, "/")
			return netsim.FaultKind(f.Kind) == netsim.SlowReceiver && f.Host == host
		})
	default:
		return s.changeSpraying(ch)
	}
	return err
}

func (s *Scenario) moveBackground(ch diagnose.Change) error {
	p, err := strconv.Atoi(ch.Value)
	if err != nil || p < 0 || p >= netsim.Priorities {
		return fmt.Errorf("a priority is 0 to 7")
	}
	for i := range s.Background {
		if s.Background[i].Name == ch.Object {
			s.Background[i].Priority = uint8(p)
			return nil
		}
	}
	return fmt.Errorf("no background traffic is called %q", ch.Object)
}

// heal removes whatever makes the link at a port differ from the rest.
func (s *Scenario) heal(object string) error {
	f := s.Fabric.Build(nil)
	if f == nil {
		return fmt.Errorf("the fabric cannot be built")
	}
	for p := range f.Ports {
		if f.PortName(fabric.PortID(p)) != object {
			continue
		}
		a, b := f.Node(fabric.PortID(p)).Name, f.Node(f.Ports[p].Peer).Name
		same := func(x, y string) bool { return x == a && y == b || x == b && y == a }
		s.Fabric.Links = slices.DeleteFunc(s.Fabric.Links, func(o fabric.Override) bool { return same(o.Between[0], o.Between[1]) })
		s.Faults = slices.DeleteFunc(s.Faults, func(ft Fault) bool { return len(ft.Link) == 2 && same(ft.Link[0], ft.Link[1]) })
		return nil
	}
	return fmt.Errorf("no port is called %q", object)
}
