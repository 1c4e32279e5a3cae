package collect

import (
	"bytes"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
)

// pasting tells whether a name is that of a file of /sys or /proc with one value, and waits for the value:
//
//	==> /proc/sys/net/ipv4/tcp_mtu_probing <==
//	0
//	$ cat /sys/class/net/ens3np0/speed
//	400000
func (p *pile) pasting(name string) bool {
	if strings.ContainsAny(name[strings.LastIndexByte(name, '/')+1:], ": =\t") {
		return false // the value is there too
	}
	l, ok := p.s.leafOf(name)
	if ok {
		p.pasted = &l
	}
	return ok
}

// value reads the value of the file that was named in the line before; false means that the line is none.
func (p *pile) value(line []byte, n int) bool {
	l := p.pasted
	p.pasted = nil
	text := bytes.TrimSpace(lines.Unwrap(line))
	switch {
	case len(text) == 0, bytes.HasPrefix(text, []byte("==> ")), text[0] == '/':
		return false // the file was empty
	}
	if _, _, prompt := splitPrompt(text); prompt {
		return false
	}
	if complaint(text) {
		return true
	}
	l.read(p.f, text, n)
	p.note(l.format)
	return true
}

// complaint tells whether a line is one of a tool that could not read a file: "cat: /sys/...: Invalid argument".
func complaint(line []byte) bool {
	tool, _, ok := bytes.Cut(line, []byte(": "))
	switch string(tool) {
	case "cat", "head", "tail", "grep":
		return ok
	}
	return false
}

// pasted is the kind of lines that carry the path of such a file and its value, as grep and loops of a shell print them:
//
//	/sys/class/net/ens3np0/mtu:9000
//	/sys/bus/pci/devices/0000:5c:00.0/current_link_speed: 32.0 GT/s PCIe
func pasted(format Format) kind {
	return kind{format, "/", func(line []byte) bool {
		l, _, ok := (*session)(nil).leafAndValue(line)
		return ok && l.format == format
	}, func(s *session, f *fragment.Fragment) parser { return paste{s, f} }}
}

// leafAndValue takes a path and the value behind it apart. Without a session the leaf tells its format alone.
func (s *session) leafAndValue(line []byte) (l leaf, value []byte, ok bool) {
	if !bytes.HasPrefix(line, []byte("/sys/")) && !bytes.HasPrefix(line, []byte("/proc/")) {
		return leaf{}, nil, false
	}
	for i, c := range line { // PCI addresses have colons too
		if c != ':' && c != ' ' && c != '=' && c != '\t' {
			continue
		}
		if l, ok := s.leafOf(string(line[:i])); ok {
			return l, bytes.TrimLeft(line[i:], ":= \t"), true
		}
		if c == ' ' || c == '\t' {
			break
		}
	}
	return leaf{}, nil, false
}

// paste reads such lines.
type paste struct {
	s *session
	f *fragment.Fragment
}

// Line reads one line; false means that it speaks of no file.
func (p paste) Line(line []byte, n int) bool {
	l, value, ok := p.s.leafAndValue(line)
	if !ok {
		return len(bytes.TrimSpace(line)) == 0
	}
	l.read(p.f, value, n)
	return true
}
