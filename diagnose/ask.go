package diagnose

import "slices"

// Where an Ask is run.
type Place uint8

// Places.
const (
	OnHost   Place = iota // on each host of the job
	InJob                 // where the job runs: inside its container
	OnSwitch              // on the switches (SONiC)
	NextRun               // nothing to run now: variables for the next run of the job
	FromJob               // nothing to run: what the job left behind
)

// Ask is something to collect that decides causes which could not be checked, or a doubt that a finding left. Every
// command only reads: it changes no setting, resets no counter and sends nothing.
type Ask struct {
	On   Place
	Name string // of the file its output goes into, without ending
	// Command is one line of bash. {netdev} stands for the interface of each RDMA device in turn.
	// For NextRun it is variables as env prints them, one a blank; for FromJob a sentence.
	Command string
	Twice   bool // a counter: read it again after a while under load
	Root    bool // it tells more, or anything at all, as root
}

// What several causes ask for. mlx5 and others: rdma-core, mlnx-tools, iproute2, ethtool, pciutils, sonic-utilities.
var (
	askGIDs      = Ask{On: InJob, Name: "show_gids", Command: "show_gids"}
	askGIDFiles  = Ask{On: InJob, Name: "gids", Command: `grep -sv 0000:0000:0000:0000:0000:0000:0000:0000 /sys/class/infiniband/*/ports/*/gids/*; grep -s . /sys/class/infiniband/*/ports/*/gid_attrs/types/* /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*`}
	askDevInfo   = Ask{On: InJob, Name: "ibv_devinfo", Command: "ibv_devinfo -v"}
	askStat      = Ask{On: OnHost, Name: "ibstat", Command: "ibstat"}
	askStatus    = Ask{On: OnHost, Name: "ibstatus", Command: "ibstatus"}
	askNames     = Ask{On: OnHost, Name: "ibdev2netdev", Command: "ibdev2netdev"}
	askAddresses = Ask{On: OnHost, Name: "ip_addr", Command: "ip addr"}
	askRules     = Ask{On: OnHost, Name: "ip_rule", Command: "ip rule"}
	askRoutes    = Ask{On: OnHost, Name: "ip_route", Command: "ip route show table all"}
	askFilters   = Ask{On: OnHost, Name: "iptables", Command: "iptables -L -n", Root: true}
	askARP       = Ask{On: OnHost, Name: "sysctl", Command: "sysctl -a --pattern '^net.ipv4.conf.*(arp_|rp_filter)'"}
	askEthtool   = Ask{On: OnHost, Name: "ethtool_S", Command: "ethtool -S {netdev}", Twice: true}
	askPause     = Ask{On: OnHost, Name: "ethtool_a", Command: "ethtool -a {netdev}"}
	askSpeed     = Ask{On: OnHost, Name: "ethtool", Command: "ethtool {netdev}"}
	askModule    = Ask{On: OnHost, Name: "ethtool_m", Command: "ethtool -m {netdev}", Root: true}
	askRDMACount = Ask{On: OnHost, Name: "hw_counters", Command: "grep -s . /sys/class/infiniband/*/ports/*/hw_counters/*", Twice: true}
	askPortCount = Ask{On: OnHost, Name: "port_counters", Command: "grep -s . /sys/class/infiniband/*/ports/*/counters/*", Twice: true}
	askQoS       = Ask{On: OnHost, Name: "mlnx_qos", Command: "mlnx_qos -i {netdev}", Root: true}
	askPCI       = Ask{On: OnHost, Name: "lspci", Command: "lspci -vvv", Root: true}
	askKernel    = Ask{On: OnHost, Name: "dmesg", Command: "dmesg -T", Root: true}
	askFirmware  = Ask{On: OnHost, Name: "mlxconfig", Command: "mlxconfig query", Root: true}
	askMemlock   = Ask{On: InJob, Name: "ulimit", Command: "ulimit -l"}
	askShm       = Ask{On: InJob, Name: "df", Command: "df -h /dev/shm"}
	askVerbs     = Ask{On: InJob, Name: "dev_infiniband", Command: "ls -l /dev/infiniband"}
	askVariables = Ask{On: InJob, Name: "env", Command: EnvCommand}
	askConf      = Ask{On: InJob, Name: "nccl_conf", Command: "cat /etc/nccl.conf ~/.nccl.conf"}
	askTopology  = Ask{On: OnHost, Name: "nvidia-smi_topo", Command: "nvidia-smi topo -m"}
	askGPUs      = Ask{On: OnHost, Name: "nvidia-smi", Command: "nvidia-smi -q"}
	askBoot      = Ask{On: OnHost, Name: "boot_id", Command: "hostname; cat /proc/sys/kernel/random/boot_id"}
	askOFI       = Ask{On: InJob, Name: "fi_info", Command: "fi_info"}

	askPorts    = Ask{On: OnSwitch, Name: "interfaces_status", Command: "show interfaces status"}
	askFEC      = Ask{On: OnSwitch, Name: "interfaces_fec", Command: "show interfaces fec status"}
	askErrors   = Ask{On: OnSwitch, Name: "interfaces_counters", Command: "show interfaces counters", Twice: true}
	askQueues   = Ask{On: OnSwitch, Name: "queue_counters", Command: "show queue counters", Twice: true}
	askPeaks    = Ask{On: OnSwitch, Name: "queue_watermark", Command: "show queue watermark unicast"}
	askPFC      = Ask{On: OnSwitch, Name: "pfc_counters", Command: "show pfc counters", Twice: true}
	askWatchdog = Ask{On: OnSwitch, Name: "pfcwd", Command: "show pfcwd stats", Twice: true}
	askECN      = Ask{On: OnSwitch, Name: "ecn", Command: "show ecn"}
	askLLDP     = Ask{On: OnSwitch, Name: "lldp", Command: "show lldp table"}
	askPriority = Ask{On: OnSwitch, Name: "qos_maps", Command: "sonic-cfggen -d --var-json DSCP_TO_TC_MAP"}

	askNeighbors  = Ask{On: OnHost, Name: "ip_neigh", Command: "ip neigh"}
	askCmdline    = Ask{On: OnHost, Name: "cmdline", Command: "cat /proc/cmdline"}
	askTree       = Ask{On: OnHost, Name: "lspci_tree", Command: "lspci -tv"}
	askInterrupts = Ask{On: OnHost, Name: "interrupts", Command: "cat /proc/interrupts", Twice: true}
	askAffinity   = Ask{On: OnHost, Name: "irq_affinity", Command: "grep -s . /proc/irq/*/smp_affinity_list"}
	askCPU        = Ask{On: OnHost, Name: "lscpu", Command: "lscpu"}
	askCoalesce   = Ask{On: OnHost, Name: "ethtool_c", Command: "ethtool -c {netdev}"}
	askFECHost    = Ask{On: OnHost, Name: "ethtool_fec", Command: "ethtool --show-fec {netdev}"}
	askHealth     = Ask{On: OnHost, Name: "dcgmi_health", Command: "dcgmi health -g 0 -c"}
	askConfigDB   = Ask{On: OnSwitch, Name: "config_db", Command: "show runningconfiguration all"}
	askCRM        = Ask{On: OnSwitch, Name: "crm", Command: "crm show resources all"}
	askProbe      = Ask{On: FromJob, Name: "ping", Command: "ping -c 3 -M do -s 8972 PEER between the addresses RoCE uses"}
	askPairs      = Ask{On: FromJob, Name: "pairs", Command: "ib_write_bw --report_gbits between several pairs of hosts, with the command lines"}
	askTuning     = Ask{On: NextRun, Name: "tuning", Command: "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING NCCL_DEBUG_FILE=nccl_%h_%p.log"}
	askMatrix     = Ask{On: FromJob, Name: "compatibility", Command: "the site's list of tested versions (docs/compatibility.md)"}
	askDriverOf   = Ask{On: OnHost, Name: "ethtool_i", Command: "ethtool -i {netdev}"}

	askInfo   = Ask{On: NextRun, Name: "nccl", Command: "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH NCCL_DEBUG_FILE=nccl_%h_%p.log"}
	askXML    = Ask{On: NextRun, Name: "topology", Command: "NCCL_TOPO_DUMP_FILE=nccl_topo.xml"}
	askFlight = Ask{On: NextRun, Name: "flight", Command: "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"}

	askLogs    = Ask{On: FromJob, Name: "logs", Command: "the logs of all ranks, from their start"}
	askTable   = Ask{On: FromJob, Name: "nccl-tests", Command: "the output of nccl-tests over the sizes that matter, with checking on (-c 1)"}
	askPerf    = Ask{On: FromJob, Name: "perftest", Command: "the whole output of the bandwidth test, with its header"}
	askSFlow   = Ask{On: FromJob, Name: "sflow", Command: "flow records of the switches (sFlow) with the priority of each flow"}
	askCapture = Ask{On: FromJob, Name: "capture", Command: "packets of RoCE in both directions for some seconds, whole, as pcap or pcapng: from a mirror port of the switch, or from a NIC that lets tcpdump see RDMA"}
)

// EnvCommand prints the variables that matter to the network of a job. What may be a secret stays out by name.
const EnvCommand = `env | grep -E '^(NCCL|RCCL|UCX|OMPI_MCA|TORCH_NCCL|TORCH_DISTRIBUTED|FI|OFI_NCCL|SHARP|RDMAV|MLX5|GLOO)_|^CUDA_VISIBLE_DEVICES=' | grep -viE '^[^=]*(token|secret|passw|credential|auth|key)'`

// asks says for each code what would decide it, the most telling first.
var asks = map[string][]Ask{
	"P001": {askSpeed, askStat, askPorts},
	"P002": {askEthtool, askPortCount, askModule, askErrors},
	"P003": {askEthtool, askPortCount, askKernel, askErrors},
	"P004": {askKernel, askLogs, askInfo},
	"P005": {askKernel, askModule},
	"P006": {askFECHost, askFEC, askEthtool},
	"P007": {askModule, askEthtool},
	"P008": {askStat, askInfo},
	"H001": {askInfo, askPCI, askTopology, askXML},
	"H002": {askPCI, askInfo},
	"H003": {askMemlock, askInfo},
	"H004": {askShm, askInfo},
	"H005": {askVerbs, askStatus, askInfo},
	"H006": {askPCI},
	"H007": {askGPUs, askKernel},
	"H008": {askPCI, askSpeed},
	"H009": {askPCI, askCPU, askEthtool},
	"H010": {askCmdline, askKernel, askEthtool},
	"H011": {askTopology, askTree, askInfo},
	"H012": {askInterrupts, askAffinity},
	"H013": {askInterrupts, askAffinity, askCPU},
	"H014": {askCoalesce},
	"H015": {askVariables, askCPU},
	"H016": {askTree, askPCI, askStat},
	"H017": {askKernel, askEthtool},
	"H019": {askInterrupts, askAffinity, askCPU, askEthtool},
	"H018": {askEthtool, askQoS, askPCI},
	"H020": {askTopology, askCmdline, askInfo},
	"L011": {askQueues, askPeaks, askLLDP},
	"L012": {askEthtool, askPCI},
	"L013": {askPFC, askLLDP},
	"L021": {askQueues, askErrors, askLLDP, askPeaks},
	"L031": {askQueues, askECN, askPFC},
	"L032": {askPFC, askQueues, askECN, askEthtool},
	"L033": {askRDMACount, askEthtool, askQoS, askErrors},
	"L034": {askEthtool, askPause},
	"L035": {askWatchdog, askEthtool},
	"L043": {askQueues, askPFC, askWatchdog},
	"L039": {askEthtool, askPFC},
	"L040": {askCRM, askConfigDB},
	"L041": {askPFC, askQueues, askConfigDB},
	"L042": {askConfigDB, askQueues, askPFC},
	"L036": {askQoS, askConfigDB, askInfo, askEthtool},
	"L037": {askRDMACount},
	"L038": {askEthtool, askQoS},
	"I001": {askGIDs, askGIDFiles, askVariables, askInfo},
	"I002": {askGIDs, askGIDFiles, askVariables, askInfo},
	"I003": {askGIDs, askGIDFiles, askInfo},
	"I004": {askGIDs, askGIDFiles},
	"I005": {askAddresses, askRules, askRoutes, askARP, askNames, askGIDs},
	"I006": {askAddresses, askGIDs, askGIDFiles, askInfo},
	"I007": {askFilters, askLogs},
	"I008": {askBoot, askInfo, askLogs},
	"I009": {askGIDs, askGIDFiles, askVariables},
	"I010": {askRoutes, askAddresses, askInfo},
	"I011": {askNeighbors, askKernel},
	"R001": {askDevInfo, askAddresses, askInfo},
	"R002": {askDevInfo, askAddresses},
	"R003": {askDevInfo, askAddresses, askInfo},
	"R004": {askLogs, askRDMACount, askGIDs, askInfo},
	"R005": {askLogs, askDevInfo, askVariables},
	"R006": {askInfo, askTable},
	"R007": {askLogs},
	"R008": {askLogs, askRDMACount},
	"R009": {askProbe, askAddresses, askPorts, askDevInfo},
	"R010": {askVariables, askInfo, askLogs},
	"R030": {askRDMACount, askErrors, askQueues},
	"R031": {askStat, askDriverOf, askLogs},
	"C001": {askAddresses, askInfo},
	"C002": {askStatus, askInfo},
	"C003": {askDevInfo, askInfo},
	"C004": {askStat, askNames, askInfo},
	"C005": {askInfo, askVariables},
	"C006": {askOFI, askInfo},
	"C007": {askVariables, askConf, askInfo},
	"C008": {askLogs, askInfo},
	"C009": {askInfo, askXML},
	"C010": {askTable},
	"C011": {askPerf},
	"C012": {askVariables, askConf, askInfo},
	"C013": {askXML, askNames},
	"C014": {askVariables, askConf, askInfo},
	"C015": {askVariables, askAddresses},
	"C016": {askVariables, askInfo},
	"C017": {askGPUs, askTopology, askVariables},
	"C018": {askInfo, askVariables, askGPUs},
	"C019": {askTuning, askTable},
	"C020": {askPairs},
	"C021": {askFlight},
	"C022": {askStat, askInfo},
	"C023": {askInfo},
	"C024": {askTable},
	"C026": {askPerf, askTable, askInfo},
	"C025": {askInfo, askTable, askRDMACount},
	"J001": {askLogs, askFlight},
	"J002": {askLogs, askRDMACount, askFlight},
	"J003": {askLogs},
	"J004": {askFirmware, askLogs},
	"J005": {askKernel, askGPUs, askLogs},
	"J006": {askLogs},
	"J007": {askKernel, askLogs},
	"J008": {askGPUs},
	"J009": {askKernel, askGPUs, askHealth},
	"J010": {askInfo, askVariables},
	"L022": {askCapture, askRDMACount}, "L023": {askCapture, askRDMACount}, "L024": {askCapture, askEthtool}, "L025": {askCapture, askRDMACount}, "R020": {askCapture, askRDMACount},
	"X020": {askCapture, askQoS}, "X021": {askCapture}, "X022": {askCapture, askLogs, askProbe},
	"X011": {askSFlow, askQoS, askPriority},
	"X012": {askMatrix, askGPUs, askDriverOf},
	"X013": {askDevInfo, askQoS, askGPUs},
}

// Asks is what would decide a cause, the most telling first; none for a code that is not known.
func Asks(code string) []Ask { return slices.Clone(asks[code]) }

// AllAsks lists every Ask once, in the order of the causes.
func AllAsks() []Ask {
	var all []Ask
	for _, c := range Causes() {
		for _, a := range asks[c.Code] {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// sure is the confidence from which on nothing more is asked about a finding.
const sure = proven

// Open lists what would settle the doubts that a result left: about its findings, first cause first, and then about
// the causes that could not be checked. Each Ask is there once, with the codes it is for.
func Open(findings []Finding, checked Checked) []OpenAsk {
	var open []OpenAsk
	add := func(code string) {
		for _, a := range asks[code] {
			i := slices.IndexFunc(open, func(o OpenAsk) bool { return o.Ask == a })
			if i < 0 {
				i = len(open)
				open = append(open, OpenAsk{Ask: a})
			}
			if !slices.Contains(open[i].For, code) {
				open[i].For = append(open[i].For, code)
			}
		}
	}
	for _, f := range findings {
		if f.Settle != "" || f.Confidence < sure {
			add(f.Code)
		}
	}
	for _, c := range checked.Could {
		add(c.Code)
	}
	return open
}

// OpenAsk is an Ask and the codes it would decide.
type OpenAsk struct {
	Ask
	For []string
}
