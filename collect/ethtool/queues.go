package ethtool

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// Queues reads what ethtool tells of queues and interrupts (ethtool, netlink/coalesce.c, channels.c, rings.c and the
// dump_ functions of ethtool.c before): -c, -l and -g.
//
//	Coalesce parameters for ens3np0:
//	Adaptive RX: on  TX: on
//	rx-usecs:	8
//	Channel parameters for ens3np0:
//	Pre-set maximums:
//	Combined:	63
//	Current hardware settings:
//	Combined:	32
//	Ring parameters for ens3np0:
//
// "n/a" is what the driver does not have.
type Queues struct {
	f       *fragment.Fragment
	dev     *evidence.Netdev
	what    byte // 'C' coalescing, 'c' channels, 'r' ring
	current bool // behind "Current hardware settings"
}

// NewQueues makes a reader for one output.
func NewQueues(f *fragment.Fragment) *Queues { return &Queues{f: f} }

var queueHeads = []struct {
	head []byte
	what byte
}{{[]byte("Coalesce parameters for "), 'C'}, {[]byte("Channel parameters for "), 'c'}, {[]byte("Ring parameters for "), 'r'}}

// StartsQueues tells whether a line is the head of one of the outputs.
func StartsQueues(line []byte) bool {
	for _, h := range queueHeads {
		if bytes.HasPrefix(line, h.head) {
			return true
		}
	}
	return false
}

// Line reads one line; false means that it is not of this output.
func (q *Queues) Line(line []byte, n int) bool {
	for _, h := range queueHeads {
		if rest, ok := bytes.CutPrefix(line, h.head); ok {
			q.dev = q.f.TheHost().Dev(strings.TrimSuffix(strings.TrimSpace(string(rest)), ":"))
			q.what, q.current = h.what, false
			return true
		}
	}
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	if !ok || q.dev == nil {
		return key == ""
	}
	value = strings.TrimSpace(value)
	switch key {
	case "Pre-set maximums":
		q.current = false
		return true
	case "Current hardware settings":
		q.current = true
		return true
	case "Adaptive RX":
		q.adaptive(value, n)
		return true
	}
	v, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return true
	}
	at := q.f.At(n)
	switch q.what {
	case 'C':
		q.coalescing(key, int(v), at)
	case 'c':
		q.set(key, "Combined", &q.dev.Channels.MaxCombined, &q.dev.Channels.Combined, int(v), at)
	case 'r':
		q.set(key, "RX", &q.dev.Ring.MaxRx, &q.dev.Ring.Rx, int(v), at)
		q.set(key, "TX", &q.dev.Ring.MaxTx, &q.dev.Ring.Tx, int(v), at)
	}
	return true
}

func (q *Queues) set(key, want string, most, now *evidence.Value[int], v int, at evidence.Source) {
	if key != want {
		return
	}
	if q.current {
		*now = evidence.Known(v, at)
	} else {
		*most = evidence.Known(v, at)
	}
}

// adaptive reads "on  TX: off", behind "Adaptive RX:".
func (q *Queues) adaptive(value string, n int) {
	rx, tx, _ := strings.Cut(value, "TX:")
	for _, s := range []struct {
		word string
		to   *evidence.Value[bool]
	}{{rx, &q.dev.Coalescing.AdaptiveRx}, {tx, &q.dev.Coalescing.AdaptiveTx}} {
		if w := strings.TrimSpace(s.word); w == "on" || w == "off" {
			*s.to = evidence.Known(w == "on", q.f.At(n))
		}
	}
}

func (q *Queues) coalescing(key string, v int, at evidence.Source) {
	c := &q.dev.Coalescing
	switch key {
	case "rx-usecs":
		c.RxDelay = evidence.Known(units.Duration(v)*units.Microsecond, at)
	case "tx-usecs":
		c.TxDelay = evidence.Known(units.Duration(v)*units.Microsecond, at)
	case "rx-frames":
		c.RxFrames = evidence.Known(v, at)
	case "tx-frames":
		c.TxFrames = evidence.Known(v, at)
	}
}

// MaxFeatures limits the features kept of one interface; the kernel knows some 60.
const MaxFeatures = 256

// Features reads ethtool -k (ethtool, netlink/features.c):
//
//	Features for ens3np0:
//	rx-checksumming: on
//		tx-checksum-ipv4: off [fixed]
type Features struct {
	f   *fragment.Fragment
	dev *evidence.Netdev
}

// NewFeatures makes a reader for one output.
func NewFeatures(f *fragment.Fragment) *Features { return &Features{f: f} }

var featuresHead = []byte("Features for ")

// StartsFeatures tells whether a line is the head of ethtool -k.
func StartsFeatures(line []byte) bool { return bytes.HasPrefix(line, featuresHead) }

// Line reads one line; false means that it is not of this output.
func (r *Features) Line(line []byte, n int) bool {
	if rest, ok := bytes.CutPrefix(line, featuresHead); ok {
		r.dev = r.f.TheHost().Dev(strings.TrimSuffix(strings.TrimSpace(string(rest)), ":"))
		return true
	}
	key, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
	word, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	if !ok || r.dev == nil || word != "on" && word != "off" {
		return key == ""
	}
	if r.dev.Features == nil {
		r.dev.Features = map[string]evidence.Value[bool]{}
	}
	if len(r.dev.Features) < MaxFeatures {
		r.dev.Features[key] = evidence.Known(word == "on", r.f.At(n))
	}
	return true
}
