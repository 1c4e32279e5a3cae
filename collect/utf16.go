package collect

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// wide tells whether a text is UTF-16, which Windows PowerShell writes behind ">" (about_Character_Encoding: 5.1 and
// before), with the mark it begins with.
func wide(head []byte) (order binary.ByteOrder, ok bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return binary.LittleEndian, true
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return binary.BigEndian, true
	}
	return nil, false
}

// narrow gives UTF-16 text as UTF-8. Halves of pairs that stand alone become U+FFFD.
type narrow struct {
	r     io.Reader
	order binary.ByteOrder
	in    [4096]byte
	held  int    // bytes at the start of in that are not converted
	out   []byte // converted, not handed out
	err   error
}

func (n *narrow) Read(p []byte) (int, error) {
	for len(n.out) == 0 {
		if n.err != nil {
			return 0, n.err
		}
		var more int
		more, n.err = n.r.Read(n.in[n.held:])
		n.convert(n.held + more)
	}
	c := copy(p, n.out)
	n.out = n.out[c:]
	return c, nil
}

// convert takes what is complete of the first bytes of in.
func (n *narrow) convert(have int) {
	n.out = n.out[:0]
	at := 0
	for at+2 <= have {
		r := rune(n.order.Uint16(n.in[at:]))
		width := 2
		if utf16.IsSurrogate(r) {
			if at+4 > have && n.err == nil {
				break // its other half is still to come
			}
			second := rune(0)
			if at+4 <= have {
				second = rune(n.order.Uint16(n.in[at+2:]))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				width = 4
			}
		}
		n.out = utf8.AppendRune(n.out, r)
		at += width
	}
	n.held = copy(n.in[:], n.in[at:have])
}
