package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// What a library said, as causes ask for it.

// said lists the library's events of some kinds, in the order of the inputs.
func (v *View) said(kinds ...evidence.EventKind) []evidence.Event {
	set := kindsOf(kinds)
	if v.facts != nil {
		if events, ok := v.facts.said[set]; ok {
			return events
		}
	}
	var events []evidence.Event
	for _, e := range v.Inv.NCCL.Events {
		if set&(1<<e.Kind) != 0 {
			events = append(events, e)
		}
	}
	events = slices.Clip(events)
	if v.facts != nil {
		v.facts.said[set] = events
	}
	return events
}

// completions lists the completion errors with one of the statuses (verbs enum ibv_wc_status, rdma-core
// libibverbs/verbs.h). A flushed work request (5) is never a cause: the QP was in error before.
func (v *View) completions(status ...int) []evidence.Event {
	return without(v.said(evidence.CompletionError), func(e evidence.Event) bool {
		return !slices.Contains(status, e.Status)
	})
}

// Statuses of work completions.
const (
	wcLocalLength    = 1
	wcLocalProtect   = 4
	wcFlushed        = 5
	wcLocalAccess    = 8
	wcRemoteInvalid  = 9
	wcRemoteAccess   = 10
	wcRemoteOperate  = 11
	wcRetryExceeded  = 12
	wcNotReadyExceed = 13
)

var statusNames = map[int]string{
	wcLocalLength: "local length error", wcLocalProtect: "local protection error", wcFlushed: "flushed",
	wcLocalAccess: "local access error", wcRemoteInvalid: "remote invalid request", wcRemoteAccess: "remote access error",
	wcRemoteOperate: "remote operation error", wcRetryExceeded: "transport retries exceeded", wcNotReadyExceed: "receiver-not-ready retries exceeded",
}

// unreachable lists the events that say that packets to a peer were not answered: retries used up, or the
// address of the peer not resolved when a QP was set up.
func (v *View) unreachable() []evidence.Event {
	return once(v, func(f *facts) **[]evidence.Event { return &f.unreachable }, func() []evidence.Event {
		return without(v.said(evidence.CompletionError, evidence.ModifyQPFailed), func(e evidence.Event) bool {
			if e.Kind == evidence.CompletionError {
				return e.Status != wcRetryExceeded
			}
			return !errnoIs(e, 110, "timed out") && !errnoIs(e, 101, "Network is unreachable") && !errnoIs(e, 113, "No route to host")
		})
	})
}

// rdmaErrors lists every event that says that an RDMA connection could not be made or broke.
func (v *View) rdmaErrors() []evidence.Event {
	return v.said(evidence.CompletionError, evidence.ModifyQPFailed)
}

// errnoIs compares the error of an event, which versions of NCCL print as a word, a number, or both.
func errnoIs(e evidence.Event, number int, text string) bool {
	if e.Errno == strconv.Itoa(number) {
		return true
	}
	return strings.Contains(strings.ToLower(e.Errno), strings.ToLower(text)) ||
		e.Errno == "" && strings.Contains(strings.ToLower(e.Text), strings.ToLower(text))
}

// told turns an event into a row of evidence.
func told(e evidence.Event, role string) Evidence {
	layer, what := "RDMA", "NCCL warning"
	seen := e.Text
	switch e.Kind {
	case evidence.CompletionError:
		what = "work completion"
		seen = fmt.Sprintf("status %d (%s)", e.Status, orElse(statusNames[e.Status], "error"))
		if e.Vendor != 0 {
			seen += fmt.Sprintf(", vendor %d", e.Vendor)
		}
		if e.Peer != "" {
			seen += ", peer " + e.Peer
		}
	case evidence.ModifyQPFailed:
		what = "setting up a QP"
		seen = "failed: " + orElse(e.Errno, "error not told")
	case evidence.AsyncEvent:
		layer, what = "NIC", "asynchronous event of the device"
		seen = orElse(e.What, e.Text)
	case evidence.ConnectFailed:
		layer, what = "host", "TCP connection to "+orElse(e.Peer, "a peer")
		if e.Port != 0 {
			what += " port " + strconv.Itoa(e.Port)
		}
		seen = "failed: " + orElse(e.Errno, "error not told")
	case evidence.PeerClosed:
		layer, what = "job", "TCP connection to "+orElse(e.Peer, "a peer")
		seen = orElse(e.Errno, "closed by the peer")
	case evidence.ShmFailed, evidence.RegisterFailed, evidence.DeviceOpenFailed, evidence.NoVerbsLibrary:
		layer = "host"
	case evidence.WatchdogTimeout:
		layer, what, seen = "job", "PyTorch watchdog", orElse(e.What, "a collective")
		if e.Rank >= 0 {
			what += fmt.Sprintf(" of rank %d", e.Rank)
		}
		if e.Seq > 0 {
			seen += fmt.Sprintf(" number %d", e.Seq)
		}
		seen += " timed out"
		if e.Elements > 0 {
			seen += fmt.Sprintf(", %d elements", e.Elements)
		}
	case evidence.CudaError:
		layer, what = "job", "CUDA error"
	case evidence.ProcessEnded:
		layer, what = "job", "process that ended"
		seen = orElse(e.What, e.Text)
		if e.Process > 0 {
			seen += fmt.Sprintf(" (process %d)", e.Process)
		}
	case evidence.ProgramFailed:
		layer, what = "job", "exception of the program"
	}
	if e.File == "UCX" {
		what = "UCX"
	}
	if seen == e.Text && e.What != "" && strings.HasSuffix(strings.TrimRight(e.Text, " \t"), strings.TrimRight(e.What, " \t")) {
		seen = e.What // the message without what stands before it in the log: time, host, process
	}
	for _, mark := range []string{"NCCL WARN ", "NCCL INFO "} {
		if _, message, ok := strings.Cut(seen, mark); ok && seen == e.Text {
			seen = message
		}
	}
	if e.Host != "" {
		what += " on " + e.Host
	}
	return Evidence{Layer: layer, What: what, Seen: shorten(seen), Role: role, From: e.From.String()}
}

// maxRows limits the rows of one kind in a finding: a thousand ranks say the same thing.
const maxRows = 4

// tell turns events into rows, the first of each host first, at most maxRows of them.
func tell(events []evidence.Event, role string) []Evidence {
	var rows []Evidence
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.Host] && len(rows) < maxRows {
			seen[e.Host] = true
			rows = append(rows, told(e, role))
		}
	}
	return rows
}

// shorten cuts a foreign line to what fits a table.
func shorten(s string) string {
	const limit = 160 // two terminal lines
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// eventHosts lists the hosts that reported the events, most reports first, then in order of appearance.
func eventHosts(events []evidence.Event) []string {
	count := map[string]int{}
	var hosts []string
	for _, e := range events {
		if count[e.Host]++; count[e.Host] == 1 {
			hosts = append(hosts, e.Host)
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return count[b] - count[a] })
	return hosts
}

// called names a host for people; inputs do not always tell.
func called(host string) string { return orElse(host, "a host that the files do not name") }

// object names a device of a host, or the host alone.
func object(host, device string) string {
	switch {
	case device == "":
		return called(host)
	case host == "":
		return device
	}
	return host + "/" + device
}

// spoken turns the name a series goes by into one for people: a counter of an unnamed host is "/mlx5_0", one of an
// unnamed port "/".
func spoken(object string) string {
	if host, ok := strings.CutSuffix(object, "/"); ok && host != "" {
		return "a port of " + host
	}
	return orElse(strings.TrimPrefix(object, "/"), "a port that the files do not name")
}

func names(hosts []string) string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = called(h)
	}
	return listed(out)
}

// listed joins words, the tail of a long list counted only.
func listed(words []string) string {
	const most = 5 // more names than fit a line help nobody; the evidence has them
	switch n := len(words); {
	case n == 0:
		return ""
	case n == 1:
		return words[0]
	case n <= most:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), n-most)
	}
}

// variable finds a variable for a host: what that host saw, else what a command line or a file without a host
// says, else what any host saw.
func (v *View) variable(name, host string) (evidence.EnvVar, bool) {
	all := once(v, func(f *facts) **map[string]settings { return &f.variables }, func() map[string]settings {
		index := map[string]settings{}
		for _, e := range v.Inv.NCCL.Env {
			s, there := index[e.Name]
			if !there {
				s = settings{e, map[string]evidence.EnvVar{}}
				index[e.Name] = s
			}
			if _, there := s.byHost[e.Host]; !there {
				s.byHost[e.Host] = e
			}
		}
		return index
	})
	s, ok := all[name]
	if !ok {
		return evidence.EnvVar{}, false
	}
	for _, h := range []string{host, ""} {
		if e, ok := s.byHost[h]; ok {
			return e, true
		}
	}
	return s.first, true
}

// silent is the verdict of a cause that rests on the library's log where none was read: a simulated run has
// none, so there the cause does not apply; otherwise it could not be checked.
func (v *View) silent() (Verdict, bool) {
	switch {
	case v.Inv.Simulated:
		return notApplicable("a simulated run has no library log"), true
	case !v.Inv.NCCL.HasLog && len(v.Inv.NCCL.Events) == 0:
		return cannotCheck("no NCCL log (run with NCCL_DEBUG=INFO)"), true
	}
	return Verdict{}, false
}

// jobHosts lists the hosts that took part in the job, as its log names them.
func (v *View) jobHosts() []string {
	return once(v, func(f *facts) **[]string { return &f.jobHosts }, func() []string {
		n := &v.Inv.NCCL
		var hosts []string
		seen := map[string]bool{"": true}
		add := func(h string) {
			if !seen[h] {
				seen[h] = true
				hosts = append(hosts, h)
			}
		}
		for _, x := range n.Networks {
			add(x.Host)
		}
		for _, x := range n.Sockets {
			add(x.Host)
		}
		for _, x := range n.Devices {
			add(x.Host)
		}
		for _, x := range n.Channels {
			add(x.Host)
		}
		for _, x := range n.QPs {
			add(x.Host)
		}
		for _, x := range n.Events {
			add(x.Host)
		}
		return hosts
	})
}

// spans tells whether the job runs on more than one host, so that the network matters at all. More ranks than
// 16 are on more than one host: no server on sale holds more GPUs in one operating system's reach.
func (v *View) spans() answer {
	n := &v.Inv.NCCL
	if len(v.jobHosts()) > 1 || n.Ranks > 16 {
		return yes
	}
	for _, c := range n.Channels {
		if strings.HasPrefix(c.Via, "NET/") {
			return yes
		}
	}
	return unknown
}

// place is a host and a device or interface of it.
type place struct{ host, name string }

// owners tells whose each known address is: an interface's, else an RDMA device's.
func (v *View) owners() map[netip.Addr]place {
	return once(v, func(f *facts) **map[netip.Addr]place { return &f.owners }, func() map[netip.Addr]place {
		owned := map[netip.Addr]place{}
		put := func(a netip.Addr, p place) {
			if _, taken := owned[a.Unmap()]; !taken && a.IsValid() {
				owned[a.Unmap()] = p
			}
		}
		for _, h := range v.Inv.Hosts {
			for _, d := range h.Netdevs {
				for _, p := range d.Addresses {
					put(p.Addr(), place{h.Name, d.Name})
				}
			}
		}
		for _, h := range v.Inv.Hosts {
			for _, n := range h.NICs {
				for _, g := range n.GIDs {
					put(g.Address, place{h.Name, n.Device})
				}
			}
		}
		return owned
	})
}
