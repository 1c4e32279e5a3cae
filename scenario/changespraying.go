package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/spray"
)

// changeSpraying makes a change to how packets are sprayed, or to when ports pause.
func (s *Scenario) changeSpraying(ch diagnose.Change) (err error) {
	b := &s.Path.Buckets
	switch ch.Setting {
	case "path.buckets.refresh":
		err = b.Refresh.UnmarshalText([]byte(ch.Value))
	case "path.buckets.pause_feedback":
		b.PauseFeedback, err = strconv.ParseBool(ch.Value)
	case "path.buckets.rules.limit":
		b.Rules.Limit, err = strconv.Atoi(ch.Value)
	case "switch.xoff":
		err = s.Switch.XOFF.UnmarshalText([]byte(ch.Value))
	case "switch.alpha":
		s.Switch.Alpha, err = strconv.ParseFloat(ch.Value, 64)
	case "nic.ppcid.layout":
		layout := spray.Layout(ch.Value)
		if !slices.Contains(layout.Choices(), ch.Value) {
			return fmt.Errorf("no such layout")
		}
		s.NIC.PPCID.Layout, s.NIC.PPCID.Hosts = layout, nil // of all hosts
	case "nic.deal.late": // none: the host's interrupts are handled where its link state is kept
		s.NIC.Deal.Late = slices.DeleteFunc(slices.Clone(s.NIC.Deal.Late), func(l netsim.LateNIC) bool { return l.Host == ch.Object })
	case "nic.deal.by":
		if !slices.Contains(s.NIC.Deal.By.Choices(), ch.Value) {
			return fmt.Errorf("no such way to deal")
		}
		s.NIC.Deal.By = netsim.DealBy(ch.Value)
	case "middlebox.udp_checksum": // any: whatever it is, packets pass
		s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return netsim.FaultKind(f.Kind) == netsim.ChecksumDrop })
	default:
		return fmt.Errorf("a scenario has no such setting")
	}
	return err
}
