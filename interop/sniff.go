package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/interop/goal"
	"github.com/shunt-network/shunt/interop/simai"
)

// Kind is what a file is, in words.
type Kind string

// Kinds of files that are known.
const (
	Unknown       Kind = ""
	HtsimTopology Kind = "htsim topology"
	HtsimMatrix   Kind = "htsim connection matrix"
	HtsimChecks   Kind = "htsim list of checks"
	HPCCTopology  Kind = "HPCC topology"
	HPCCFlows     Kind = "HPCC flows"
	HPCCConfig    Kind = "HPCC configuration"
	HPCCTraced    Kind = "HPCC list of traced nodes"
	FlowSizes     Kind = "distribution of flow sizes"
	SimAITopology Kind = "SimAI topology"
	SimAIWorkload Kind = "SimAI workload"
	SimAIBusBW    Kind = "SimAI bus bandwidths"
	AICBModels    Kind = "AICB list of models"
	AstraNetwork  Kind = "ASTRA-sim network"
	AstraSystem   Kind = "ASTRA-sim system"
	AstraGroups   Kind = "ASTRA-sim communicator groups"
	AstraDims     Kind = "ASTRA-sim logical dimensions"
	AstraMemory   Kind = "ASTRA-sim remote memory"
	ChakraTrace   Kind = "Chakra trace"
	MSCCL         Kind = "MSCCL algorithm"
	GOALText      Kind = "GOAL schedule"
	GOALBinary    Kind = "GOAL schedule, binary"
	Own           Kind = "file of Shunt"
)

// useless says why a file is neither a network nor a job, and what to do instead.
var useless = map[Kind]string{
	HtsimChecks: "it lists experiments and the completion times that htsim expects of them; import the .cm and .topo files it names",
	HPCCTraced:  "it lists the nodes at which ns-3 records packets; import the topology and the flows",
	SimAIBusBW:  "it holds bandwidths that SimAI's analytical mode takes for granted; import the topology and the workload, and they come out",
	AICBModels:  "it lists models that AICB makes workloads of; import such a workload",
	AstraDims:   "it only says how ranks are numbered; import the HPCC topology that the configuration names (TOPOLOGY_FILE), and give the dimensions along with traces",
	AstraMemory: "remote memory is not modelled; import the network and the traces",
	AstraSystem: "it says how ranks compute and communicate; give it along with traces",
	AstraGroups: "it says which ranks communicate; give it along with traces",
	Own:         "it is in Shunt's own form; use it as it is, without import",
	Unknown:     "it is none of: .topo and .cm of htsim; topologies, flows, configurations and flow sizes of HPCC; topologies and workloads of SimAI; networks of ASTRA-sim; Chakra traces; MSCCL algorithms; GOAL schedules",
}

// sniffed is how much of a file is looked at: the longest first lines, those of topologies, list some thousand switches.
const sniffed = 64 << 10

// Sniff tells what a file is by what is in it.
func Sniff(path string) (Kind, error) {
	f, err := os.Open(path)
	if err != nil {
		return Unknown, fmt.Errorf("interop: %w", err)
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return Unknown, fmt.Errorf("interop: %w", err)
	}
	return sniff(head[:n]), nil
}

// sniff tells what a file is by its first bytes.
func sniff(head []byte) Kind {
	if len(head) >= 8 && (binary.LittleEndian.Uint64(head) == goal.Magic || binary.BigEndian.Uint64(head) == goal.Magic) {
		return GOALBinary
	}
	if chakra(head) {
		return ChakraTrace
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return Unknown
	}
	text := string(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch trimmed := strings.TrimSpace(text); {
	case strings.HasPrefix(trimmed, "<"):
		if strings.Contains(trimmed, "<algo") {
			return MSCCL
		}
		return Unknown
	case strings.HasPrefix(trimmed, "{"):
		return object(trimmed)
	}
	var lines [][]string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' && !strings.HasPrefix(words[0], "//") && !strings.HasPrefix(words[0], "/*") {
			lines = append(lines, words)
		}
	}
	if len(lines) == 0 {
		return Unknown
	}
	return lined(lines, text)
}

// chakra tells whether a file begins with a message whose first field is a short text: the version in the metadata.
func chakra(head []byte) bool {
	size, n := binary.Uvarint(head)
	if n <= 0 || size < 3 || size > 1<<20 || len(head) < n+3 || head[n] != 1<<3|2 {
		return false
	}
	version := int(head[n+1])
	if version < 1 || version > 20 || uint64(version)+2 > size || len(head) < n+2+version {
		return false
	}
	for _, c := range head[n+2 : n+2+version] {
		if c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// object tells JSON files apart by their keys.
func object(text string) Kind {
	switch {
	case strings.Contains(text, `"memory-type"`):
		return AstraMemory
	case strings.Contains(text, `"logical-dims"`):
		return AstraDims
	case strings.Contains(text, `"scheduling-policy"`), strings.Contains(text, `-implementation`):
		return AstraSystem
	}
	key, rest, ok := strings.Cut(strings.TrimLeft(text[1:], " \t\r\n"), ":")
	if _, err := strconv.Atoi(strings.Trim(key, `" `)); ok && err == nil && strings.HasPrefix(strings.TrimSpace(rest), "[") {
		return AstraGroups
	}
	return Unknown
}

// lined tells text files apart, by the words of lines that are neither empty nor comments.
func lined(lines [][]string, text string) Kind {
	first := lines[0]
	key := strings.ToLower(first[0])
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(lines, func(l []string) bool { return slices.Contains(prefixes, strings.ToLower(l[0])) })
	}
	switch {
	case key == "num_ranks":
		return GOALText
	case slices.Contains(simai.Policies, simai.Policy(first[0])):
		return SimAIWorkload
	case slices.Contains([]string{"nodes", "tiers", "podsize", "tier"}, key) && has("tiers", "podsize", "tier"):
		return HtsimTopology
	case key == "nodes", key == "connections", key == "triggers", key == "failures", strings.Contains(key, "->"):
		return HtsimMatrix
	case strings.Contains(text, "npus_count:"):
		return AstraNetwork
	case len(lines) > 1 && strings.HasPrefix(lines[1][0], "!"):
		return HtsimChecks
	case strings.Contains(text, "allreduce,:"):
		return SimAIBusBW
	case key == "id" && slices.Contains(first, "Parameter_size"):
		return AICBModels
	case has("title:", "fabric:", "leaves:", "hosts_per_leaf:", "pods:"):
		return Own
	case has("cc_mode", "packet_payload_size", "enable_qcn", "kmax_map", "topology_file"):
		return HPCCConfig
	case numbers(first) == len(first):
		return counted(lines)
	case len(first) == 6 && numbers(first) == 5: // the type of GPU is the last word
		return SimAITopology
	}
	return Unknown
}

// numbers is how many words at the front are numbers.
func numbers(words []string) int {
	for i, w := range words {
		if _, err := strconv.ParseFloat(w, 64); err != nil {
			return i
		}
	}
	return len(words)
}

// counted tells files apart that begin with numbers alone.
func counted(lines [][]string) Kind {
	switch len(lines[0]) {
	case 1:
		if len(lines) > 1 && len(lines[1]) == 6 && numbers(lines[1]) == 6 || len(lines) == 1 {
			return HPCCFlows
		}
		return HPCCTraced
	case 2:
		return FlowSizes
	case 3, 4:
		return HPCCTopology
	case 5, 6:
		return SimAITopology
	}
	return Unknown
}
