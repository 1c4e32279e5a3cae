package nccl

import "bytes"

// What stands before a message (ncclDebugLog in src/debug.cc):
//
//	host:pid:tid [cudaDev] NCCL INFO message
//	host:pid:tid [cudaDev] transport/net_ib.cc:839 NCCL WARN message
//	[2026-04-22 21:34:20] host:pid:tid [cudaDev] file.cc:88 NCCL WARN message     (WARN only, since 2.26)
//
// The host is cut at its first dot. [cudaDev] is the device of the calling thread, always 0 in the threads that
// wait for asynchronous events: it is no rank. Plugins name a function in place of a file (aws-ofi-nccl) or a file
// in C (the SHARP plugin). Launchers put more before it, mostly without a blank between, so it is read backwards
// from the word NCCL and whatever is left over belongs to the launcher.
type header struct {
	level level
	time  []byte // NCCL's own, else the log collector's; nil where there is none
	own   bool   // time is NCCL's own
	host  []byte
	pid   int
	file  []byte // "transport/net_ib.cc", without line
	msg   []byte
	text  []byte // the line without what the launcher put before it
}

type level uint8

const (
	levelOther level = iota
	levelInfo
	levelWarn
)

// parseHeader takes a line apart around the word NCCL at i; ok is false where no level follows it.
func parseHeader(line []byte, i int) (h header, ok bool) {
	rest := line[i+len(ncclWord):]
	switch {
	case bytes.HasPrefix(rest, []byte("INFO ")):
		h.level, h.msg = levelInfo, rest[5:]
	case bytes.HasPrefix(rest, []byte("WARN ")):
		h.level, h.msg = levelWarn, rest[5:]
	case bytes.HasPrefix(rest, []byte("TRACE ")), bytes.HasPrefix(rest, []byte("CALL ")), bytes.HasPrefix(rest, []byte("ERROR ")):
		h.level, h.msg = levelOther, rest
	default:
		return h, false
	}
	h.msg = bytes.Trim(h.msg, " \t")
	left, token := lastToken(line[:i])
	if len(token) > 0 && token[0] != '[' {
		if l, t := lastToken(left); len(t) > 0 && t[len(t)-1] == ']' {
			h.file = before(token, ":")
			left, token = l, t
		}
	}
	if len(token) > 0 && token[len(token)-1] == ']' {
		left, token = lastToken(left)
	}
	host, pid, ok := process(token)
	if !ok { // the prefix was cut off, or is of a kind not known: the message still counts
		h.text = line[i:]
		return h, true
	}
	h.host, h.pid = token[host.from:host.to], pid
	h.text = line[len(left)+host.from:]
	if at := ownTime(left); at >= 0 {
		h.text, h.own = line[at:], true
		h.time = bytes.TrimRight(line[at+1:len(left)], "] ")
		return h, true
	}
	if len(line) > 19 && digit(line[0]) && line[4] == '-' && line[7] == '-' && line[13] == ':' {
		h.time = bytes.TrimRight(before(line, " "), ":") // the log collector's
	}
	return h, true
}

// ownTime finds the bracket that opens NCCL's own time, "[2026-04-22 21:34:20] " right before the host; -1 if none.
func ownTime(left []byte) int {
	t := bytes.TrimRight(left, " ")
	n := len(t)
	if n == 0 || t[n-1] != ']' {
		return -1
	}
	i := bytes.LastIndexByte(t, '[')
	if i < 0 || n-i < len("[00:00:00]") || !digit(t[i+1]) || bytes.IndexByte(t[i:], ':') < 0 {
		return -1
	}
	return i
}

// lastToken splits the last word off b; left ends right behind the word before, with its blanks.
func lastToken(b []byte) (left, token []byte) {
	end := len(b)
	for end > 0 && b[end-1] == ' ' {
		end--
	}
	start := end
	for start > 0 && b[start-1] != ' ' {
		start--
	}
	return b[:start], b[start:end]
}

// span is a part of a token.
type span struct{ from, to int }

// process finds "host:pid:tid" at the end of a token; what a launcher glued before the host ends at the last byte no
// host name has.
func process(token []byte) (host span, pid int, ok bool) {
	i := bytes.LastIndexByte(token, ':')
	if i < 0 {
		return span{}, 0, false
	}
	if _, rest, ok := number(token[i+1:]); !ok || len(rest) > 0 {
		return span{}, 0, false
	}
	j := bytes.LastIndexByte(token[:i], ':')
	if j < 0 {
		return span{}, 0, false
	}
	pid, rest, ok := number(token[j+1 : i])
	if !ok || len(rest) > 0 {
		return span{}, 0, false
	}
	k := j
	for k > 0 && hostByte(token[k-1]) {
		k--
	}
	return span{k, j}, pid, k < j
}

func hostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
