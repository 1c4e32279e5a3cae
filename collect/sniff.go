package collect

import (
	"bytes"
	"io"
	"strings"

	"github.com/shunt-network/shunt/collect/container"
	"github.com/shunt-network/shunt/collect/environ"
	"github.com/shunt-network/shunt/collect/eos"
	"github.com/shunt-network/shunt/collect/ethtool"
	"github.com/shunt-network/shunt/collect/flightrec"
	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/ibtools"
	"github.com/shunt-network/shunt/collect/iproute"
	"github.com/shunt-network/shunt/collect/iptables"
	"github.com/shunt-network/shunt/collect/irq"
	"github.com/shunt-network/shunt/collect/joblog"
	"github.com/shunt-network/shunt/collect/kmsg"
	"github.com/shunt-network/shunt/collect/limits"
	"github.com/shunt-network/shunt/collect/lldp"
	"github.com/shunt-network/shunt/collect/lspci"
	"github.com/shunt-network/shunt/collect/mlxconfig"
	"github.com/shunt-network/shunt/collect/mlxlink"
	"github.com/shunt-network/shunt/collect/nccl"
	"github.com/shunt-network/shunt/collect/nccltests"
	"github.com/shunt-network/shunt/collect/nettest"
	"github.com/shunt-network/shunt/collect/numa"
	"github.com/shunt-network/shunt/collect/nvidia"
	"github.com/shunt-network/shunt/collect/nvue"
	"github.com/shunt-network/shunt/collect/nxos"
	"github.com/shunt-network/shunt/collect/perftest"
	"github.com/shunt-network/shunt/collect/qos"
	"github.com/shunt-network/shunt/collect/releases"
	"github.com/shunt-network/shunt/collect/sonic"
	"github.com/shunt-network/shunt/collect/ss"
	"github.com/shunt-network/shunt/collect/sysfs"
	"github.com/shunt-network/shunt/collect/system"
	"github.com/shunt-network/shunt/collect/topology"
)

// Format is what a file, or a part of one, is.
type Format string

// Formats.
const (
	Unknown           Format = ""
	NCCLLog           Format = Format(nccl.LogLine)
	NCCLRAS           Format = Format(nccl.RASReport)
	NCCLDiagnostics   Format = Format(nccl.Checks)
	NCCLInspector     Format = "nccl inspector"
	FlightRecorder    Format = "flight recorder"
	EthtoolStatistics Format = "ethtool -S"
	EthtoolPause      Format = "ethtool -a"
	EthtoolLink       Format = "ethtool"
	EthtoolDriver     Format = "ethtool -i"
	EthtoolFEC        Format = "ethtool --show-fec"
	EthtoolModule     Format = "ethtool -m"
	EthtoolQueues     Format = "ethtool -c, -l, -g"
	EthtoolFeatures   Format = "ethtool -k"
	ShowGIDs          Format = "show_gids"
	IBVDevInfo        Format = "ibv_devinfo"
	IBStat            Format = "ibstat"
	IBStatus          Format = "ibstatus"
	IBDev2Netdev      Format = "ibdev2netdev"
	IBPerfquery       Format = "perfquery"
	Sysfs             Format = "sysfs infiniband"
	SysfsPCI          Format = "sysfs pci"
	SysfsNet          Format = "sysfs net"
	IRQAffinity       Format = "interrupt affinity"
	Interrupts        Format = "interrupts"
	NUMACtl           Format = "numactl -H"
	LSCPU             Format = "lscpu"
	QoS               Format = "mlnx_qos"
	DCB               Format = "dcb"
	CMATOS            Format = "cma_roce_tos"
	MLXLink           Format = "mlxlink"
	RDMALink          Format = "rdma link"
	IPNeighbors       Format = "ip neigh"
	GPUTopology       Format = "nvidia-smi topo -m"
	GPUQuery          Format = "nvidia-smi -q"
	GPUBanner         Format = "nvidia-smi"
	NVLink            Format = "nvidia-smi nvlink"
	DCGM              Format = "dcgmi"
	DCGMLinks         Format = "dcgmi nvlink"
	LLDP              Format = "lldpctl"
	Manifest          Format = "kubernetes object"
	DockerInspect     Format = "docker inspect"
	Ping              Format = "ping"
	Iperf             Format = "iperf3"
	Qperf             Format = "qperf"
	RDMAStatistic     Format = "rdma statistic"
	SocketList        Format = "ss"
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
	SystemFacts       Format = "system"
	MLXConfig         Format = "mlxconfig"
	SecurityGroups    Format = "security groups"
	PFCWatchdog       Format = "show pfcwd stats"
	SwitchLog         Format = "switch log"
	FECStatus         Format = "show interfaces fec status"
	SwitchCounters    Format = "show interfaces counters"
	SwitchPorts       Format = "show interfaces status"
	SwitchNeighbors   Format = "show lldp table"
	SwitchPause       Format = "show pfc counters"
	SwitchQueues      Format = "show queue counters"
	SwitchMarking     Format = "show ecn"
	SwitchResources   Format = "crm show resources"
	NXOSPause         Format = "show interface priority-flow-control"
	NXOSQueuing       Format = "show queuing interface"
	EOSPause          Format = "show priority-flow-control counters"
	NVUEQueues        Format = "nv show interface counters qos"
	ConfigDB          Format = "config_db.json"
	PyTorchLog        Format = Format(joblog.PyTorch)
	UCXLog            Format = Format(joblog.UCX)
	VerbsLog          Format = Format(joblog.Verbs)
	PairTable         Format = "bandwidth of pairs"
	ReleaseNotes      Format = "bandwidth by release"
	OpenMPILog        Format = Format(joblog.OpenMPI)
	SHARPLog          Format = Format(joblog.SHARP)
	MooncakeLog       Format = Format(joblog.Mooncake)
	LauncherLog       Format = Format(joblog.Launcher)
)

// parser reads the lines of one output; false means that the line is not of it.
type parser interface {
	Line(line []byte, n int) bool
}

// kind is one format that is told by its lines: starts must hold for lines no other format has.
type kind struct {
	format Format
	first  string // the bytes such a line may begin with, behind blanks; "" for any
	starts func(line []byte) bool
	open   func(s *session, f *fragment.Fragment) parser
}

// Sets of first bytes.
const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

// kinds are tried in this order for every line that is not part of a log. Driver statistics come last: their
// lines have the least about them that tells them from others.
var kinds = []kind{
	{NCCLTests, "#", nccltests.Starts, func(_ *session, f *fragment.Fragment) parser { return nccltests.New(f) }},
	{ShowGIDs, "D", ibtools.StartsShowGIDs, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewShowGIDs(f) }},
	{IBVDevInfo, "hGam", ibtools.StartsDevInfo, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewDevInfo(f) }},
	{IBStat, "C", ibtools.StartsIBStat, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBStatus, "I", ibtools.StartsIBStatus, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBStat(f) }},
	{IBPerfquery, "#", ibtools.StartsPerfquery, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewPerfquery(f) }},
	{IBDev2Netdev, lower + digit, ibtools.StartsIBDev2Netdev, func(_ *session, f *fragment.Fragment) parser { return ibtools.NewIBDev2Netdev(f) }},
	{EthtoolPause, "P", ethtool.StartsPause, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewPause(f) }},
	{EthtoolLink, "S", ethtool.StartsSettings, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewSettings(f) }},
	{EthtoolDriver, "dfb", ethtool.StartsDriver, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewDriver(f) }},
	{EthtoolFEC, "FACS", ethtool.StartsFEC, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewFEC(f) }},
	{EthtoolModule, "IRL", ethtool.StartsModule, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewModule(f) }},
	{EthtoolQueues, "CR", ethtool.StartsQueues, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewQueues(f) }},
	{EthtoolFeatures, "F", ethtool.StartsFeatures, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewFeatures(f) }},
	{Sysfs, lower + "/", sysfs.StartsPaste, func(s *session, f *fragment.Fragment) parser { return sysfs.NewPaste(f, s.tree) }},
	{QoS, "DPdRC", qos.Starts, func(_ *session, f *fragment.Fragment) parser { return qos.New(f) }},
	{DCB, "pdbte", qos.StartsDCB, func(_ *session, f *fragment.Fragment) parser { return qos.NewDCB(f) }},
	{CMATOS, lower + "$#/", qos.StartsCMATOS, func(_ *session, f *fragment.Fragment) parser { return qos.NewCMATOS(f) }},
	{MLXLink, "OTPM", mlxlink.Starts, func(_ *session, f *fragment.Fragment) parser { return mlxlink.New(f) }},
	{RDMALink, "l0123456789", iproute.StartsRDMA, func(_ *session, f *fragment.Fragment) parser { return iproute.NewRDMA(f) }},
	{SocketList, "NS", ss.Starts, func(_ *session, f *fragment.Fragment) parser { return ss.New(f) }},
	{RDMAStatistic, "l", sysfs.StartsStatistic, func(_ *session, f *fragment.Fragment) parser { return sysfs.NewStatistic(f) }},
	{Perftest, lower + upper + "#$", perftest.Starts, func(_ *session, f *fragment.Fragment) parser { return perftest.New(f) }},
	{Topology, "<", topology.Starts, func(_ *session, f *fragment.Fragment) parser { return topology.New(f) }},
	{Environment, lower + upper + "./#$", environ.Starts, func(_ *session, f *fragment.Fragment) parser { return environ.New(f) }},
	{IPAddr, lower + upper + digit, iproute.StartsAddr, func(_ *session, f *fragment.Fragment) parser { return iproute.NewAddr(f) }},
	{IPNeighbors, "0123456789abcdef:", iproute.StartsNeighbors, func(_ *session, f *fragment.Fragment) parser { return iproute.NewNeighbors(f) }},
	{IPRoute, "0123456789abcdef:", iproute.StartsRoute, func(_ *session, f *fragment.Fragment) parser { return iproute.NewRoute(f) }},
	{IPRule, "0123456789", iproute.StartsRule, func(_ *session, f *fragment.Fragment) parser { return iproute.NewRule(f) }},
	{LSPCI, "0123456789abcdefA-+\\", lspci.Starts, func(_ *session, f *fragment.Fragment) parser { return lspci.New(f) }},
	{Interrupts, "C", irq.Starts, func(_ *session, f *fragment.Fragment) parser { return irq.New(f) }},
	{IRQAffinity, "/", irq.StartsPaste, func(s *session, f *fragment.Fragment) parser { return irq.NewPaste(f, s.affinity) }},
	pasted(SysfsNet), pasted(SysfsPCI), pasted(Sysctl), pasted(SystemFacts),
	{NUMACtl, "an", numa.StartsHardware, func(_ *session, f *fragment.Fragment) parser { return numa.NewHardware(f) }},
	{LSCPU, "ACTSN", numa.StartsLSCPU, func(_ *session, f *fragment.Fragment) parser { return numa.NewLSCPU(f) }},
	{GPUTopology, "G", nvidia.StartsTopo, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewTopo(f) }},
	{GPUQuery, "=G", nvidia.StartsQuery, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewQuery(f) }},
	{GPUBanner, "|N", nvidia.StartsBanner, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewBanner(f) }},
	{NVLink, "G", nvidia.StartsNVLinks, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewNVLinks(f) }},
	{DCGM, "|", nvidia.StartsDCGM, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewDCGM(f) }},
	{DCGMLinks, "|", nvidia.StartsLinkErrors, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewLinkErrors(f) }},
	{DCGMLinks, "g", nvidia.StartsLinkStates, func(_ *session, f *fragment.Fragment) parser { return nvidia.NewLinkStates(f) }},
	{LLDP, "IlL", lldp.Starts, func(_ *session, f *fragment.Fragment) parser { return lldp.New(f) }},
	{Manifest, "a", container.StartsManifest, func(_ *session, f *fragment.Fragment) parser { return container.NewManifest(f) }},
	{Ping, "Pps$", nettest.StartsPing, func(_ *session, f *fragment.Fragment) parser { return nettest.NewPing(f) }},
	{Iperf, "C[", nettest.StartsIperf, func(_ *session, f *fragment.Fragment) parser { return nettest.NewIperf(f) }},
	{Qperf, "tusrxvq", nettest.StartsQperf, func(_ *session, f *fragment.Fragment) parser { return nettest.NewQperf(f) }},
	{Memlock, lower + upper + "$#", limits.StartsMemlock, func(_ *session, f *fragment.Fragment) parser { return limits.NewMemlock(f) }},
	{DF, "F", limits.StartsDF, func(_ *session, f *fragment.Fragment) parser { return limits.NewDF(f) }},
	{Sysctl, "nvkfud", limits.StartsSysctl, func(_ *session, f *fragment.Fragment) parser { return limits.NewSysctl(f) }},
	{IPTables, "C-", iptables.Starts, func(_ *session, f *fragment.Fragment) parser { return iptables.New(f) }},
	{KernelLog, lower + upper + digit + "[", kmsg.Starts, func(_ *session, f *fragment.Fragment) parser { return kmsg.New(f) }},
	{SystemFacts, "LBPMOD0123456789", system.Starts, func(_ *session, f *fragment.Fragment) parser { return system.New(f) }},
	{MLXConfig, "C", mlxconfig.Starts, func(_ *session, f *fragment.Fragment) parser { return mlxconfig.New(f) }},
	{PFCWatchdog, upper, sonic.StartsWatchdog, func(_ *session, f *fragment.Fragment) parser { return sonic.NewWatchdog(f) }},
	{SwitchLog, lower + upper + digit, sonic.StartsSyslog, func(_ *session, f *fragment.Fragment) parser { return sonic.NewSyslog(f) }},
	{FECStatus, upper, sonic.StartsFEC, func(_ *session, f *fragment.Fragment) parser { return sonic.NewFEC(f) }},
	{SwitchCounters, "I", sonic.StartsCounters, func(_ *session, f *fragment.Fragment) parser { return sonic.NewCounters(f) }},
	{SwitchPorts, "I", sonic.StartsPorts, func(_ *session, f *fragment.Fragment) parser { return sonic.NewPorts(f) }},
	{SwitchNeighbors, "L", sonic.StartsNeighbors, func(_ *session, f *fragment.Fragment) parser { return sonic.NewNeighbors(f) }},
	{SwitchPause, "P", sonic.StartsPause, func(_ *session, f *fragment.Fragment) parser { return sonic.NewPause(f) }},
	{SwitchQueues, "P", sonic.StartsQueues, func(_ *session, f *fragment.Fragment) parser { return sonic.NewQueues(f) }},
	{SwitchMarking, "P", sonic.StartsMarking, func(_ *session, f *fragment.Fragment) parser { return sonic.NewMarking(f) }},
	{SwitchResources, "RST", sonic.StartsResources, func(_ *session, f *fragment.Fragment) parser { return sonic.NewResources(f) }},
	{NXOSPause, "P", nxos.StartsPFC, func(_ *session, f *fragment.Fragment) parser { return nxos.NewPFC(f) }},
	{NXOSQueuing, upper + lower, nxos.StartsQueuing, func(_ *session, f *fragment.Fragment) parser { return nxos.NewQueuing(f) }},
	{EOSPause, "P", eos.StartsPFC, func(_ *session, f *fragment.Fragment) parser { return eos.NewPFC(f) }},
	{NVUEQueues, "ts", nvue.StartsTable, func(_ *session, f *fragment.Fragment) parser { return nvue.NewTable(f) }},
	{ReleaseNotes, lower + upper + "|-*", releases.Starts, func(_ *session, f *fragment.Fragment) parser { return releases.New(f) }},
	{PairTable, lower + upper, nettest.StartsMatrix, func(_ *session, f *fragment.Fragment) parser { return nettest.NewMatrix(f) }},
	{EthtoolStatistics, lower + "N[", ethtool.StartsStatistics, func(_ *session, f *fragment.Fragment) parser { return ethtool.NewStatistics(f) }},
}

// Sniff tells what a file is from its first bytes: the format of the first line that belongs to one. The name
// decides only where the content cannot, as a single number in a copied /sys tree.
func Sniff(name string, head []byte) Format {
	s := newSession(Options{})
	if l, ok := s.leafOf(name); ok {
		return l.format
	}
	if flightrec.StartsPickle(head) {
		return FlightRecorder
	}
	if format, ok := packets(head); ok {
		return format
	}
	if order, ok := wide(head); ok {
		head, _ = io.ReadAll(&narrow{r: bytes.NewReader(head), order: order})
	}
	if notText(head) != "" {
		return Unknown
	}
	p := newPile(s, fragment.New(s.inv, name))
	p.read(bytes.NewReader(head))
	if len(p.formats) == 0 {
		return Unknown
	}
	return Format(p.formats[0])
}

// byFirst lists the kinds whose lines may begin with a byte, in their order. Most lines of a log are of no kind, and
// are compared with a few in place of all.
var byFirst = func() (table [256][]int) {
	for b := range table {
		for i, k := range kinds {
			if k.first == "" || strings.IndexByte(k.first, byte(b)) >= 0 {
				table[b] = append(table[b], i)
			}
		}
	}
	return table
}()

// detect finds the format whose first line this may be, -1 where there is none.
func detect(line []byte) int {
	at := 0
	for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
		at++
	}
	if at == len(line) {
		return -1
	}
	for _, i := range byFirst[line[at]] {
		if kinds[i].starts(line) {
			return i
		}
	}
	return -1
}

// notText tells why bytes are no text, "" where they may be.
func notText(head []byte) string {
	if bytes.IndexByte(head, 0) >= 0 {
		return "binary"
	}
	return ""
}
