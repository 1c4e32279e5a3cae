package lines

import "bytes"

// Unwrap takes off what launchers and log collectors put before a line, as often as there is something to take:
//
//	2025-06-02T16:13:44.884Z: ...        kubectl logs --timestamps, syslog
//	[1,12]<stdout>:...                   mpirun --tag-output (Open MPI)
//	(RayWorkerWrapper pid=721, ip=..) .. Ray
//	[rank3]:...                          torchrun and PyTorch's own logging
//
// A host prefix ("node1: ...", of pdsh, clush and DeepSpeed) is left on: only the parser of a format can tell it
// from a word and a colon; see Host.
func Unwrap(line []byte) []byte {
	for range 4 { // no more than four such prefixes have been seen on one line
		rest := unwrapOnce(line)
		if len(rest) == len(line) {
			return line
		}
		line = rest
	}
	return line
}

func unwrapOnce(line []byte) []byte {
	if len(line) < 3 {
		return line
	}
	switch c := line[0]; {
	case c == '[':
		return unwrapBracket(line)
	case c == '(':
		i := bytes.Index(line, []byte(") "))
		if i < 0 || !bytes.Contains(line[:i], []byte(" pid=")) && !bytes.Contains(line[:i], []byte(" ip=")) {
			return line
		}
		return bytes.TrimLeft(line[i+2:], " ")
	case c >= '0' && c <= '9':
		n := isoTime(line)
		if n == 0 {
			return line
		}
		line = bytes.TrimPrefix(line[n:], []byte(":"))
		return bytes.TrimPrefix(line, []byte(" "))
	}
	return line
}

func unwrapBracket(line []byte) []byte {
	end := bytes.IndexByte(line, ']')
	if end < 0 {
		return line
	}
	inside, rest := line[1:end], line[end+1:]
	if tag, ok := bytes.CutPrefix(rest, []byte("<std")); ok && numbers(inside) {
		if i := bytes.Index(tag, []byte(">:")); i >= 0 && i <= len("out") {
			return bytes.TrimPrefix(tag[i+2:], []byte(" "))
		}
	}
	if n, ok := bytes.CutPrefix(inside, []byte("rank")); ok && numbers(n) {
		if rest, ok := bytes.CutPrefix(rest, []byte(":")); ok {
			return bytes.TrimPrefix(rest, []byte(" "))
		}
	}
	return line
}

// numbers tells whether b is decimal numbers with commas between them.
func numbers(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != ',' {
			return false
		}
	}
	return len(b) > 0
}

// isoTime is the length of an ISO 8601 date and time (with T or a blank between) that line begins with, 0 if none.
func isoTime(line []byte) int {
	const pattern = "0000-00-00?00:00:00"
	if len(line) < len(pattern) {
		return 0
	}
	for i := range len(pattern) {
		c, p := line[i], pattern[i]
		switch {
		case p == '0' && (c < '0' || c > '9'), p == '?' && c != 'T' && c != ' ', p != '0' && p != '?' && c != p:
			return 0
		}
	}
	n := len(pattern)
	if n < len(line) && (line[n] == '.' || line[n] == ',') {
		for n++; n < len(line) && line[n] >= '0' && line[n] <= '9'; n++ {
		}
	}
	if n < len(line) && line[n] == 'Z' {
		return n + 1
	}
	if n+6 <= len(line) && (line[n] == '+' || line[n] == '-') && line[n+3] == ':' {
		n += 6
	}
	return n
}

// Host splits off the host prefix of pdsh, clush and DeepSpeed: "node1: text". ok is false where there is none
// that could be one: a host name has letters, digits, '-' and '.' only, and a blank follows the colon.
func Host(line []byte) (host, rest []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || i+1 >= len(line) || line[i+1] != ' ' {
		return nil, line, false
	}
	for _, c := range line[:i] {
		if !hostByte(c) {
			return nil, line, false
		}
	}
	return line[:i], line[i+2:], true
}

func hostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}
