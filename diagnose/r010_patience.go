package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// R010: the transport's patience does not fit what the network and the job need.
//
// Symptom: jobs that die at each fail-over of a switch, or that hang until the framework ends them without any RDMA error.
// Mechanism: an unanswered packet is sent again after 4.096 us x 2^NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT times; adapters may
// wait up to four times as long (InfiniBand specification vol. 1, 9.7.6.1.3). Detecting a dead link, rerouting and sending
// again must fit into that, and that into the watchdog of the framework. Evidence for: the two variables, the watchdog's
// timeout, a measured outage. Look-alikes: P003 (the outage itself).
var causePatience = Cause{
	Code:     "R010",
	Title:    "the transport's timeouts do not fit the network or the job",
	Needs:    "NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT, the watchdog's timeout, the length of an outage",
	Explains: []string{"R004"},
	Check:    checkPatience,
}

// reroute is what a fabric needs to notice a dead link and to send around it: BFD takes a multiple of three of an interval
// of 50 ms on most switches (RFC 5880, 6.8.4), and the routes follow within as much again; half a second leaves room.
const reroute = 500 * units.Millisecond

// patience is how long a queue pair sends a packet again before it gives up.
type patience struct {
	exponent, retries int
	set               bool // by a variable
	from              string
	how               string
}

// try is the wait before a packet is sent again.
func (p patience) try() units.Duration {
	return units.Duration(4096) * units.Nanosecond << p.exponent // exponent is at most 31
}

// least is the shortest time after which the queue pair gives up: the first try and each retry; most is four times that.
func (p patience) least() units.Duration { return p.try() * units.Duration(p.retries+1) }
func (p patience) most() units.Duration  { return 4 * p.least() }

func (p patience) String() string {
	return fmt.Sprintf("%s a try, %d tries: %s to %s", short(p.try()), p.retries+1, short(p.least()), short(p.most()))
}

// patienceOf works out the patience of the job's queue pairs; ok is false where neither variable nor version tells. The
// defaults of NCCL_IB_TIMEOUT: 14 up to 2.13, 18 up to 2.22, 20 since (src/transport/net_ib.cc of the releases).
func (v *View) patienceOf() (p patience, ok bool) {
	p = patience{exponent: -1, retries: 7}
	if e, set := v.Inv.NCCL.Lookup("NCCL_IB_TIMEOUT"); set {
		if n, err := strconv.Atoi(strings.TrimSpace(e.Value)); err == nil && n >= 0 && n <= 31 {
			p.exponent, p.set, p.from, p.how = n, true, e.From.String(), "NCCL_IB_TIMEOUT="+strings.TrimSpace(e.Value)
		}
	}
	if e, set := v.Inv.NCCL.Lookup("NCCL_IB_RETRY_CNT"); set {
		if n, err := strconv.Atoi(strings.TrimSpace(e.Value)); err == nil && n >= 0 && n <= 7 {
			p.retries, p.set = n, true
			p.from = orElse(p.from, e.From.String())
			p.how = strings.TrimPrefix(p.how+", NCCL_IB_RETRY_CNT="+strings.TrimSpace(e.Value), ", ")
		}
	}
	if p.exponent >= 0 {
		return p, true
	}
	b := v.nccl()
	switch {
	case b.text == "":
		return p, false
	case b.atLeast(2, 23) == yes:
		p.exponent = 20
	case b.atLeast(2, 14) == yes && b.atLeast(2, 23) == no:
		p.exponent = 18
	case b.atLeast(2, 14) == no:
		p.exponent = 14
	default:
		return p, false
	}
	p.from = orElse(p.from, orElse(b.From.String(), "version"))
	p.how = strings.TrimPrefix(p.how+fmt.Sprintf(", the default of %s (%d)", b, p.exponent), ", ")
	return p, true
}

func checkPatience(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("the timeouts of a simulated run stand in its scenario")
	}
	p, ok := v.patienceOf()
	if !ok {
		return cannotCheck("NCCL_IB_TIMEOUT, or the version of NCCL, which has a default")
	}
	f := Finding{
		Severity: Warning, Confidence: possible, Where: []string{orElse(p.how, "the job")},
		Evidence: []Evidence{{Layer: "RDMA", What: "patience of a queue pair (" + p.how + ")", Seen: p.String(), Role: "cause", From: p.from}},
		WrongIf:  "the job runs over sockets or a plugin with timeouts of its own",
	}
	watchdog, watchdogRow, watched := v.watchdogTimeout()
	outage, outageRow, measured := v.outage()
	switch {
	case p.exponent == 0 && p.set:
		f.Title = "NCCL_IB_TIMEOUT=0 waits for ever: a lost packet hangs the job without an error"
		f.Because = "0 stands for an endless timeout, so nothing that is lost is sent again"
		f.Evidence[0].Seen, f.Evidence[0].Expected = "endless", "18 or 20, the defaults"
		f.Fix = Fix{Text: "unset it", Commands: []string{"unset NCCL_IB_TIMEOUT"}, Try: []Change{{Setting: "NCCL_IB_TIMEOUT", Value: ""}}}
		f.Settle = "a run without it"
	case measured && outage > p.least():
		f.Title = fmt.Sprintf("the link was down for %s, and queue pairs give up after %s to %s", short(outage), short(p.least()), short(p.most()))
		f.Because = "everything that was on its way to the port had used up its retries before the port came back"
		f.Confidence = named
		f.Evidence[0].Expected = "longer than the outage"
		f.Evidence = append(f.Evidence, outageRow)
		f.Fix = Fix{Text: "mend the link first; a longer timeout only lets the job outlast it", Commands: []string{fmt.Sprintf("export NCCL_IB_TIMEOUT=%d   # %s to %s", p.outlast(outage).exponent, short(p.outlast(outage).least()), short(p.outlast(outage).most()))}}
		f.Settle = "the times of the port's events against those of the first status 12"
	case p.set && p.least() < reroute:
		f.Title = fmt.Sprintf("queue pairs give up after %s (%s), before a switch has sent around a dead link", short(p.least()), p.how)
		f.Because = fmt.Sprintf("a try lasts 4.096 us x 2^%d = %s; noticing a dead link (BFD: three times 50 ms on most switches) and rerouting take some hundred milliseconds", p.exponent, short(p.try()))
		f.Evidence[0].Expected = short(reroute) + " or more"
		f.Fix = Fix{Text: "unset it: the default is 18 since 2.14 and 20 since 2.23", Commands: []string{"unset NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT"}, Try: []Change{{Setting: "NCCL_IB_TIMEOUT", Value: ""}}}
		f.Settle = "the reroute time of the fabric: a link taken down while ib_write_bw runs"
		if broken := v.unreachable(); len(broken) > 0 {
			f.Severity, f.Confidence = Critical, likely
			f.Evidence = append(f.Evidence, tell(broken, "effect")...)
		}
	case watched && p.set && p.least() >= watchdog:
		f.Title = fmt.Sprintf("queue pairs try for %s to %s, longer than the framework's watchdog waits (%s)", short(p.least()), short(p.most()), short(watchdog))
		f.Because = "the framework ends the job before the transport reports a dead path, so no log names the peer that was lost"
		f.Evidence[0].Expected = "less than the watchdog's timeout"
		f.Evidence = append(f.Evidence, watchdogRow)
		f.Fix = Fix{Text: "lower NCCL_IB_TIMEOUT (22 is 2 to 9 minutes), or give the process group a longer timeout", Commands: []string{"unset NCCL_IB_TIMEOUT", "torch.distributed.init_process_group(timeout=...)"}}
		f.Settle = "a run with the default"
	default:
		return ruledOut("a queue pair sends again for long enough to outlast a reroute: " + p.String())
	}
	return found(f)
}

// outlast is the patience with the smallest exponent that outlasts a time.
func (p patience) outlast(d units.Duration) patience {
	for p.least() <= d && p.exponent < 24 {
		p.exponent++
	}
	return p
}

// watchdogTimeout is the timeout of a collective, from the watchdog's lines or a flight recorder's.
func (v *View) watchdogTimeout() (units.Duration, Evidence, bool) {
	row := func(ms int64, from evidence.Source) (units.Duration, Evidence, bool) {
		d := units.Duration(ms) * units.Millisecond
		return d, Evidence{Layer: "job", What: "the watchdog's timeout", Seen: short(d), From: from.String()}, true
	}
	const mark = "Timeout(ms)="
	for _, e := range v.said(evidence.WatchdogTimeout) {
		_, rest, ok := strings.Cut(e.Text, mark)
		if !ok {
			continue
		}
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if ms, err := strconv.ParseInt(rest[:end], 10, 40); err == nil {
			return row(ms, e.From)
		}
	}
	for _, d := range v.Inv.Flights {
		for _, op := range d.Ops {
			if ms, ok := op.Timeout.Get(); ok && ms > 0 && ms < 1<<40 {
				return row(ms, op.Timeout.From)
			}
		}
	}
	return 0, Evidence{}, false
}

// outage is the longest time between a port's error and its return in the library's log.
func (v *View) outage() (longest units.Duration, row Evidence, ok bool) {
	type at struct {
		when time.Time
		e    evidence.Event
	}
	down := map[string]at{}
	for _, e := range beforeOthers(v.said(evidence.AsyncEvent)) {
		when, told := clock(e.Time)
		if !told {
			continue
		}
		name := object(e.Host, e.Device)
		switch {
		case isPortDown(e):
			if _, there := down[name]; !there {
				down[name] = at{when, e}
			}
		case isPortUp(e):
			from, there := down[name]
			if !there {
				continue
			}
			delete(down, name)
			if d := when.Sub(from.when); d > 0 && d < 24*time.Hour {
				if o := units.Duration(d.Nanoseconds()) * units.Nanosecond; o > longest {
					longest, ok = o, true
					row = Evidence{Layer: "NIC", What: "time between port error and port active, " + name, Seen: short(o), Role: "cause", From: from.e.From.String()}
				}
			}
		}
	}
	for _, h := range v.Inv.Hosts {
		down := map[string]evidence.KernelEvent{}
		for _, k := range h.Kernel {
			switch {
			case kernelLinkDown(k):
				if _, there := down[k.Device]; !there {
					down[k.Device] = k
				}
			case k.Kind == "link up":
				from, there := down[k.Device]
				delete(down, k.Device)
				a, ok1 := kernelClock(from.Time)
				b, ok2 := kernelClock(k.Time)
				if d := b - a; there && ok1 && ok2 && d > longest && d < 24*3600*units.Second {
					longest, ok = d, true
					row = Evidence{Layer: "physical", What: "time between link down and link up, " + object(h.Name, k.Device), Seen: short(d), Role: "cause", From: from.From.String()}
				}
			}
		}
	}
	return longest, row, ok
}

// kernelClock reads the time of a kernel message: seconds since the start, or the wall clock of dmesg -T and journalctl. It
// is good for differences only.
func kernelClock(s string) (units.Duration, bool) {
	s = strings.Trim(s, "[] ")
	if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds >= 0 && seconds < 1e6*3600 {
		return units.Duration(seconds*1e6) * units.Microsecond, true
	}
	for _, layout := range []string{"Mon Jan _2 15:04:05 2006", "Jan _2 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return units.Duration(t.YearDay()*86400+t.Hour()*3600+t.Minute()*60+t.Second()) * units.Second, true
		}
	}
	return 0, false
}

// clock reads the timestamps NCCL puts before warnings since 2.26 ("%F %T"), with parts of a second or without.
func clock(s string) (time.Time, bool) {
	s = strings.Trim(strings.ReplaceAll(s, "T", " "), "[] Z")
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
