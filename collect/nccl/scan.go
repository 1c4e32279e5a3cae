package nccl

import (
	"bytes"
	"net/netip"
	"strconv"
)

// after returns what follows the first sep in b; ok is false where there is none.
func after(b []byte, sep string) (rest []byte, ok bool) {
	i := bytes.Index(b, []byte(sep))
	if i < 0 {
		return nil, false
	}
	return b[i+len(sep):], true
}

// before returns b up to the first sep, all of it where there is none.
func before(b []byte, sep string) []byte {
	if i := bytes.Index(b, []byte(sep)); i >= 0 {
		return b[:i]
	}
	return b
}

// number reads the decimal number b begins with, behind blanks; ok is false where there is none.
func number(b []byte) (n int, rest []byte, ok bool) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	i := 0
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		i = 1
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		if n < 1<<56 { // no number that is read comes near; what is larger is nonsense, not an overflow
			n = n*10 + int(b[i]-'0')
		}
		i++
	}
	if i == start {
		return 0, b, false
	}
	if neg {
		n = -n
	}
	return n, b[i:], true
}

// numberAfter reads the number that follows a word.
func numberAfter(b []byte, word string) (int, bool) {
	rest, ok := after(b, word)
	if !ok {
		return 0, false
	}
	n, _, ok := number(rest)
	return n, ok
}

// decimal reads the decimal fraction b begins with.
func decimal(b []byte) (float64, bool) {
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.') {
		i++
	}
	v, err := strconv.ParseFloat(string(b[:i]), 64)
	return v, err == nil
}

// address reads an IP address, up to the first byte that is not part of one. A zone ("%ib0") is left off.
func address(b []byte) netip.Addr {
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'f' || b[i] >= 'A' && b[i] <= 'F' || b[i] == '.' || b[i] == ':') {
		i++
	}
	a, err := netip.ParseAddr(string(b[:i]))
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// gid reads a GID, which NCCL prints as an IPv6 address (inet_ntop, transport/net_ib.cc), as its 16 bytes.
func gid(b []byte) netip.Addr {
	a := address(b)
	if !a.IsValid() {
		return a
	}
	return netip.AddrFrom16(a.As16())
}
