package joblog

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// sharp reads the SHARP library and its aggregation manager:
//
//	[node19:1:28576 unique id 1201360626793454896] ERROR collect_ports_data: device mlx5_0 port 1 is not valid (port is used by SM)
//	[node18:0:24972 - comm.c:374] ERROR Failed to lock SAT tree(ID:0x40 ret:0x4)
//	Sep 04 11:42:31 node1 sharp_am[720665]: Local Port validation failed. error: FabricProvider must bind to port ...
func (l *Log) sharp(f *fragment.Fragment, line []byte, n int) Source {
	e := evidence.Event{Kind: evidence.SharpFailed, Host: f.Host, Rank: -1, From: f.At(n)}
	if i := bytes.Index(line, []byte("sharp_am[")); i >= 0 {
		_, text, ok := bytes.Cut(line[i:], []byte("]: "))
		if !ok || !bytes.Contains(text, []byte("rror")) && !bytes.Contains(text, []byte("ailed")) {
			return SHARP // the daemon tells of its work, too
		}
		if words := strings.Fields(string(line[:i])); len(words) > 0 { // syslog: the host stands before the program
			e.Host = words[len(words)-1]
		}
		e.What = string(text)
		l.add(e, line)
		return SHARP
	}
	head, text, _ := bytes.Cut(line, []byte("] ERROR "))
	if len(head) == 0 || head[0] != '[' || bytes.Count(head, []byte(":")) < 2 || !sharpLine(head, text) {
		return None
	}
	e.Host = string(head[1:bytes.IndexByte(head, ':')])
	e.What = string(text)
	l.add(e, line)
	return SHARP
}

// sharpLine tells a line of SHARP from one of another program with the same head: by the words in it.
func sharpLine(head, text []byte) bool {
	for _, word := range []string{"unique id", "comm.c", "sharp"} {
		if bytes.Contains(head, []byte(word)) {
			return true
		}
	}
	return bytes.Contains(text, []byte("sharp")) || bytes.Contains(text, []byte("SAT ")) || bytes.Contains(text, []byte("SHARP"))
}
