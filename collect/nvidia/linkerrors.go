package nvidia

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// LinkErrors reads dcgmi nvlink -e -g GPU (DCGM, dcgmi/Nvlink.cpp):
//
//	+-----------------------------+------------------------------------------------+
//	| NVLINK Error Counts                                                          |
//	| GPU 0                                                                        |
//	+=============================+================================================+
//	| Link 0                      |                                                |
//	| -> CRC FLIT Error           | 0                                              |
//	| -> Replay Error             | 12                                             |
//
// A count that is not there is shown as a word, and is not taken for zero.
type LinkErrors struct {
	links NVLinks
	link  *evidence.NVLink
}

// NewLinkErrors makes a reader for one output.
func NewLinkErrors(f *fragment.Fragment) *LinkErrors { return &LinkErrors{links: NVLinks{f: f}} }

// StartsLinkErrors tells whether a line is the head of the table.
func StartsLinkErrors(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("| NVLINK Error Counts "))
}

// Line reads one line; false means that it is not of the table.
func (l *LinkErrors) Line(line []byte, n int) bool {
	t := strings.TrimSpace(string(line))
	if !strings.HasPrefix(t, "|") {
		return t == "" || strings.HasPrefix(t, "+")
	}
	name, value, _ := strings.Cut(strings.Trim(t, "|"), "|")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if number, ok := strings.CutPrefix(name, "GPU "); ok {
		l.links.gpu, l.link = nil, nil
		if index, err := strconv.ParseUint(number, 10, 8); err == nil {
			l.links.gpu = l.links.f.TheHost().GPUAt("", int(index))
		}
		return true
	}
	if l.links.gpu == nil {
		return true
	}
	if number, ok := strings.CutPrefix(name, "Link "); ok {
		l.link = nil
		if index, err := strconv.ParseUint(number, 10, 6); err == nil {
			l.link = l.links.link(int(index), n)
			l.link.Errors = evidence.Value[int64]{}
		}
		return true
	}
	if v, err := strconv.ParseInt(value, 10, 48); err == nil && v >= 0 && l.link != nil && strings.HasPrefix(name, "->") {
		l.link.Errors = evidence.Known(l.link.Errors.Or(0)+v, l.links.f.At(n))
	}
	return true
}
