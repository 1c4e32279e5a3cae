package joblog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const (
	// maxTracebacks is how many tracebacks are followed at once: the ranks of the largest host, many times over.
	maxTracebacks = 256
	// maxFrames is how many lines a traceback may have before it is given up: Python stops at 1000 frames of two lines.
	maxFrames = 2048
)

var traceback = []byte("Traceback (most recent call last):")

// python follows tracebacks to the exception that ended the program. Each line of one begins as its first line does ("[rank3]: "),
// and the exception is the first that is not indented:
//
//	[rank3]: Traceback (most recent call last):
//	[rank3]:   File "/app/train.py", line 88, in <module>
//	[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. ...
//
// What says that a peer or the network was lost is left to the lines that say how: an exception only repeats it.
func (l *Log) python(f *fragment.Fragment, line []byte, n int) bool {
	if i := bytes.Index(line, traceback); i >= 0 {
		if len(l.open) < maxTracebacks {
			l.open[string(line[:i])] = 0
		}
		return true
	}
	for prefix, frames := range l.open {
		rest, ok := bytes.CutPrefix(line, []byte(prefix))
		if !ok {
			continue
		}
		if len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || !exception(rest) {
			if l.open[prefix] = frames + 1; frames > maxFrames {
				delete(l.open, prefix)
			}
			continue
		}
		delete(l.open, prefix)
		if e, ok := ended(rest); ok {
			e.Host, e.Rank, e.File, e.From = f.Host, -1, "python", f.At(n)
			if r, ok := numberAfter(line[:len(prefix)], "rank"); ok {
				e.Rank = int(r)
			}
			l.add(e, line)
		}
		return true
	}
	return false
}

// exceptionEnds are how names of exceptions end (PEP 8 asks for Error; the others are of the standard library and of packages).
var exceptionEnds = []string{"Error", "Exception", "Interrupt", "Exit", "Failure", "Fault", "NotFound", "Timeout", "Expired"}

// exception tells whether a line names an exception: a dotted name that ends as such names do, then a colon or the end of the line.
func exception(b []byte) bool {
	name, _, _ := bytes.Cut(b, []byte(":"))
	name = bytes.TrimSpace(name)
	if len(name) == 0 || len(name) > 120 {
		return false
	}
	if !slices.ContainsFunc(exceptionEnds, func(end string) bool { return bytes.HasSuffix(name, []byte(end)) }) {
		return false
	}
	return strings.Trim(string(name), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") == ""
}

// consequences are words of exceptions that repeat what another line says better, or that were asked for.
var consequences = []string{
	"nccl", "distributed", "c10d", "gloo", "socket", "connection", "broken pipe", "brokenpipe", "timeout", "timed out", "watchdog", "keyboardinterrupt", "systemexit",
	"childfailed", "signalexception", "actordied", "rayactor", "raytask", "enginedead", "engine core", "enginecore", "process group", "process_group", "barrier", "stopiteration",
}

// ended makes an event of an exception that ended a program by itself.
func ended(b []byte) (evidence.Event, bool) {
	text := string(b[:min(len(b), fragment.MaxText)])
	low := strings.ToLower(text)
	if strings.Contains(low, "cuda out of memory") || strings.Contains(low, "cuda error") || strings.Contains(low, "hip out of memory") || strings.Contains(low, "hip error") {
		return evidence.Event{Kind: evidence.CudaError, What: text}, true
	}
	for _, w := range consequences {
		if strings.Contains(low, w) {
			return evidence.Event{}, false
		}
	}
	return evidence.Event{Kind: evidence.ProgramFailed, What: text}, true
}
