package simtap

import (
	"fmt"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// Tap samples the counters of one run.
type Tap struct {
	fabric   *fabric.Fabric
	net      *netsim.Network
	win      *telemetry.Window
	classes  []int8 // priorities worth a series: those that carry traffic or are lossless
	origin   string
	interval units.Duration
	next     units.Instant
	last     map[telemetry.Key]last
	full     bool
}

// last is the newest reading of a stream, which is kept only once it differs from what was kept before it.
type last struct {
	at, kept units.Instant
	sample   telemetry.Sample
}

// firstInterval is the sampling interval at the start, and maxSamples how often it samples before it doubles the
// interval: a stream then holds a few hundred samples however long the run lasts.
const (
	firstInterval = 10 * units.Microsecond
	maxSamples    = 256
)

// New makes a tap for a run that has not started. classes are the priorities that carry traffic or are lossless.
func New(f *fabric.Fabric, net *netsim.Network, classes []int8, seed uint64) *Tap {
	t := &Tap{fabric: f, net: net, classes: classes, interval: firstInterval, origin: fmt.Sprintf("simulated, seed %d", seed),
		win: telemetry.NewWindow(units.At(0), units.At(0)), last: map[telemetry.Key]last{}}
	t.read(units.At(0))
	return t
}

// Next is when the tap wants to sample again.
func (t *Tap) Next() units.Instant { return t.next }

// Sample reads all counters at the present time of the network.
func (t *Tap) Sample(now units.Instant) {
	t.read(now)
	if now.PS() >= int64(t.interval)*maxSamples {
		t.interval *= 2
	}
}

// Finish takes the last sample and returns the window.
func (t *Tap) Finish(now units.Instant) *telemetry.Window {
	t.read(now)
	for k, l := range t.last {
		if l.kept.Before(l.at) {
			t.win.Add(k, l.sample, scaleOf(k.Series), t.origin, false)
		}
	}
	t.win.To = now
	return t.win
}

// Truncated tells that the window's limit was hit and streams are missing from it.
func (t *Tap) Truncated() bool { return t.full }

func (t *Tap) read(now units.Instant) {
	t.next = now.Add(t.interval)
	for p := range t.fabric.Ports {
		id := fabric.PortID(p)
		c := t.net.Port(id)
		if t.fabric.Ports[p].Endpoint >= 0 {
			t.nic(now, t.fabric.PortName(id), &c, t.net.NIC(t.fabric.Ports[p].Endpoint))
		} else {
			t.switchPort(now, t.fabric.PortName(id), &c)
		}
	}
	t.ruleTables(now)
	t.net.ResetPeaks()
}

func (t *Tap) nic(now units.Instant, object string, c *netsim.PortCounters, n netsim.NICCounters) {
	for _, p := range t.classes {
		t.count(now, telemetry.NICTxBytes, object, p, c.TxBytes[p])
		t.count(now, telemetry.NICRxBytes, object, p, c.RxBytes[p])
		t.count(now, telemetry.NICRxPause, object, p, c.PauseRx[p])
		t.count(now, telemetry.NICRxPauseTime, object, p, c.PauseRxTime[p])
		t.count(now, telemetry.NICTxPause, object, p, c.PauseTx[p])
		t.count(now, telemetry.NICTxPauseTime, object, p, c.PauseTxTime[p])
	}
	none := telemetry.AnyPriority
	t.count(now, telemetry.NICRxDiscards, object, none, c.Drops[netsim.DropBufferFull]+c.Drops[netsim.DropHeadroomFull])
	t.count(now, telemetry.NICRxCRCErrors, object, none, c.CRCErrors)
	t.count(now, telemetry.NICLinkDowns, object, none, c.LinkDowns)
	t.count(now, telemetry.NICOutOfSequence, object, none, n.OutOfSequence)
	t.count(now, telemetry.NICDuplicateRequest, object, none, n.DuplicateRequest)
	t.count(now, telemetry.NICPacketSeqErr, object, none, n.PacketSeqErr)
	t.count(now, telemetry.NICLocalAckTimeout, object, none, n.LocalAckTimeout)
	t.count(now, telemetry.NICRetryExceeded, object, none, n.RetryExceeded)
	t.count(now, telemetry.NICCNPSent, object, none, n.CNPSent)
	t.count(now, telemetry.NICCNPHandled, object, none, n.CNPHandled)
	t.count(now, telemetry.NICECNMarked, object, none, n.ECNMarkedPackets)
	t.level(now, telemetry.NICSpeed, object, none, float64(c.Rate))
}

func (t *Tap) switchPort(now units.Instant, object string, c *netsim.PortCounters) {
	var rx uint64
	for p := range c.RxBytes {
		rx += c.RxBytes[p]
	}
	for _, p := range t.classes {
		t.count(now, telemetry.SwitchTxBytes, object, p, c.TxBytes[p])
		t.count(now, telemetry.SwitchECNMarked, object, p, c.ECNMarked[p])
		t.count(now, telemetry.SwitchPFCRx, object, p, c.PauseRx[p])
		t.count(now, telemetry.SwitchPFCTx, object, p, c.PauseTx[p])
		t.count(now, telemetry.SwitchPFCRxTime, object, p, c.PauseRxTime[p])
		t.level(now, telemetry.SwitchQueueBytes, object, p, float64(c.QueueBytes[p]))
		t.level(now, telemetry.SwitchQueuePeak, object, p, float64(c.QueuePeak[p]))
		if t.net.Watched() {
			t.count(now, telemetry.SwitchPFCStorms, object, p, c.Storms[p])
			t.count(now, telemetry.SwitchPFCStormsEnded, object, p, c.StormsOver[p])
			t.count(now, telemetry.SwitchPFCStormDrops, object, p, c.StormDrops[p])
		}
	}
	none := telemetry.AnyPriority
	t.count(now, telemetry.SwitchRxBytes, object, none, rx)
	t.count(now, telemetry.SwitchDropped, object, none, c.Drops[netsim.DropBufferFull]+c.Drops[netsim.DropHeadroomFull])
	t.count(now, telemetry.SwitchRxErrors, object, none, c.CRCErrors)
	t.count(now, telemetry.SwitchLinkDowns, object, none, c.LinkDowns)
	t.level(now, telemetry.SwitchSpeed, object, none, float64(c.Rate))
}

func (t *Tap) count(now units.Instant, id telemetry.SeriesID, object string, priority int8, v uint64) {
	t.keep(telemetry.Key{Series: id, Object: object, Priority: priority}, telemetry.Sample{At: now, Count: v})
}

func (t *Tap) level(now units.Instant, id telemetry.SeriesID, object string, priority int8, v float64) {
	t.keep(telemetry.Key{Series: id, Object: object, Priority: priority}, telemetry.Sample{At: now, Level: v})
}

// keep adds a reading where it differs from the one before, together with that one if it had been left out, so that
// a stretch of no change costs two samples and the time at which it ends is exact.
func (t *Tap) keep(k telemetry.Key, s telemetry.Sample) {
	l, seen := t.last[k]
	if seen && l.sample.Count == s.Count && l.sample.Level == s.Level {
		l.at, l.sample.At = s.At, s.At
		t.last[k] = l
		return
	}
	if seen && l.kept.Before(l.at) {
		t.win.Add(k, l.sample, scaleOf(k.Series), t.origin, false)
	}
	if !t.win.Add(k, s, scaleOf(k.Series), t.origin, false) {
		t.full = true
	}
	t.last[k] = last{at: s.At, kept: s.At, sample: s}
}

// scaleOf turns the simulator's picoseconds into the seconds of the catalogue; everything else has its unit already.
func scaleOf(id telemetry.SeriesID) float64 {
	if telemetry.Catalogue[id].Unit == "seconds" {
		return 1 / float64(units.Second)
	}
	return 1
}
