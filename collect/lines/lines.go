// Package lines owns reading foreign text one line at a time in bounded memory, and the ways launchers and log
// collectors decorate a line: escapes that colour it, prefixes that tell the rank or the host it came from.
//
// It knows no format. Read lines.go (the reader), then unwrap.go (prefixes).
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that is kept whole. The longest useful line known is the ring order NCCL prints
// ("Channel 00/02 : 0 1 2 ..."), 6 bytes a rank: 64 KiB holds that of 10 000 ranks. What is longer is cut.
const MaxLine = 64 << 10

// Reader reads lines. The zero Reader is not usable; make one with NewReader.
type Reader struct {
	// N is the 1-based number of the line Next returned last.
	N int
	// Cut counts the lines that were longer than is kept of them.
	Cut int
	// Keep tells how much of a line that begins in this way is kept; nil, or less than MaxLine, is MaxLine. A tool
	// that answers in JSON puts megabytes on one line.
	Keep func(head []byte) int

	r    *bufio.Reader
	rest []byte // what follows a bare carriage return in the current line
	long []byte // the line being put together when it does not fit the buffer
	err  error
}

// NewReader makes a reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, MaxLine)} }

// Reset makes the reader read another input, with the buffers it has.
func (r *Reader) Reset(from io.Reader) {
	r.r.Reset(from)
	*r = Reader{r: r.r, long: r.long[:0]}
}

// Err is the error that ended the reading, nil at the end of the input.
func (r *Reader) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// Next returns the next line without its end and without terminal escapes; ok is false at the end. The bytes are
// the reader's and hold until the next call. A bare carriage return, with which progress bars rewrite their
// line, ends a line as well; what follows it has the same number.
func (r *Reader) Next() (line []byte, ok bool) {
	if r.rest != nil {
		line, r.rest = r.rest, nil
		return r.split(line), true
	}
	if r.err != nil {
		return nil, false
	}
	line, r.err = r.r.ReadSlice('\n')
	if errors.Is(r.err, bufio.ErrBufferFull) {
		line = r.cut(line)
	}
	if len(line) == 0 && r.err != nil {
		return nil, false
	}
	r.N++
	for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r'); n-- { // for every line: bytes.TrimRight builds a set first
		line = line[:n-1]
	}
	if r.N == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // byte order mark
	}
	return r.split(line), true
}

// cut keeps the beginning of a line that does not fit and reads the rest away.
func (r *Reader) cut(head []byte) []byte {
	keep := MaxLine
	if r.Keep != nil {
		keep = max(keep, r.Keep(head))
	}
	r.long = append(r.long[:0], head...)
	cut := false
	for errors.Is(r.err, bufio.ErrBufferFull) {
		head, r.err = r.r.ReadSlice('\n')
		if !cut && len(r.long)+len(head) <= keep {
			r.long = append(r.long, head...)
		} else if len(bytes.TrimRight(head, "\r\n")) > 0 {
			cut = true
		}
	}
	if cut {
		r.Cut++
	}
	return r.long
}

func (r *Reader) split(line []byte) []byte {
	if i := bytes.IndexByte(line, '\r'); i >= 0 {
		line, r.rest = line[:i], line[i+1:]
	}
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = withoutEscapes(line)
	}
	return line
}

// withoutEscapes takes control sequences (ECMA-48: ESC [ parameters letter) and other escapes out in place.
func withoutEscapes(line []byte) []byte {
	out := line[:0]
	for i := 0; i < len(line); i++ {
		if line[i] != '\x1b' {
			out = append(out, line[i])
			continue
		}
		i++
		if i >= len(line) || line[i] != '[' {
			continue // ESC and one more byte
		}
		for i++; i < len(line) && (line[i] < 0x40 || line[i] > 0x7e); i++ {
		}
	}
	return out
}

// Each calls f for each line with its number, and returns what ended the reading early.
func Each(r io.Reader, f func(line []byte, n int)) error {
	lr := NewReader(r)
	for line, ok := lr.Next(); ok; line, ok = lr.Next() {
		f(line, lr.N)
	}
	return lr.Err()
}
