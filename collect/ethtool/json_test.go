package ethtool

import (
	"fmt"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
)

func TestJSON(t *testing.T) {
	inv, f := of("")
	for _, in := range []struct {
		read func(*fragment.Fragment, []byte, int) error
		text string
	}{
		{ReadPause, `[{"ifname": "ens3np0", "autonegotiate": false, "rx": true, "tx": false, "statistics": {}}, {"ifname": "ens4np0", "autonegotiate": true}]`},
		{ReadFEC, `[{"ifname": "ens3np0", "config": ["Auto", "RS"], "active": ["RS"], "statistics": {"corrected_blocks": {"total": 123, "lanes": [100, 23]}, "uncorrectable_blocks": {"total": 4}}}]`},
		{ReadQueues, `[{"ifname": "ens3np0", "adaptive-rx": true, "adaptive-tx": false, "rx-usecs": 8, "rx-frames": 128, "tx-usecs": 16}]`},
		{ReadQueues, `[{"ifname": "ens3np0", "rx-max": 63, "tx-max": 63, "combined-max": 63, "combined": 32}, {"ifname": "veth0", "rx-max": 80, "tx-max": 80, "other-max": 0, "rx": 1, "tx": 1}]`},
		{ReadQueues, `[{"ifname": "ens3np0", "rx-max": 8192, "rx-mini-max": 0, "tx-max": 8192, "rx": 1024, "rx-mini": 0, "tx": 512}]`},
		{ReadFeatures, `[{"ifname": "ens3np0", "rx-checksumming": {"active": true, "fixed": false, "requested": true}, "tx-checksum-ipv4": {"active": false, "fixed": true, "requested": false}}]`},
	} {
		if err := in.read(f, []byte(in.text), 1); err != nil {
			t.Errorf("%s: %v", in.text, err)
		}
	}
	d := inv.Host("").Dev("ens3np0")
	got := fmt.Sprint(d.Global, d.FEC.Configured, d.FEC.Active, d.Coalescing.AdaptiveRx, d.Coalescing.AdaptiveTx, d.Coalescing.RxDelay, d.Coalescing.TxDelay, d.Coalescing.RxFrames, d.Coalescing.TxFrames, d.Channels, d.Ring)
	if want := "{true false} [Auto RS] RS true false 8us 16us 128 unknown {32 63} {1024 8192 512 8192}"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if !d.Features["rx-checksumming"].Or(false) || d.Features["tx-checksum-ipv4"].Or(true) || len(d.Features) != 2 {
		t.Errorf("%+v", d.Features)
	}
	if other := inv.Host("").Dev("ens4np0"); other.Global.Known() {
		t.Error("a setting that was not told")
	}
	if veth := inv.Host("").Dev("veth0"); veth.Ring.Rx.Known() {
		t.Error("channels taken for a ring")
	}
	counts := map[telemetry.SeriesID]uint64{}
	for _, s := range f.Samples {
		counts[s.Series] = s.Count
	}
	if counts[telemetry.NICRxFECCorrected] != 123 || counts[telemetry.NICRxFECUncorrectable] != 4 {
		t.Errorf("%v", counts)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`[{"ifname": "a", "rx": true, "tx": 1, "config": ["RS"], "active": [], "statistics": {"corrected_blocks": {"total": 1}}, "rx-usecs": 1, "x": {"active": true}}]`))
	f.Add([]byte(`[{}, null, 1]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		for _, read := range []func(*fragment.Fragment, []byte, int) error{ReadPause, ReadFEC, ReadQueues, ReadFeatures} {
			_ = read(fr, text, 1)
		}
	})
}
