package nccl

import (
	"bytes"
	"net/netip"

	"github.com/shunt-network/shunt/evidence"
)

// info reads one INFO message. The first byte decides which families come into question; ring and channel lines,
// of which a large job prints millions, are decided within three comparisons.
func (l *Log) info(m *message) {
	msg := m.msg
	if len(msg) < 4 {
		return
	}
	switch c := msg[0]; {
	case c == 'C' && bytes.HasPrefix(msg, []byte("Channel ")), c == 'R' && bytes.HasPrefix(msg, []byte("Ring ")):
		l.channel(m)
	case c == 'N' && bytes.HasPrefix(msg, []byte("NET/")), c == 'N' && bytes.HasPrefix(msg, []byte("NET :")):
		l.net(m)
	case c == 'N' && bytes.HasPrefix(msg, []byte("NCCL_")):
		l.env(m)
	case c == 'N' && bytes.HasPrefix(msg, versionWord):
		l.version(msg[len(versionWord):], m.name, m.at)
	case c == 'N' && bytes.HasPrefix(msg, nvlsWord):
		l.nvls(m)
	case c == 'B' && bytes.HasPrefix(msg, []byte("Bootstrap")):
		l.sockets(m, "bootstrap")
	case c == 'U' && bytes.HasPrefix(msg, []byte("Using network ")):
		l.network(m, msg[len("Using network "):])
	case c == 'A' && bytes.HasPrefix(msg, []byte("Assigned ")):
		l.assigned(m)
	case c == 'I' && bytes.HasPrefix(msg, []byte("Initialized NET plugin")):
		l.bounds.atLeast(2, 28, 0)
	case c == 'G' && bytes.HasPrefix(msg, []byte("GPU Direct RDMA ")):
		l.gdr(m, "")
	case c == 'F' && bytes.HasPrefix(msg, []byte("Failed to open libibverbs")):
		l.event(m, evidence.Event{Kind: evidence.NoVerbsLibrary})
	case c == 'P' && bytes.HasPrefix(msg, []byte("Pattern ")):
		l.pattern(m)
	case c >= '0' && c <= '9' && bytes.Contains(msg, []byte(" coll channels, ")):
		l.shape(m)
	case l.tuning(m):
	case c == 'c' && bytes.HasPrefix(msg, []byte("comm 0x")), c == 'n' && bytes.HasPrefix(msg, []byte("ncclComm")), c == '[' && bytes.HasPrefix(msg, []byte("[Rank ")):
		l.comm(m)
	case c == 'I' && bytes.HasPrefix(msg, []byte("Init timings")):
		l.bounds.atLeast(2, 22, 0)
	case c == 's' && bytes.HasPrefix(msg, []byte("socket")), c == 'n' && bytes.HasPrefix(msg, []byte("nccl")), c == 'C' && bytes.HasPrefix(msg, []byte("Call to ")):
		l.retry(m)
	case c >= 'A' && c <= 'S':
		l.called(m)
	}
}

// net reads "NET/IB : ...", "NET/Socket : ...", "NET/OFI ...", "NET : Using interface ..." (transport/net_*.cc).
func (l *Log) net(m *message) {
	msg := m.msg
	switch {
	case bytes.HasPrefix(msg, []byte("NET/IB")):
		rest := bytes.TrimLeft(msg[len("NET/IB"):], " :")
		switch {
		case bytes.HasPrefix(rest, []byte("Using ")):
			l.deviceList(m, rest[len("Using "):])
		case bytes.HasPrefix(rest, []byte("No device found")):
			l.event(m, evidence.Event{Kind: evidence.NoDevice})
		case bytes.Contains(rest, []byte(" qpn ")), bytes.Contains(rest, []byte(" qp_num ")):
			l.qp(m, rest)
		case bytes.HasPrefix(rest, []byte("GPU Direct RDMA ")):
			l.gdr(m, "IB")
		default:
			l.netWarning(m, rest) // since 2.26 some warnings of the verbs transport are printed as INFO
		}
	case bytes.HasPrefix(msg, []byte("NET/Socket")):
		l.sockets(m, "data")
	case bytes.HasPrefix(msg, []byte("NET : Using interface")):
		l.sockets(m, "data")
	case bytes.Contains(msg, []byte("GPU Direct RDMA ")):
		l.gdr(m, string(before(msg[len("NET/"):], " ")))
	}
}

// env reads "NCCL_IB_GID_INDEX set by environment to 1." (numbers end in a full stop, texts do not:
// src/misc/param.cc) and "NCCL_IB_HCA set to mlx5". Values of /etc/nccl.conf appear in the same way.
func (l *Log) env(m *message) {
	name := before(m.msg, " ")
	value, ok := after(m.msg, " set by environment to ")
	if !ok {
		if value, ok = after(m.msg, " set to "); !ok {
			return
		}
	}
	if !l.first(familyEnv, m.name, m.msg) {
		return
	}
	if v, dot := bytes.CutSuffix(value, []byte(".")); dot {
		if _, rest, num := number(v); num && len(rest) == 0 {
			value = v
		}
	}
	l.inv.NCCL.Env = append(l.inv.NCCL.Env, evidence.EnvVar{Name: string(name), Value: string(value), Host: m.name, From: m.at})
}

var nvlsWord = []byte("NVLS multicast support is ")

const settingNVLS = "nccl.nvls"

// nvls reads "NVLS multicast support is available on dev 0" and "... is not available on dev 0"
// (transport/nvls.cc), each answer of a host once.
func (l *Log) nvls(m *message) {
	rest := m.msg[len(nvlsWord):]
	value := "available"
	if bytes.HasPrefix(rest, []byte("not ")) {
		value = "not available"
	}
	if l.first(familyNVLS, m.name, []byte(value)) {
		l.inv.Settings = append(l.inv.Settings, evidence.Setting{Name: settingNVLS, Object: m.name, Value: value, From: m.at})
	}
}

// network records the network a process settled on.
func (l *Log) network(m *message, name []byte) {
	name = bytes.TrimRight(name, " .")
	if l.first(familyNetwork, m.name, name) {
		l.inv.NCCL.Networks = append(l.inv.NCCL.Networks, evidence.NetworkChoice{Host: m.name, Name: string(name), From: m.at})
	}
}

// assigned reads "Assigned NET plugin IB to comm" and "Assigned GIN plugin GIN_IB_GDAKI to comm" (2.28 on).
func (l *Log) assigned(m *message) {
	l.bounds.atLeast(2, 28, 0)
	if rest, ok := bytes.CutPrefix(m.msg, []byte("Assigned NET plugin ")); ok {
		l.network(m, before(rest, " to comm"))
	}
	if rest, ok := bytes.CutPrefix(m.msg, []byte("Assigned GIN plugin ")); ok && l.first(familyGIN, m.name, rest) {
		l.inv.NCCL.GIN = append(l.inv.NCCL.GIN, evidence.NetworkChoice{Host: m.name, Name: string(before(rest, " to comm")), From: m.at})
	}
}

// deviceList reads "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.1<0>". Ports that NCCL 2.20 and later
// merge stand as mlx5_0+mlx5_1; "/SHARP" may follow the layer.
func (l *Log) deviceList(m *message, list []byte) {
	ports, oob, hasOOB := bytes.Cut(list, []byte("; OOB "))
	if bytes.Contains(ports, []byte("[RO]")) {
		l.bounds.atLeast(2, 12, 0)
	}
	uses, ok := l.lists[string(ports)]
	if !ok {
		uses = deviceUses(ports)
		if len(l.lists) < MaxDistinct {
			l.lists[string(ports)] = uses
		}
	}
	if len(uses) > 0 {
		l.devices[m.name] = uses
		if l.first(familyDevices, m.name, ports) {
			l.inv.NCCL.Devices = append(l.inv.NCCL.Devices, evidence.DeviceList{Host: m.name, Devices: uses, From: m.at})
		}
	}
	if hasOOB {
		l.socket(m, "oob", oob)
	}
}

func deviceUses(ports []byte) []evidence.DeviceUse {
	var uses []evidence.DeviceUse
	for tok := range bytes.FieldsSeq(ports) {
		_, name, ok := bytes.Cut(tok, []byte("]"))
		if !ok || len(name) == 0 {
			continue
		}
		name, layer, _ := bytes.Cut(name, []byte("/"))
		use := evidence.DeviceUse{Device: string(name), Port: 1, Layer: string(before(layer, "/"))}
		if i := bytes.LastIndexByte(name, ':'); i >= 0 {
			use.Device = string(name[:i])
			use.Port, _, _ = number(name[i+1:])
		}
		uses = append(uses, use)
	}
	return uses
}

// sockets reads "Bootstrap : Using [0]eth0:192.0.2.1<0> [1]..." (up to 2.7), "Bootstrap : Using eth0:192.0.2.1<0>"
// (2.8 on), "Bootstrap: Using" (2.24 on), "NET/Socket : Using [0]..." and "NET : Using interface lo:127.0.0.1<0>".
func (l *Log) sockets(m *message, use string) {
	list, ok := after(m.msg, "Using ")
	if !ok {
		return
	}
	if use == "bootstrap" {
		if bytes.HasPrefix(m.msg, []byte("Bootstrap:")) {
			l.bounds.atLeast(2, 24, 0)
		} else {
			l.bounds.below(2, 24, 0)
			if bytes.HasPrefix(list, []byte("[")) {
				l.bounds.below(2, 8, 0)
			}
		}
	}
	list, _ = bytes.CutPrefix(list, []byte("interface "))
	for tok := range bytes.FieldsSeq(list) {
		l.socket(m, use, tok)
	}
}

// socket reads one "[0]eth0:192.0.2.1<0>".
func (l *Log) socket(m *message, use string, tok []byte) {
	tok = before(tok, " ")
	if len(tok) > 0 && tok[0] == '[' {
		_, tok, _ = bytes.Cut(tok, []byte("]"))
	}
	name, addr, ok := bytes.Cut(tok, []byte(":"))
	if !ok || len(name) == 0 || bytes.IndexByte(addr, '<') < 0 {
		return
	}
	l.scratch = append(append(append(l.scratch[:0], use...), ' '), tok...)
	if !l.first(familySocket, m.name, l.scratch) {
		return
	}
	l.inv.NCCL.Sockets = append(l.inv.NCCL.Sockets, evidence.SocketChoice{
		Host: m.name, Use: use, Interface: string(name), Address: socketAddress(addr), From: m.at,
	})
}

func socketAddress(b []byte) netip.Addr { return address(before(b, "<")) }

// gdr reads whether GPU Direct RDMA is used:
//
//	NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)      up to 2.12
//	NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'                   2.13 on, printed for disabled too
//	GPU Direct RDMA Disabled for GPU 18000 / HCA 0 (distance 5 > 4)      what the distances mean depends on the version
func (l *Log) gdr(m *message, network string) {
	rest, _ := after(m.msg, "GPU Direct RDMA ")
	if !l.first(familyGDR, m.name, m.msg) {
		return
	}
	s := evidence.GDRState{Host: m.name, Network: network, Enabled: bytes.HasPrefix(rest, []byte("Enabled")), HCA: -1, Distance: -1, Limit: -1, From: m.at}
	s.GPU = string(before(mustAfter(rest, "for GPU "), " "))
	if n, ok := numberAfter(rest, "HCA "); ok {
		s.HCA = n
	}
	if q, ok := after(rest, "'"); ok {
		s.Device = string(before(q, "'"))
	} else if d := l.devices[m.name]; s.HCA >= 0 && s.HCA < len(d) {
		s.Device = d[s.HCA].Device
	}
	if d, ok := numberAfter(rest, "(distance "); ok {
		s.Distance = d
		if lim, ok := after(rest, "= "); ok {
			s.Limit, _, _ = number(lim)
		} else if lim, ok := numberAfter(rest, "> "); ok {
			s.Limit = lim
		}
	} else if i := bytes.LastIndexByte(rest, '('); i >= 0 {
		s.Reason = string(before(rest[i+1:], ")"))
		if s.Reason == "no module" {
			l.bounds.below(2, 13, 0)
		}
	}
	l.inv.NCCL.GDR = append(l.inv.NCCL.GDR, s)
}

func mustAfter(b []byte, sep string) []byte {
	rest, _ := after(b, sep)
	return rest
}

// pattern reads "Pattern 4, crossNic 0, nChannels 2, bw 24.0/24.0, type NVL/PIX, sameChannels 1" (graph/search.cc);
// the word was speed up to 2.13.
func (l *Log) pattern(m *message) {
	if !l.first(familyGraph, m.name, m.msg) {
		return
	}
	g := evidence.GraphPattern{Host: m.name, From: m.at}
	g.Pattern, _ = numberAfter(m.msg, "Pattern ")
	g.CrossNIC, _ = numberAfter(m.msg, "crossNic ")
	g.Channels, _ = numberAfter(m.msg, "nChannels ")
	bw, ok := after(m.msg, " bw ")
	if ok {
		l.bounds.atLeast(2, 14, 0)
	} else if bw, ok = after(m.msg, " speed "); ok {
		l.bounds.below(2, 14, 0)
	}
	if intra, inter, ok := bytes.Cut(before(bw, ","), []byte("/")); ok {
		g.Bandwidth, _ = decimal(intra)
		g.BandwidthBetween, _ = decimal(inter)
	}
	if t, ok := after(m.msg, " type "); ok {
		g.Type = string(before(t, ","))
	}
	l.inv.NCCL.Graph = append(l.inv.NCCL.Graph, g)
}

// shape reads "16 coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 8 p2p channels per peer"
// (init.cc). The collnet number is not read: since 2.21.5 NCCL prints the number of channels in its place.
func (l *Log) shape(m *message) {
	if !l.first(familyShape, m.name, m.msg) {
		return
	}
	s := evidence.ChannelShape{Host: m.name, From: m.at}
	s.Collective, _, _ = number(m.msg)
	for part := range bytes.SplitSeq(m.msg, []byte(", ")) {
		n, what, ok := number(part)
		switch {
		case ok && bytes.Equal(what, []byte(" p2p channels")):
			s.P2P = n
		case ok && bytes.Equal(what, []byte(" p2p channels per peer")):
			s.P2PPerPeer = n
		}
	}
	l.inv.NCCL.Shape = append(l.inv.NCCL.Shape, s)
}

// comm reads "comm 0x.. rank 3 nranks 16 cudaDev 3 busId 8d000 commId 0x.. - Init COMPLETE" (init.cc). The rank a
// process has in its largest communicator is the one people know it by.
func (l *Log) comm(m *message) {
	rank, ok := numberAfter(m.msg, " rank ")
	size, sized := numberAfter(m.msg, " nranks ")
	if !ok || !sized {
		return
	}
	if bytes.Contains(m.msg, []byte(" commId ")) {
		l.bounds.atLeast(2, 16, 2)
	}
	if bytes.HasPrefix(m.msg, []byte("ncclComm")) {
		l.bounds.atLeast(2, 21, 5)
	}
	if bytes.HasSuffix(m.msg, []byte("Init COMPLETE")) {
		l.inv.NCCL.Inits++
	}
	l.inv.NCCL.Ranks = max(l.inv.NCCL.Ranks, size)
	l.rank(processID{m.name, m.pid}, size, rank)
}

// rank notes the rank a process has in a communicator of a size.
func (l *Log) rank(p processID, size, rank int) {
	if size > l.sizes[p] {
		if len(l.sizes) < MaxDistinct {
			l.sizes[p], l.ranks[p] = size, rank
		}
	} else if size == l.sizes[p] && l.ranks[p] != rank {
		l.ranks[p] = -1 // several ranks in one process: the pid does not tell them apart
	}
}
