package nccl

import (
	"bytes"

	"github.com/shunt-network/shunt/evidence"
)

// event adds an event with everything the line itself tells.
func (l *Log) event(m *message, e evidence.Event) {
	e.Host, e.Process, e.File, e.From = m.name, m.pid, l.name(m.file), m.at
	e.Text, e.Time = string(m.text[:min(len(m.text), maxKept)]), string(m.time)
	e.Rank = -1
	if r, ok := l.ranks[processID{m.name, m.pid}]; ok {
		e.Rank = r
	}
	l.events.Add(&l.inv.NCCL, e)
}

// maxKept is how much of a line is copied for an event; fragment.MaxText cuts it again.
const maxKept = 4096

// warn reads one WARN message: what it is about, in words that do not depend on the version.
func (l *Log) warn(m *message) {
	if m.own {
		l.bounds.atLeast(2, 26, 0) // NCCL_DEBUG_TIMESTAMP_LEVELS is WARN by default since 2.26 (src/debug.cc)
	}
	m.msg = bytes.TrimPrefix(m.msg, []byte("Net : ")) // as old versions of misc/socket.cc begin
	msg := m.msg
	switch {
	case bytes.HasPrefix(msg, []byte("NET/IB")):
		rest := bytes.TrimPrefix(msg[len("NET/IB"):], []byte("/GIN"))
		if !l.netWarning(m, bytes.TrimLeft(rest, " :")) {
			l.other(m)
		}
	case bytes.HasPrefix(msg, []byte("NET/OFI")):
		l.event(m, evidence.Event{Kind: evidence.PluginFailed, What: string(bytes.TrimLeft(msg[len("NET/OFI"):], " :"))})
	case bytes.HasPrefix(msg, []byte("Call to ")):
		l.call(m)
	case bytes.HasPrefix(msg, []byte("Failed to open libibverbs")):
		l.event(m, evidence.Event{Kind: evidence.NoVerbsLibrary})
	case bytes.Contains(msg, []byte("NVLink SHARP")): // NVLS, in the host's own switches: "Failed to bind NVLink SHARP (NVLS) Multicast memory"
		l.event(m, evidence.Event{Kind: evidence.CudaError, What: string(msg)})
	case bytes.Contains(msg, []byte("SHARP")), bytes.HasPrefix(m.file, []byte("sharp_plugin")):
		l.event(m, evidence.Event{Kind: evidence.SharpFailed, What: string(msg)})
	case bytes.HasPrefix(msg, []byte("Cuda failure")), bytes.HasPrefix(msg, []byte("CUDA failure")):
		l.event(m, evidence.Event{Kind: evidence.CudaError, What: string(msg)})
	case bytes.Contains(msg, []byte("shared memory segment")), bytes.Contains(msg, []byte("/dev/shm")):
		e := evidence.Event{Kind: evidence.ShmFailed, What: string(msg)}
		if err, ok := after(msg, "error: "); ok {
			e.Errno = string(bytes.TrimSpace(before(err, "(")))
		}
		l.event(m, e)
	case bytes.HasPrefix(msg, []byte("Message truncated")): // misc/socket.cc, bootstrap.cc
		l.event(m, evidence.Event{Kind: evidence.CollectiveMismatch, What: string(msg)})
	case bytes.Contains(msg, []byte("ismatch")) && bytes.Contains(msg, []byte("local")):
		l.event(m, evidence.Event{Kind: evidence.CollectiveMismatch, What: string(msg)})
	case l.socketTrouble(m):
	default:
		l.other(m)
	}
}

func (l *Log) other(m *message) {
	l.event(m, evidence.Event{Kind: evidence.OtherWarning, What: string(m.msg)})
}

// netWarning reads what the verbs transport reports (transport/net_ib.cc); it returns false for anything else.
func (l *Log) netWarning(m *message, rest []byte) bool {
	switch {
	case bytes.HasPrefix(rest, []byte("Got completion")):
		l.completion(m, rest)
	case bytes.Contains(rest, []byte("Got async ")), bytes.Contains(rest, []byte("Got non-fatal async ")), bytes.Contains(rest, []byte("async fatal event on ")),
		bytes.Contains(rest, []byte("GID table changed")), bytes.Contains(rest, []byte("unknown event type")):
		l.async(m, rest)
	case bytes.HasPrefix(rest, []byte("Unable to open device")):
		l.event(m, evidence.Event{Kind: evidence.DeviceOpenFailed, Device: string(bytes.TrimSpace(rest[len("Unable to open device"):])), What: "ibv_open_device"})
	case bytes.HasPrefix(rest, []byte("No device found")):
		l.event(m, evidence.Event{Kind: evidence.NoDevice})
	case bytes.HasPrefix(rest, []byte("read failed in ")):
		what, errno, _ := bytes.Cut(rest[len("read failed in "):], []byte(": "))
		l.event(m, evidence.Event{Kind: evidence.GIDReadFailed, What: string(what), Errno: string(errno)})
	case bytes.Contains(rest, []byte("collective mismatch")):
		l.event(m, evidence.Event{Kind: evidence.CollectiveMismatch, What: string(rest)})
	case bytes.Contains(rest, []byte("incompatible devices")):
		l.event(m, evidence.Event{Kind: evidence.OtherWarning, What: "incompatible link layers"})
	default:
		return false
	}
	return true
}

// call reads "Call to FUNCTION failed" (misc/ibvwrap.cc, misc/socket.cc, include/shm.h) in its forms:
//
//	Call to ibv_open_device failed
//	Call to ibv_modify_qp failed with error Connection timed out [errno 110]
//	Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_5:1, curr state INIT, next state RTR,
//	        local GID index 3, local GID ::ffff:192.0.2.1, remote GID ::ffff:192.0.2.2           2.24 on
//	Call to recv from 192.0.2.1<40221> failed : Connection reset by peer
func (l *Log) call(m *message) {
	rest := m.msg[len("Call to "):]
	function := before(rest, " ")
	e := evidence.Event{Kind: callKind(function), What: string(function)}
	if from, ok := after(before(rest, " failed"), " from "); ok {
		e.Peer, e.Port = peer(from)
	}
	if err, ok := after(rest, " failed"); ok {
		err = bytes.TrimPrefix(bytes.TrimLeft(err, " :"), []byte("with "))
		err = bytes.TrimPrefix(err, []byte("error "))
		if _, text, ok := number(err); ok {
			err = bytes.TrimLeft(text, " ")
			if e.Kind == evidence.ModifyQPFailed {
				l.bounds.atLeast(2, 24, 0)
			}
		}
		e.Errno = string(bytes.TrimSpace(before(before(err, ","), " errno")))
	}
	if dev, ok := after(rest, ", on dev "); ok {
		e.Device, e.DevicePort = devicePort(before(dev, ","))
	}
	if g, ok := after(rest, "local GID index "); ok {
		e.GIDIndex, _, _ = number(g)
		e.HasGIDIndex = true
	}
	e.Local, e.Remote = gid(mustAfter(rest, "local GID ")), gid(mustAfter(rest, "remote GID "))
	if local, ok := after(rest, "local GID index "); ok { // "local GID " matches "local GID index 3" first
		e.Local = gid(mustAfter(local, "local GID "))
	}
	l.event(m, e)
}

func callKind(function []byte) evidence.EventKind {
	switch {
	case bytes.Equal(function, []byte("ibv_modify_qp")):
		return evidence.ModifyQPFailed
	case bytes.HasPrefix(function, []byte("ibv_reg_")), bytes.HasPrefix(function, []byte("ibv_create_")): // queues are pinned like buffers
		return evidence.RegisterFailed
	case bytes.Equal(function, []byte("ibv_open_device")):
		return evidence.DeviceOpenFailed
	case bytes.Equal(function, []byte("posix_fallocate")), bytes.Equal(function, []byte("ftruncate")), bytes.Equal(function, []byte("shm_open")):
		return evidence.ShmFailed
	case bytes.Equal(function, []byte("connect")):
		return evidence.ConnectFailed
	case bytes.Equal(function, []byte("recv")), bytes.Equal(function, []byte("send")):
		return evidence.PeerClosed
	}
	return evidence.OtherWarning
}

// socketTrouble reads what src/misc/socket.cc says of TCP connections:
//
//	socketStartConnect: Connect to 192.0.2.1<44511> failed : Software caused connection abort
//	socketPollConnect: Connect to 192.0.2.1<44511> returned 113(No route to host) errno 115(...)
//	socketProgress: Connection closed by remote peer node2<35962>
func (l *Log) socketTrouble(m *message) bool {
	if to, ok := after(m.msg, "onnect to "); ok {
		e := evidence.Event{Kind: evidence.ConnectFailed, What: string(before(m.msg, ":"))}
		e.Peer, e.Port = peer(to)
		if err, ok := after(to, " failed : "); ok {
			e.Errno = string(err)
		} else if err, ok := after(to, " returned "); ok {
			if _, text, num := number(err); num {
				err = before(bytes.TrimLeft(text, "("), ")")
			}
			e.Errno = string(before(err, ","))
		}
		l.event(m, e)
		return true
	}
	if from, ok := after(m.msg, "Connection closed by remote peer"); ok {
		e := evidence.Event{Kind: evidence.PeerClosed, What: "closed"}
		e.Peer, e.Port = peer(bytes.TrimSpace(from))
		l.event(m, e)
		return true
	}
	return false
}

// retry reads the INFO lines of connections. One that is tried again is no event, as peers start at different
// times; the last try, "(34/34)", is.
func (l *Log) retry(m *message) {
	if counts, ok := after(m.msg, "retrying ("); ok {
		n, rest, ok := number(counts)
		if !ok || len(rest) == 0 || rest[0] != '/' {
			return
		}
		if last, _, ok := number(rest[1:]); !ok || n < last {
			return
		}
		l.socketTrouble(m)
		return
	}
	if bytes.Contains(m.msg, []byte("Connection closed by remote peer")) {
		l.socketTrouble(m)
	}
}

// peer reads "192.0.2.1<44511>", "node2<35962>" or "fe80::1%ib0<53249>": who, without zone, and the TCP port.
func peer(b []byte) (who string, port int) {
	name := before(before(b, " "), ",")
	name, rest, ok := bytes.Cut(name, []byte("<"))
	if ok {
		port, _, _ = number(rest)
	}
	return string(before(name, "%")), port
}

// devicePort reads "mlx5_0:1".
func devicePort(b []byte) (device string, port int) {
	name, p, _ := bytes.Cut(bytes.TrimSpace(b), []byte(":"))
	port, _, _ = number(p)
	return string(name), port
}
