package collect

import (
	"bytes"

	"github.com/shunt-network/shunt/collect/environ"
	"github.com/shunt-network/shunt/collect/ethtool"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/ibtools"
	"github.com/shunt-network/shunt/collect/iproute"
	"github.com/shunt-network/shunt/collect/iptables"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/kmsg"
	"github.com/shunt-network/shunt/collect/limits"
	"github.com/shunt-network/shunt/collect/lspci"
	"github.com/shunt-network/shunt/collect/mlxconfig"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/collect/perftest"
	"github.com/shunt-network/shunt/collect/sonic"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/collect/topology"
)

// Format is what a file, or a part of one, is.
type Format string

// Formats.
const (
	Unknown           Format = ""
	NCCLLog           Format = Format(nccl.LogLine)
	NCCLRAS           Format = Format(nccl.RASReport)
	EthtoolStatistics Format = "ethtool -S"
	EthtoolPause      Format = "ethtool -a"
	ShowGIDs          Format = "show_gids"
	IBVDevInfo        Format = "ibv_devinfo"
	IBStat            Format = "ibstat"
	IBStatus          Format = "ibstatus"
	IBDev2Netdev      Format = "ibdev2netdev"
	Sysfs             Format = "sysfs infiniband"
	RDMAStatistic     Format = "rdma statistic"
	NCCLTests         Format = "nccl-tests"
	Perftest          Format = "perftest"
	Topology          Format = "nccl topology"
	Environment       Format = "environment or command line"
	IPAddr            Format = "ip addr"
	IPRoute           Format = "ip route"
	IPRule            Format = "ip rule"
	LSPCI             Format = "lspci -vvv"
	Memlock           Format = "ulimit"
	DF                Format = "df"
	Sysctl            Format = "sysctl"
	IPTables          Format = "iptables"
	KernelLog         Format = "kernel log"
	MLXConfig         Format = "mlxconfig"
	SecurityGroups    Format = "security groups"
	PFCWatchdog       Format = "show pfcwd stats"
	FECStatus         Format = "show interfaces fec status"
	PyTorchLog        Format = Format(joblog.PyTorch)
	UCXLog            Format = Format(joblog.UCX)
	OpenMPILog        Format = Format(joblog.OpenMPI)
	SHARPLog          Format = Format(joblog.SHARP)
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

// kinds are tried in this order for every line that is not part of a log. Driver statistics come last: their
// lines have the least about them that tells them from others.
var kinds = []kind{
	{NCCLTests, nccltests.Starts, func(_ *session, f *fragment.Fragment) parser { return nccltests.New(f) }},
	{ShowGIDs, ibtools.StartsShowGIDs, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewShowGIDs(f) }},
	{IBVDevInfo, ibtools.StartsDevInfo, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewDevInfo(f) }},
	{IBStat, ibtools.StartsIBStat, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBStatus, ibtools.StartsIBStatus, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBDev2Netdev, ibtools.StartsIBDev2Netdev, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBDev2Netdev(f) }},
	{EthtoolPause, ethtool.StartsPause, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewPause(f) }},
	{Sysfs, sysfs.StartsPaste, func(s *session, f *fragment.Fragment) parser { return sysfs.NewPaste(f, s.tree) }},
	{RDMAStatistic, sysfs.StartsStatistic, func(_ *session, f *fragment.Fragment) parser { return sysfs.NewStatistic(f) }},
	{Perftest, perftest.Starts, func(_ *session, f *fragment.Fragment) parser { return perftest.New(f) }},
	{Topology, topology.Starts, func(_ *session, f *fragment.Fragment) parser { return topology.New(f) }},
	{Environment, environ.Starts, func(_ *session, f *fragment.Fragment) parser { return environ.New(f) }},
	{IPAddr, iproute.StartsAddr, func(_ *session, f *fragment.Fragment) parser { return iproute.NewAddr(f) }},
	{IPRoute, iproute.StartsRoute, func(_ *session, f *fragment.Fragment) parser { return iproute.NewRoute(f) }},
	{IPRule, iproute.StartsRule, func(_ *session, f *fragment.Fragment) parser { return iproute.NewRule(f) }},
	{LSPCI, lspci.Starts, func(_ *session, f *fragment.Fragment) parser { return lspci.New(f) }},
	{Memlock, limits.StartsMemlock, func(_ *session, f *fragment.Fragment) parser { return limits.NewMemlock(f) }},
	{DF, limits.StartsDF, func(_ *session, f *fragment.Fragment) parser { return limits.NewDF(f) }},
	{Sysctl, limits.StartsSysctl, func(_ *session, f *fragment.Fragment) parser { return limits.NewSysctl(f) }},
	{IPTables, iptables.Starts, func(_ *session, f *fragment.Fragment) parser { return iptables.New(f) }},
	{KernelLog, kmsg.Starts, func(_ *session, f *fragment.Fragment) parser { return kmsg.New(f) }},
	{MLXConfig, mlxconfig.Starts, func(_ *session, f *fragment.Fragment) parser { return mlxconfig.New(f) }},
	{PFCWatchdog, sonic.StartsWatchdog, func(_ *session, f *fragment.Fragment) parser { return sonic.NewWatchdog(f) }},
	{FECStatus, sonic.StartsFEC, func(_ *session, f *fragment.Fragment) parser { return sonic.NewFEC(f) }},
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
	s := newSession(Options{})
	p := newPile(s, fragment.New(s.inv, name))
	p.read(bytes.NewReader(head))
	if len(p.formats) == 0 {
		return Unknown
	}
	return Format(p.formats[0])
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
