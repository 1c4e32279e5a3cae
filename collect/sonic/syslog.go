package sonic

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
)

// Syslog counts the storms that the PFC watchdog writes into a switch's log (sonic-swss, orchagent/pfcwdorch.cpp), where show pfcwd
// stats was not kept:
//
//	Aug 20 13:08:42.443610 leaf1 NOTICE swss#orchagent: :- startWdActionOnQueue: PFC Watchdog detected PFC storm on port Ethernet4,
//	        queue index 3, queue id 0x1500000000069d and port id 0x1000000000005
//	Aug 20 13:08:44.443610 leaf1 NOTICE swss#orchagent: :- stopWdActionOnQueue: PFC Watchdog storm restored on port Ethernet4, queue index 3, ...
//
// Older releases say "on queue 3 port Ethernet4".
type Syslog struct {
	f    *fragment.Fragment
	seen []stormed
}

// stormed is a queue that the watchdog stopped.
type stormed struct {
	host, port      string
	queue           int8
	began, restored uint64
	line            int
}

// maxStormed is how many queues are kept: two lossless ones of each port of the largest switch, eight times over.
const maxStormed = 8 * 2 * 512

// NewSyslog makes a reader for one input.
func NewSyslog(f *fragment.Fragment) *Syslog { return &Syslog{f: f} }

var watchdogWords = []byte("PFC Watchdog ")

// StartsSyslog tells whether a line is one of the watchdog.
func StartsSyslog(line []byte) bool {
	i := bytes.Index(line, watchdogWords)
	return i >= 0 && (bytes.Contains(line[i:], []byte("detected PFC storm on ")) || bytes.Contains(line[i:], []byte("storm restored on ")))
}

// Line reads one line; false means that it is not the watchdog's.
func (s *Syslog) Line(line []byte, n int) bool {
	if !StartsSyslog(line) {
		return false
	}
	i := bytes.Index(line, watchdogWords)
	words := strings.FieldsFunc(string(line[i:]), func(r rune) bool { return r == ' ' || r == ',' })
	port, queue := "", int64(-1)
	for k, w := range words[:len(words)-1] {
		next := words[k+1]
		switch {
		case w == "port" && port == "" && next != "id":
			port = next
		case (w == "index" || w == "queue") && queue < 0:
			if q, err := strconv.ParseInt(next, 10, 8); err == nil && q >= 0 && q < 8 {
				queue = q
			}
		}
	}
	if port == "" || queue < 0 {
		return true
	}
	host := s.f.Host
	head := strings.Fields(string(line[:i]))
	for k, w := range head {
		if k > 0 && (w == "NOTICE" || w == "WARNING" || w == "INFO") {
			host = head[k-1]
		}
	}
	k := slices.IndexFunc(s.seen, func(o stormed) bool { return o.host == host && o.port == port && o.queue == int8(queue) })
	if k < 0 {
		if len(s.seen) >= maxStormed {
			return true
		}
		k = len(s.seen)
		s.seen = append(s.seen, stormed{host: host, port: port, queue: int8(queue)})
	}
	s.seen[k].line = n
	if bytes.Contains(line[i:], []byte("restored")) {
		s.seen[k].restored++
	} else {
		s.seen[k].began++
	}
	return true
}

// End writes what was counted. A log that begins in a storm has one more end than beginnings.
func (s *Syslog) End() {
	before := s.f.Host
	for _, q := range s.seen {
		s.f.Host = q.host
		s.f.Inv.Switch(q.host).Port(q.port)
		for name, v := range [...]uint64{max(q.began, q.restored), q.restored} {
			counter := [...]string{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"}[name]
			series := counters[counter]
			series.Priority = q.queue
			s.f.Count(series, counter, q.port, 1, v, q.line)
		}
	}
	s.f.Host, s.seen = before, nil
}
