package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine bounds a line. The longest that a right file has is the list of switches of a topology: a full fat-tree of
// fabric.MaxHosts hosts has some 20 000 of them, at 8 bytes each.
const MaxLine = 4 << 20

// Word is a run of bytes without blanks. Text is valid until the next line is read.
type Word struct {
	Place
	Text []byte
}

// Is tells whether the word is text.
func (w Word) Is(text string) bool { return string(w.Text) == text }

func (w Word) String() string { return string(w.Text) }

// Reader reads a text file line by line. Lines end in LF or CRLF; the last may end in nothing.
type Reader struct {
	Report
	in    *bufio.Reader
	line  int
	text  []byte
	long  []byte // a line that did not fit the buffer of in
	words []Word
	next  int // word that Next returns next
	ended bool
}

// NewReader starts reading; file is the name in messages.
func NewReader(file string, in io.Reader) *Reader {
	return &Reader{Report: Report{File: file}, in: bufio.NewReaderSize(in, 64<<10)}
}

// At is the place of the line being read.
func (r *Reader) At() Place { return Place{max(r.line, 1), 1} }

// Line reads the next line. It is false at the end, and when the file cannot be read on, which is reported.
func (r *Reader) Line() bool {
	r.words, r.next = r.words[:0], 0
	if r.ended {
		return false
	}
	r.line++
	text, err := r.in.ReadSlice('\n')
	r.long = r.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) && len(r.long) < MaxLine {
		r.long = append(r.long, text...)
		text, err = r.in.ReadSlice('\n')
	}
	if len(r.long) > 0 {
		r.long = append(r.long, text...)
		text = r.long
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		r.ended = true
		r.Wrong(r, "the line has more than %d bytes; it is no text file of this kind", MaxLine)
		return false
	case err != nil && !errors.Is(err, io.EOF):
		r.ended = true
		r.Wrong(r, "cannot read on: %v", err)
		return false
	case err != nil:
		r.ended = true
		if len(text) == 0 {
			r.line--
			return false
		}
	}
	r.text = bytes.TrimRight(text, "\r\n")
	r.split()
	return true
}

// blank tells what separates words.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

func (r *Reader) split() {
	for i := 0; i < len(r.text); {
		if blank(r.text[i]) {
			i++
			continue
		}
		start := i
		for i < len(r.text) && !blank(r.text[i]) {
			i++
		}
		r.words = append(r.words, Word{Place{r.line, start + 1}, r.text[start:i:i]})
	}
}

// Text is the line as it stands, without its end.
func (r *Reader) Text() []byte { return r.text }

// Words are the words of the line. The slice is valid until the next line is read.
func (r *Reader) Words() []Word { return r.words }

// Next reads the next word, wherever the line breaks are. It is false at the end of the file. After Line, it goes on
// with the words of that line.
func (r *Reader) Next() (Word, bool) {
	for r.next >= len(r.words) {
		if !r.Line() {
			return Word{Place: r.end()}, false
		}
	}
	r.next++
	return r.words[r.next-1], true
}

// end is the place right behind what was read.
func (r *Reader) end() Place { return Place{max(r.line, 1), len(r.text) + 1} }
