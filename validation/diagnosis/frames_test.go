package diagnosis

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/packet"
	"github.com/shunt-network/shunt/units"
)

// A file of an archive whose name ends in .frames is written out as a capture, NAME.pcapng, one line a frame or several:
//
//	speed 400Gbps                             of the link, before the first frame
//	every 1us                                 between frames; at first 1 us
//	roce SRC DST OPERATION KEY=VALUE...       write, send, read, ack, nak, cnp, datagram
//	tcp SRC DST SPORT DPORT KEY=VALUE...
//	pause MAC PRIORITY QUANTA KEY=VALUE...    priority "all" for 802.3x
//	sample AGENT RATE LINE                    the frame of the line as a sample of sFlow, cut off after 128 bytes
//
// with the keys qp, psn (N or N-M), dscp, ecn (no, ect, ce), tag, size, sport, sum, nak (sequence, access, notready), times,
// and broken=yes for a payload that no longer fits its ICRC.
type writer struct {
	t     *testing.T
	out   bytes.Buffer
	w     *packet.Writer
	speed units.Rate
	every int64
	now   int64
	count uint32
}

func capture(t *testing.T, name, script string) []byte {
	t.Helper()
	w := &writer{t: t, every: 1000, now: 1_700_000_000_000_000_000}
	for n, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 0 {
			if err := w.line(f); err != nil {
				t.Fatalf("%s:%d: %v", name, n+1, err)
			}
		}
	}
	return w.out.Bytes()
}

func (w *writer) line(f []string) (err error) {
	switch f[0] {
	case "speed":
		w.speed, err = units.ParseRate(f[1])
		return err
	case "every":
		d, err := units.ParseDuration(f[1])
		w.every = int64(d / units.Nanosecond)
		return err
	case "sample":
		rate, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		frames, err := framesOf(f[3:])
		for _, frame := range frames {
			w.count++
			w.write(sampled(netip.MustParseAddr(f[1]), w.count, uint32(rate), frame))
		}
		return err
	}
	frames, err := framesOf(f)
	for _, frame := range frames {
		w.write(frame)
	}
	return err
}

func (w *writer) write(frame []byte) {
	if w.w == nil {
		var err error
		if w.w, err = packet.NewWriter(&w.out, packet.PCAPNG, packet.LinkEthernet, w.speed); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.w.Write(w.now, frame, len(frame)); err != nil {
		w.t.Fatal(err)
	}
	w.now += w.every
}

// words are the keys and values of a line.
type words map[string]string

func (o words) number(key string, or int) int {
	if n, err := strconv.ParseInt(o[key], 0, 64); err == nil {
		return int(n)
	}
	return or
}

var marks = map[string]packet.ECN{"": packet.ECT0, "ect": packet.ECT0, "no": packet.NotECT, "ce": packet.CE}

func framesOf(f []string) ([][]byte, error) {
	opt := words{}
	var args []string
	for _, word := range f {
		if k, v, ok := strings.Cut(word, "="); ok {
			opt[k] = v
		} else {
			args = append(args, word)
		}
	}
	want := map[string]int{"roce": 4, "tcp": 5, "pause": 4}[args[0]]
	if len(args) != want {
		return nil, fmt.Errorf("%q has %d words, want %d", args[0], len(args), want)
	}
	var frames [][]byte
	for range opt.number("times", 1) {
		switch args[0] {
		case "roce":
			first, last, ok := strings.Cut(opt["psn"], "-")
			from, _ := strconv.ParseUint(first, 0, 24)
			to := from
			if ok {
				to, _ = strconv.ParseUint(last, 0, 24)
			}
			for psn := from; psn <= to; psn++ {
				frame, err := roceFrame(args, opt, uint32(psn))
				if err != nil {
					return nil, err
				}
				frames = append(frames, frame)
			}
		case "tcp":
			sport, _ := strconv.ParseUint(args[3], 10, 16)
			dport, _ := strconv.ParseUint(args[4], 10, 16)
			frames = append(frames, packet.AppendOther(nil, packet.MAC{2, 0, 0, 0, 0, 2}, packet.MAC{2, 0, 0, 0, 0, 1}, header(args, opt), uint16(sport), uint16(dport), opt.number("size", 1400)))
		case "pause":
			var mac packet.MAC
			for i, part := range strings.Split(args[1], ":") {
				b, _ := strconv.ParseUint(part, 16, 8)
				mac[i%6] = uint8(b)
			}
			quanta, _ := strconv.ParseUint(args[3], 10, 16)
			if args[2] == "all" {
				frames = append(frames, packet.AppendPause(nil, mac, uint16(quanta)))
				break
			}
			p, _ := strconv.Atoi(args[2])
			q := [8]uint16{}
			q[p&7] = uint16(quanta)
			frames = append(frames, packet.AppendPFC(nil, mac, 1<<(p&7), q))
		}
	}
	return frames, nil
}

func header(args []string, opt words) packet.IPHeader {
	return packet.IPHeader{Src: netip.MustParseAddr(args[1]), Dst: netip.MustParseAddr(args[2]), DSCP: uint8(opt.number("dscp", 26)), ECN: marks[opt["ecn"]], TTL: 64, Protocol: packet.ProtocolTCP}
}

func roceFrame(args []string, opt words, psn uint32) ([]byte, error) {
	p := packet.Packet{
		Dst: packet.MAC{2, 0, 0, 0, 0, 2}, Src: packet.MAC{2, 0, 0, 0, 0, 1}, IP: header(args, opt), SrcPort: uint16(opt.number("sport", 0xc001)), Checksum: uint16(opt.number("sum", 0)),
		BTH: packet.BTHHeader{QP: uint32(opt.number("qp", 17)), PSN: psn}, Payload: make([]byte, opt.number("size", 64)),
	}
	if tag := opt.number("tag", -1); tag >= 0 {
		p.Tagged, p.Priority = true, uint8(tag)
	}
	switch args[3] {
	case "write":
		p.BTH.Opcode, p.Headers = packet.RC|packet.WriteOnly, packet.AppendRETH(nil, 0x1000, 1, uint32(len(p.Payload)))
	case "send":
		p.BTH.Opcode = packet.RC | packet.SendOnly
	case "read":
		p.BTH.Opcode, p.Headers, p.Payload = packet.RC|packet.ReadRequest, packet.AppendRETH(nil, 0x1000, 1, uint32(len(p.Payload))), nil
	case "ack":
		p.BTH.Opcode, p.Headers, p.Payload = packet.RC|packet.Acknowledge, packet.AppendAETH(nil, packet.SyndromeACK, 1), nil
	case "nak":
		syndrome, ok := map[string]uint8{"sequence": packet.SyndromeNAK, "access": packet.SyndromeNAK | uint8(packet.NAKAccess), "notready": packet.SyndromeNotReady}[opt["nak"]]
		if !ok {
			return nil, fmt.Errorf("nak=%q", opt["nak"])
		}
		p.BTH.Opcode, p.Headers, p.Payload = packet.RC|packet.Acknowledge, packet.AppendAETH(nil, syndrome, 1), nil
	case "cnp":
		p.BTH.Opcode, p.BTH.BECN, p.Headers, p.Payload = packet.CNP, true, packet.NotificationHeaders(), nil
	case "datagram":
		p.BTH.Opcode, p.Headers = packet.UD|packet.SendOnly, packet.AppendDETH(nil, 1, 1)
	default:
		return nil, fmt.Errorf("operation %q", args[3])
	}
	frame := packet.AppendFrame(nil, p)
	if opt["broken"] == "yes" {
		frame[len(frame)-8] ^= 0x20
	}
	return frame, nil
}

// sampled is an sFlow datagram of version 5 with one flow sample of one raw header, as a frame (sflow_version_5.txt).
func sampled(agent netip.Addr, sequence, rate uint32, frame []byte) []byte {
	words := func(b []byte, v ...uint32) []byte {
		for _, w := range v {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	kept := frame[:min(len(frame), 128)]
	kept = append(kept[:len(kept):len(kept)], make([]byte, -len(kept)&3)...)
	n := uint32(min(len(frame), 128))
	record := append(words(nil, 1, uint32(len(frame)+4), 4, n), kept...)
	sample := append(words(nil, sequence, 3, rate, rate*sequence, 0, 3, 4, 1, 1, uint32(len(record))), record...)
	a := agent.As4()
	d := words(append(words(nil, 5, 1), a[:]...), 0, sequence, 1000*sequence, 1, 1, uint32(len(sample)))
	d = append(d, sample...)
	h := packet.IPHeader{Src: agent, Dst: netip.MustParseAddr("192.0.2.254"), TTL: 64, Protocol: packet.ProtocolUDP}
	out := packet.AppendOther(nil, packet.MAC{2, 0, 0, 0, 0, 4}, packet.MAC{2, 0, 0, 0, 0, 3}, h, 50000, packet.PortSFlow, len(d))
	return append(out[:len(out)-len(d)], d...)
}
