package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C007: an NCCL variable does harm.
//
// Symptom: depends on the variable; each rule below says. Mechanism: variables outlive the machine and the release
// they were set for, in job scripts, images and /etc/nccl.conf. Evidence for: the variable with a value that is
// known to hurt, together with the version where that matters. Against: nothing; so a variable that only may hurt is
// a note. Look-alikes: C005 and C012, where a variable does not do what it was set for.
var causeHarmfulVariable = Cause{
	Code:     "C007",
	Title:    "an NCCL variable does harm",
	Needs:    "the variables of the job (NCCL log, command line, env, /etc/nccl.conf)",
	Explains: []string{"C009"},
	Check:    checkHarmfulVariable,
}

// harm is what a variable does.
type harm struct {
	severity   Severity
	confidence float64
	title      string
	because    string
	wrongIf    string
	fix        string
	settle     string
	effects    []Evidence
}

// harms judges variables, by name.
var harms = map[string]func(*View, evidence.EnvVar) (harm, bool){
	"NCCL_NCHANNELS_PER_NET_PEER": harmChannelsPerPeer,
	"NCCL_TOPO_FILE":              harmTopoFile,
	"NCCL_GRAPH_FILE":             harmTopoFile,
	"NCCL_PROTO":                  harmProto,
	"NCCL_P2P_DISABLE":            harmP2P,
	"NCCL_SHM_DISABLE":            harmShm,
	"NCCL_MAX_NCHANNELS":          harmMaxChannels,
	"NCCL_MAX_CTAS":               harmMaxChannels,
	"NCCL_BUFFSIZE":               harmBuffer,
	"NCCL_PXN_DISABLE":            harmPXN,
	"NCCL_DEBUG":                  harmTrace,
	"NCCL_NET_GDR_LEVEL":          harmGDRLevel,
	"NCCL_NTHREADS":               harmThreads,
	"NCCL_IGNORE_CPU_AFFINITY":    harmAffinity,
	"NCCL_ALGO":                   harmNoWay,
	"NCCL_NET":                    harmNoNetwork,
}

func checkHarmfulVariable(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no variables of NCCL")
	}
	env := v.Inv.NCCL.Env
	if len(env) == 0 {
		if v.Inv.NCCL.HasLog {
			return ruledOut("the log shows no variable that is set")
		}
		return cannotCheck("the variables of the job (NCCL_DEBUG=INFO, or env | grep NCCL)")
	}
	findings := judged(v, harms)
	if len(findings) > 0 {
		return found(findings...)
	}
	return ruledOut(fmt.Sprintf("none of the %d variables that are set is known to do harm", len(env)))
}

// judged applies rules to the variables that are set, each variable once.
func judged(v *View, rules map[string]func(*View, evidence.EnvVar) (harm, bool)) []Finding {
	var findings []Finding
	seen := map[string]bool{}
	for _, e := range v.Inv.NCCL.Env {
		judge, ok := rules[e.Name]
		if !ok || seen[e.Name] {
			continue
		}
		h, bad := judge(v, e)
		if !bad {
			continue
		}
		seen[e.Name] = true
		findings = append(findings, Finding{
			Title: h.title, Severity: h.severity, Confidence: h.confidence,
			Where:    []string{orElse(e.Host, e.Name)},
			Because:  h.because,
			Evidence: append([]Evidence{{Layer: "collective", What: e.Name, Seen: e.Value, Expected: "unset", Role: "cause", From: e.From.String()}}, h.effects...),
			WrongIf:  h.wrongIf,
			Fix:      Fix{Text: h.fix, Commands: []string{"unset " + e.Name, "grep -H NCCL /etc/nccl.conf ~/.nccl.conf"}, Try: []Change{{Setting: e.Name, Value: ""}}},
			Settle:   orElse(h.settle, "the same run without "+e.Name),
		})
	}
	return findings
}

// harmChannelsPerPeer: NCCL 2.20 changed the default from 2 to a choice of its own (-1); a large fixed number
// splits each point-to-point message into pieces that are too small.
func harmChannelsPerPeer(v *View, e evidence.EnvVar) (harm, bool) {
	n, err := strconv.Atoi(e.Value)
	if err != nil || n <= 2 || v.nccl().atLeast(2, 19) == no {
		return harm{}, false
	}
	h := harm{
		severity: Warning, confidence: likely,
		title:   fmt.Sprintf("NCCL_NCHANNELS_PER_NET_PEER=%d holds for a release that had more channels; it slows alltoall", n),
		because: "since 2.19 NCCL uses fewer channels; many of them for each peer leave few peers served at a time and cut messages into small pieces",
		wrongIf: "the job sends no alltoall and no send/receive between hosts",
		fix:     "unset it; if point-to-point traffic needs more channels raise NCCL_MIN_P2P_NCHANNELS instead",
	}
	for _, s := range v.Inv.NCCL.Shape {
		if s.P2PPerPeer == n {
			h.effects = append(h.effects, Evidence{Layer: "collective", What: "channels on " + called(s.Host), Seen: fmt.Sprintf("%d coll, %d p2p, %d p2p for each peer", s.Collective, s.P2P, s.P2PPerPeer), Role: "effect", From: s.From.String()})
			break
		}
	}
	return h, true
}

// harmTopoFile: a topology or graph file replaces what NCCL detects, and describes one type of machine.
func harmTopoFile(v *View, e evidence.EnvVar) (harm, bool) {
	if e.Value == "" {
		return harm{}, false
	}
	h := harm{
		severity: Note, confidence: possible,
		title:   fmt.Sprintf("%s=%s replaces what NCCL finds on this machine", e.Name, e.Value),
		because: "the file describes one type of machine; on another size or type NCCL fails in its graph search or builds fewer channels",
		wrongIf: "the file is for exactly this type of machine",
		fix:     "remove the reference unless the file is for this type of machine",
		settle:  "nvidia-smi -L | wc -l against the number of <gpu> in the file, and a run without the variable",
	}
	if strings.Contains(e.Name, "GRAPH") {
		h.confidence = likely
	}
	lost := without(v.said(evidence.OtherWarning), func(w evidence.Event) bool { // src/graph/xml.cc
		return !strings.Contains(w.Text, "Could not open XML") || !strings.Contains(w.Text, e.Value)
	})
	if len(lost) > 0 {
		h.severity, h.confidence = Warning, named
		h.title = fmt.Sprintf("%s=%s cannot be opened where the job runs", e.Name, e.Value)
		h.because = "NCCL goes on with what it finds by itself; in a virtual machine that hides which GPU is near which NIC, and the file was to tell it"
		h.wrongIf = "the machine shows its PCIe tree as it is"
		h.fix = "put the file into the image or mount it, for exactly this type of machine; else remove the reference"
		h.settle = "ls -l of the path inside the container, and \"via NET/IB/n/GDRDMA\" in a run with it"
		h.effects = tell(lost, "effect")
	}
	return h, true
}

// harmNoWay: a choice that leaves no algorithm for a collective or a type of data (src/enqueue.cc, "no algorithm/protocol available").
func harmNoWay(v *View, e evidence.EnvVar) (harm, bool) {
	none := without(v.said(evidence.OtherWarning), func(w evidence.Event) bool { return !strings.Contains(w.Text, "no algorithm/protocol available") })
	if len(none) == 0 {
		return harm{}, false
	}
	_, what, _ := strings.Cut(none[0].Text, "available for ")
	what, _, _ = strings.Cut(what, ".")
	return harm{
		severity: Critical, confidence: named,
		title:   fmt.Sprintf("NCCL_ALGO=%s leaves no way to run %s", e.Value, orElse(what, "a collective")),
		because: "the variable holds for all collectives and types of data; where none of the algorithms that it names can run one of them, NCCL stops",
		wrongIf: "the message names another variable (NCCL_PROTO)",
		fix:     "unset it, or name algorithms by collective (NCCL 2.24 and later: allreduce:nvls;allgather:ring)",
		effects: tell(none, "effect"),
	}, true
}

// harmNoNetwork: a network that neither NCCL nor a plugin it found provides (src/net.cc, "network NAME not found").
func harmNoNetwork(v *View, e evidence.EnvVar) (harm, bool) {
	none := without(v.said(evidence.OtherWarning), func(w evidence.Event) bool {
		return !strings.Contains(w.Text, "network "+e.Value+" not found")
	})
	if len(none) == 0 {
		return harm{}, false
	}
	return harm{
		severity: Critical, confidence: named,
		title:   fmt.Sprintf("NCCL_NET=%s names a network that was not found", e.Value),
		because: "the plugin that provides it was not found or not loaded, or the network has no device here, and the variable forbids any other",
		wrongIf: "another process of the job uses that network: then this host alone lacks the plugin",
		fix:     "put the plugin's directory into LD_LIBRARY_PATH where the job runs and read the NET/Plugin lines; or unset the variable",
		settle:  "the NET/Plugin lines of NCCL_DEBUG=INFO, and ldd of libnccl-net.so",
		effects: tell(none, "effect"),
	}, true
}

// harmProto: the low-latency protocols trade bandwidth for latency.
func harmProto(_ *View, e evidence.EnvVar) (harm, bool) {
	fields := protocols(e.Value)
	return harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("NCCL_PROTO=%s takes the choice of the protocol from NCCL", e.Value),
		because: "LL moves 4 bytes of flag with each 4 bytes of data, which halves the bandwidth of large messages",
		wrongIf: "it is set for a test of one size",
		fix:     "unset it",
	}, len(fields) == 1 && fields[0] == "LL"
}

func harmP2P(_ *View, e evidence.EnvVar) (harm, bool) {
	return harm{
		severity: Warning, confidence: possible,
		title:   "NCCL_P2P_DISABLE=1 keeps GPUs of a host from talking over NVLink or PCIe",
		because: "all traffic inside a host goes through shared memory or the network",
		wrongIf: "P2P is broken on this platform and this is the known way around it", fix: "unset it",
	}, e.Value == "1"
}

func harmShm(v *View, e evidence.EnvVar) (harm, bool) {
	hosts := len(v.jobHosts())
	several := hosts > 0 && v.Inv.NCCL.Ranks > hosts // with one rank a host there is no traffic inside
	return harm{
		severity: Note, confidence: possible,
		title:   "NCCL_SHM_DISABLE=1 sends traffic of ranks without P2P through the network, inside a host too",
		because: "without shared memory the NIC carries what never had to leave the host",
		wrongIf: "all ranks of a host reach each other by P2P, or there is one rank a host", fix: "unset it",
	}, e.Value == "1" && several
}

func harmMaxChannels(_ *View, e evidence.EnvVar) (harm, bool) {
	n, err := strconv.Atoi(e.Value)
	return harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("%s=%s keeps NCCL from using all NICs", e.Name, e.Value),
		because: "a channel uses one NIC at a time, so fewer channels than NICs leave NICs idle",
		wrongIf: "the job leaves GPU cores to computation on purpose", fix: "unset it",
	}, err == nil && n > 0 && n < 2
}

// harmBuffer: a channel's buffer is cut into NCCL_STEPS (8) slots (src/include/device.h), each one message on the wire.
func harmBuffer(_ *View, e evidence.EnvVar) (harm, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(e.Value), 0, 64)
	return harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("NCCL_BUFFSIZE=%s cuts data into pieces of %s", e.Value, amount(n/8)),
		because: "a channel's buffer (4 MiB by default) holds eight pieces; small ones cost a message, a completion and a hand-over each",
		wrongIf: "memory is so short that it must be", fix: "unset it",
	}, err == nil && n > 0 && n < 1<<20
}

// harmPXN: since 2.12 a GPU sends by the NIC of another GPU over NVLink where that is nearer to the destination's rail.
func harmPXN(_ *View, e evidence.EnvVar) (harm, bool) {
	return harm{
		severity: Note, confidence: possible,
		title:   "NCCL_PXN_DISABLE=1 keeps messages from the rail of their destination",
		because: "alltoall then crosses the spines with what could have stayed on one rail, in many small messages",
		wrongIf: "the hosts have one NIC, or no NVLink", fix: "unset it",
	}, strings.TrimSpace(e.Value) == "1"
}

// harmTrace: TRACE prints a line for each step where the library was built with it, and much set-up in any case.
func harmTrace(_ *View, e evidence.EnvVar) (harm, bool) {
	return harm{
		severity: Note, confidence: possible,
		title:   "NCCL_DEBUG=TRACE costs time on every call",
		because: "the library writes lines while it works, by each thread, into one file",
		wrongIf: "the run is a test", fix: "set NCCL_DEBUG=INFO or WARN for ordinary runs",
	}, strings.EqualFold(strings.TrimSpace(e.Value), "TRACE")
}

// harmGDRLevel: LOC, or 0, forbids GPU Direct RDMA whatever the distance.
func harmGDRLevel(v *View, e evidence.EnvVar) (harm, bool) {
	value := strings.ToUpper(strings.TrimSpace(e.Value))
	if value == "SYS" || value == "5" {
		return harm{
			severity: Note, confidence: possible,
			title:   fmt.Sprintf("NCCL_NET_GDR_LEVEL=%s uses GPU Direct RDMA across sockets too", e.Value),
			because: "peer-to-peer between a NIC and a GPU of another socket crosses the processors' link, which is slower than going through memory on most platforms",
			wrongIf: "it was measured to help on this platform", fix: "unset it: the default is PXB, one PCIe switch or several",
		}, true
	}
	if _, told := v.usesGDR(); told {
		return harm{}, false // H001 has the connections, which say more
	}
	return harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("NCCL_NET_GDR_LEVEL=%s forbids GPU Direct RDMA", e.Value),
		because: "all data between NIC and GPU then goes through host memory",
		wrongIf: "it is a test for access control (H002), or GPU Direct does not work on this platform", fix: "unset it",
	}, value == "LOC" || value == "0"
}

// harmThreads: 512 is the default since Volta; fewer copy less at a time.
func harmThreads(_ *View, e evidence.EnvVar) (harm, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(e.Value))
	return harm{
		severity: Warning, confidence: possible,
		title:   fmt.Sprintf("NCCL_NTHREADS=%d lets each channel copy with few threads", n),
		because: "a channel moves what its threads move; with a quarter of them NVLink and the reductions fall behind",
		wrongIf: "it was measured to help on this GPU", fix: "unset it",
	}, err == nil && n > 0 && n < 256
}

func harmAffinity(_ *View, e evidence.EnvVar) (harm, bool) {
	return harm{
		severity: Note, confidence: possible,
		title:   "NCCL_IGNORE_CPU_AFFINITY=1 lets NCCL leave the cores the launcher chose",
		because: "the library then takes cores near the GPU even where other ranks run, which helps with bad bindings and hurts with good ones",
		wrongIf: "the launcher binds ranks to the wrong NUMA node", fix: "bind ranks near their GPUs and unset it",
	}, strings.TrimSpace(e.Value) == "1"
}
