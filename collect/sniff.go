package collect

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/ethtool"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/ibtools"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/evidence"
)

// Format is what a file, or a part of one, is.
type Format string

// Formats.
const (
	Unknown           Format = ""
	NCCLLog           Format = "nccl log"
	EthtoolStatistics Format = "ethtool -S"
	EthtoolPause      Format = "ethtool -a"
	ShowGIDs          Format = "show_gids"
	IBVDevInfo        Format = "ibv_devinfo"
	IBStat            Format = "ibstat"
	IBStatus          Format = "ibstatus"
	IBDev2Netdev      Format = "ibdev2netdev"
	Sysfs             Format = "sysfs infiniband"
)

// parser reads the lines of one output; false means that the line is not of it.
type parser interface {
	Line(line []byte, n int) bool
}

// kind is one format that is told by its lines: starts must hold for lines no other format has.
type kind struct {
	format Format
	starts func(line []byte) bool
	open   func(s *session, f *fragment.Fragment) parser
}

// kinds are tried in this order for every line that is not part of a log.
var kinds = []kind{
	{ShowGIDs, ibtools.StartsShowGIDs, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewShowGIDs(f) }},
	{IBVDevInfo, ibtools.StartsDevInfo, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewDevInfo(f) }},
	{IBStat, ibtools.StartsIBStat, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBStatus, ibtools.StartsIBStatus, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBDev2Netdev, ibtools.StartsIBDev2Netdev, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBDev2Netdev(f) }},
	{EthtoolPause, ethtool.StartsPause, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewPause(f) }},
	{Sysfs, sysfs.StartsPaste, func(s *session, f *fragment.Fragment) parser { return sysfs.NewPaste(f, s.tree) }},
	{EthtoolStatistics, ethtool.StartsStatistics, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewStatistics(f) }},
}

// Sniff tells what a file is from its first bytes: the format of the first line that belongs to one. The name
// decides only where the content cannot, as a single number in a copied /sys tree.
func Sniff(name string, head []byte) Format {
	if _, ok := sysfs.Locate(name); ok {
		return Sysfs
	}
	if notText(head) != "" {
		return Unknown
	}
	log := nccl.NewLog(&evidence.Inventory{}, fragment.NewEvents())
	f := fragment.New(&evidence.Inventory{}, name)
	r := lines.NewReader(bytes.NewReader(head))
	for line, ok := r.Next(); ok; line, ok = r.Next() {
		if log.Line(f, line, r.N) {
			return NCCLLog
		}
		if k := detect(lines.Unwrap(line)); k >= 0 {
			return kinds[k].format
		}
	}
	return Unknown
}

// detect finds the format whose first line this may be, -1 where there is none.
func detect(line []byte) int {
	if len(line) == 0 {
		return -1
	}
	for i := range kinds {
		if kinds[i].starts(line) {
			return i
		}
	}
	return -1
}

// notText tells why bytes are no text, "" where they may be.
func notText(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 text: save it as UTF-8"
	case bytes.HasPrefix(head, []byte("\xd4\xc3\xb2\xa1")), bytes.HasPrefix(head, []byte("\xa1\xb2\xc3\xd4")), bytes.HasPrefix(head, []byte("\x0a\x0d\x0d\x0a")):
		return "packet capture: no reader for it"
	case bytes.IndexByte(head, 0) >= 0:
		return "binary"
	}
	return ""
}
