package ethtool

import (
	"encoding/json"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// What ethtool --json prints says the same in a list of objects, one an interface (ethtool, netlink/pause.c since 5.10,
// fec.c since 5.14, rings.c and coalesce.c since 5.19, features.c and channels.c since 6.15). Members that the driver
// does not have are left out. -S, -i and -m have no such form that stays the same over versions, and are read as text.

// ReadPause reads ethtool --json -a.
func ReadPause(f *fragment.Fragment, text []byte, line int) error {
	var all []struct {
		Name   string `json:"ifname"`
		Rx, Tx *bool
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, p := range all {
		if p.Name != "" && p.Rx != nil && p.Tx != nil {
			f.TheHost().Dev(p.Name).Global = evidence.Known(evidence.PauseSetting{Rx: *p.Rx, Tx: *p.Tx}, f.At(line))
		}
	}
	return nil
}

// ReadFEC reads ethtool --json --show-fec, with -I with counters.
func ReadFEC(f *fragment.Fragment, text []byte, line int) error {
	var all []struct {
		Name       string `json:"ifname"`
		Config     []string
		Active     []string
		Statistics map[string]struct{ Total *uint64 }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	at := f.At(line)
	for _, p := range all {
		if p.Name == "" {
			continue
		}
		fec := &f.TheHost().Dev(p.Name).FEC
		if p.Config != nil {
			fec.Configured = evidence.Known(p.Config, at)
		}
		if len(p.Active) > 0 {
			fec.Active = evidence.Known(p.Active[0], at)
		}
		for _, name := range fecCounters {
			if v := p.Statistics[name].Total; v != nil {
				f.Count(fecTable[name], name, p.Name, 1, *v, line)
			}
		}
	}
	return nil
}

// fecCounters are those of fecTable, in the order ethtool has them.
var fecCounters = func() (known []string) {
	for _, name := range []string{"corrected_blocks", "uncorrectable_blocks", "corrected_bits"} {
		if _, ok := fecTable[name]; ok {
			known = append(known, name)
		}
	}
	return known
}()

// ReadQueues reads ethtool --json -c, -l and -g, whose members do not overlap but for rx and tx.
func ReadQueues(f *fragment.Fragment, text []byte, line int) error {
	var all []struct {
		Name       string `json:"ifname"`
		AdaptiveRx *bool  `json:"adaptive-rx"`
		AdaptiveTx *bool  `json:"adaptive-tx"`
		RxUsecs    *int   `json:"rx-usecs"`
		TxUsecs    *int   `json:"tx-usecs"`
		RxFrames   *int   `json:"rx-frames"`
		TxFrames   *int   `json:"tx-frames"`

		MaxCombined *int `json:"combined-max"`
		Combined    *int `json:"combined"`

		MaxRx *int            `json:"rx-max"`
		MaxTx *int            `json:"tx-max"`
		Mini  *int            `json:"rx-mini"` // of -g alone
		Other *int            `json:"other-max"`
		Rx    json.RawMessage `json:"rx"` // a number; up to 6.1 -c has whether it adapts here
		Tx    json.RawMessage `json:"tx"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, p := range all {
		if p.Name == "" {
			continue
		}
		d, at := f.TheHost().Dev(p.Name), f.At(line)
		known(&d.Coalescing.AdaptiveRx, p.AdaptiveRx, at)
		known(&d.Coalescing.AdaptiveTx, p.AdaptiveTx, at)
		delay(&d.Coalescing.RxDelay, p.RxUsecs, at)
		delay(&d.Coalescing.TxDelay, p.TxUsecs, at)
		known(&d.Coalescing.RxFrames, p.RxFrames, at)
		known(&d.Coalescing.TxFrames, p.TxFrames, at)
		known(&d.Channels.MaxCombined, p.MaxCombined, at)
		known(&d.Channels.Combined, p.Combined, at)
		if p.RxUsecs != nil || p.TxUsecs != nil || p.Combined != nil || p.Other != nil {
			continue
		}
		// Channels without a combined one have the same members as rings, but never as many: rings count in hundreds
		// (64 is the least drivers allow), and a device has no 64 queues of one direction alone without combined ones.
		if p.Mini == nil && (p.MaxRx == nil || *p.MaxRx < 64) {
			continue
		}
		known(&d.Ring.MaxRx, p.MaxRx, at)
		known(&d.Ring.MaxTx, p.MaxTx, at)
		known(&d.Ring.Rx, number(p.Rx), at)
		known(&d.Ring.Tx, number(p.Tx), at)
	}
	return nil
}

func known[T any](to *evidence.Value[T], v *T, at evidence.Source) {
	if v != nil {
		*to = evidence.Known(*v, at)
	}
}

func delay(to *evidence.Value[units.Duration], usecs *int, at evidence.Source) {
	if usecs != nil && *usecs >= 0 && *usecs < 1<<31 {
		*to = evidence.Known(units.Duration(*usecs)*units.Microsecond, at)
	}
}

// number reads a member that may hold something else.
func number(text json.RawMessage) *int {
	var v int
	if text == nil || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return &v
}

// ReadFeatures reads ethtool --json -k: {"ifname": "ens3np0", "rx-checksumming": {"active": true, "fixed": false,
// "requested": true}, ...}.
func ReadFeatures(f *fragment.Fragment, text []byte, line int) error {
	var all []map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, p := range all {
		var name string
		if json.Unmarshal(p["ifname"], &name) != nil || name == "" {
			continue
		}
		d := f.TheHost().Dev(name)
		if d.Features == nil {
			d.Features = map[string]evidence.Value[bool]{}
		}
		for feature, state := range p {
			var s struct{ Active *bool }
			if json.Unmarshal(state, &s) == nil && s.Active != nil && len(p) <= MaxFeatures {
				d.Features[feature] = evidence.Known(*s.Active, f.At(line))
			}
		}
	}
	return nil
}
