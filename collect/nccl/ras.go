package nccl

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// MaxRASRanks limits the ranks kept of all RAS reports; a report in JSON names every rank of every communicator.
const MaxRASRanks = 1 << 18

// ras reads the text of NCCL's RAS service (src/ras/client_support.cc of NCCL 2.24 on, the tool ncclras):
//
//	Job summary
//	  Nodes  Processes         GPUs  Processes     GPUs
//	(total)   per node  per process    (total)  (total)
//	     32          8            1        256      256
//	Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
//	    #  in group  per comm  per node  per comm  in group
//	    0         1        32         8       256       256   RUNNING      OK
//	DEAD
//	  1 job process is considered dead (unreachable via the RAS network)
//	  Process 8842 on node 192.0.2.7 managing GPU 3
//	#0-0 (27a079b828ff1a75) MISMATCH
//	  Communicator ranks have different AllReduce operation counts
//	  255 ranks have launched up to operation 120
//	  Rank 13 has launched up to operation 118 -- GPU 5 managed by process 8842 on node 192.0.2.7
//
// RAS compares how many collectives the ranks launched. It cannot see that one is stuck in the network, and it names
// the ranks that are few, which need not be the ones that are behind.
type ras struct {
	open    bool
	section string // "summary", "group", "lost", "comm"
	report  int    // index into RASReports
	comm    string // hash of the communicator a block is about
	kind    string // what its ranks differ in, "" where they do not
}

// line reads one line; false means that it is not of a report.
func (r *ras) line(l *Log, f *fragment.Fragment, line []byte, n int) bool {
	if !r.open && !(len(line) > 6 && (line[0] == 'G' || line[0] == ' ' || line[0] == 'J')) {
		return false
	}
	t := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(t, []byte("Group ")) && bytes.HasSuffix(t, []byte("Errors")) && bytes.Contains(t, []byte(" Status ")):
		if !r.open || r.section != "summary" {
			r.begin(l, f, n)
		}
		r.section = "group"
		return true
	case bytes.Equal(t, []byte("Job summary")):
		if !r.open {
			r.begin(l, f, n)
		}
		r.section = "summary"
		return true
	case !r.open:
		return false
	case len(t) == 0:
		return true
	}
	if line[0] != ' ' {
		return r.head(t)
	}
	if r.section == "group" || r.section == "summary" {
		return r.row(l, f, t, n)
	}
	r.detail(l, f, string(t), n)
	return true
}

func (r *ras) begin(l *Log, f *fragment.Fragment, n int) {
	*r = ras{open: true, section: "summary", report: len(l.inv.NCCL.RASReports)}
	l.inv.NCCL.RASReports = append(l.inv.NCCL.RASReports, evidence.RASSummary{From: f.At(n)})
}

// head reads a line that is not indented: the head of a block, or the first line of something else.
func (r *ras) head(t []byte) bool {
	switch {
	case bytes.HasPrefix(t, []byte("#")):
		_, rest, _ := bytes.Cut(t, []byte("("))
		r.comm, r.section, r.kind = string(before(rest, ")")), "comm", ""
	case bytes.Equal(t, []byte("INCOMPLETE")), bytes.Equal(t, []byte("DEAD")), bytes.Equal(t, []byte("TIMEOUT")):
		r.section, r.kind = "lost "+string(t), ""
	case bytes.HasPrefix(t, []byte("CUDA runtime version")), bytes.HasPrefix(t, []byte("===")), bytes.HasPrefix(t, []byte("Communicators...")),
		bytes.HasPrefix(t, []byte("(total)")), bytes.Equal(t, []byte("Errors")), bytes.Equal(t, []byte("Warnings")), bytes.HasPrefix(t, []byte("No communicator data")),
		bytes.HasPrefix(t, []byte("The outlier node")):
	default:
		r.open = false
		return false
	}
	return true
}

// row reads a row of the summary or of the groups.
func (r *ras) row(l *Log, f *fragment.Fragment, t []byte, n int) bool {
	fields := bytes.Fields(t)
	if r.section == "group" && len(fields) == 8 && digit(t[0]) { // a number, five counts, status, errors
		l.inv.NCCL.RAS = append(l.inv.NCCL.RAS, evidence.RASStatus{Status: string(fields[6]), Errors: string(fields[7]), From: f.At(n)})
		return true
	}
	if r.section == "summary" && digit(t[0]) {
		s := &l.inv.NCCL.RASReports[r.report]
		var v [5]int
		for i := range min(len(fields), len(v)) {
			v[i], _, _ = number(fields[i])
		}
		at := f.At(n)
		switch len(fields) {
		case 5: // all nodes are alike
			s.Nodes, s.Processes, s.GPUs = evidence.Known(v[0], at), evidence.Known(v[3], at), evidence.Known(v[4], at)
		case 3: // the last of the tables, of all nodes together
			s.Nodes, s.Processes, s.GPUs = evidence.Known(v[0], at), evidence.Known(v[1], at), evidence.Known(v[2], at)
		}
	}
	return true
}

// detail reads a line of a block.
func (r *ras) detail(l *Log, f *fragment.Fragment, t string, n int) {
	report := &l.inv.NCCL.RASReports[r.report]
	switch {
	case strings.HasPrefix(t, "Process "):
		if p, ok := rasProcess(t); ok && l.roomForRank() {
			p.From, p.Dead, p.Unresponsive = f.At(n), r.section == "lost DEAD", true
			report.Lost = append(report.Lost, p)
		}
	case strings.HasPrefix(t, "Encountered "):
		report.Timeouts, _, _ = number([]byte(t[len("Encountered "):]))
	case strings.HasPrefix(t, "Communicator ranks have different "):
		r.kind, _, _ = strings.Cut(t[len("Communicator ranks have different "):], " operation counts")
	case strings.HasPrefix(t, "Rank "):
		r.rank(l, f, report, t, n)
	case r.section == "comm" && r.kind != "" && digit(t[0]):
		r.set(f, report, t, n)
	}
}

// set reads "255 ranks have launched up to operation 120" and its like.
func (r *ras) set(f *fragment.Fragment, report *evidence.RASSummary, t string, n int) {
	count, rest, _ := number([]byte(t))
	m := evidence.RASMismatch{Comm: r.comm, Kind: r.kind, Ranks: count, From: f.At(n)}
	upto, state, ok := launched(strings.TrimPrefix(strings.TrimSpace(string(rest)), "ranks "))
	if !ok || len(report.Mismatches) >= MaxDistinct {
		return
	}
	m.Upto, m.State = upto, state
	report.Mismatches = append(report.Mismatches, m)
}

// launched reads "have launched up to operation 120", "has not launched any operations" and "have status ABORT".
func launched(t string) (upto int64, status string, ok bool) {
	t = strings.TrimPrefix(strings.TrimPrefix(t, "have "), "has ")
	if op, found := strings.CutPrefix(t, "launched up to operation "); found {
		op, _, _ = strings.Cut(op, " ")
		v, err := strconv.ParseInt(op, 10, 64)
		return v, "", err == nil
	}
	if s, found := strings.CutPrefix(t, "status "); found {
		s, _, _ = strings.Cut(s, " ")
		return 0, s, true
	}
	return 0, "", strings.HasPrefix(t, "not launched any operations")
}

// rank reads the ranks that are named, alone ("Rank 13 has launched up to operation 118 -- ...") or behind the set they
// belong to ("Rank 13 -- ...").
func (r *ras) rank(l *Log, f *fragment.Fragment, report *evidence.RASSummary, t string, n int) {
	head, where, _ := strings.Cut(t, " -- ")
	id, rest, ok := number([]byte(strings.TrimPrefix(head, "Rank")))
	if !ok || !l.roomForRank() {
		return
	}
	rank, _ := rasManaged(where)
	rank.Rank, rank.From = id, f.At(n)
	what := strings.TrimSpace(string(rest))
	switch {
	case what == "" && r.kind != "" && len(report.Mismatches) > 0:
		m := &report.Mismatches[len(report.Mismatches)-1]
		rank.Status = m.State
		m.Named = append(m.Named, rank)
	case strings.HasPrefix(what, "reported "):
		rank.Error = what[len("reported "):]
		report.Lost = append(report.Lost, rank)
	case what == "":
		rank.Unresponsive = r.kind == ""
		report.Lost = append(report.Lost, rank)
	default:
		if upto, status, ok := launched(what); ok && len(report.Mismatches) < MaxDistinct {
			rank.Status = status
			report.Mismatches = append(report.Mismatches, evidence.RASMismatch{Comm: r.comm, Kind: r.kind, Ranks: 1, Upto: upto, State: status, Named: []evidence.RASRank{rank}, From: f.At(n)})
		}
	}
}

// roomForRank counts the ranks that are kept.
func (l *Log) roomForRank() bool {
	l.rasRanks++
	return l.rasRanks <= MaxRASRanks
}

// rasProcess reads "Process 8842 on node 192.0.2.7 managing GPU 3".
func rasProcess(t string) (evidence.RASRank, bool) {
	words := strings.Fields(t)
	r := evidence.RASRank{Rank: -1, GPU: -1}
	if len(words) < 5 || words[2] != "on" || words[3] != "node" {
		return r, false
	}
	pid, err := strconv.ParseInt(words[1], 10, 32)
	r.Process, r.Host = int(pid), words[4]
	if len(words) == 8 && words[6] == "GPU" {
		if v, err := strconv.ParseUint(words[7], 10, 8); err == nil {
			r.GPU = int(v)
		}
	}
	return r, err == nil
}

// rasManaged reads "GPU 5 managed by process 8842 on node 192.0.2.7"; "(NVML 3)" may follow the number.
func rasManaged(t string) (r evidence.RASRank, ok bool) {
	r = evidence.RASRank{GPU: -1}
	if gpu, found := strings.CutPrefix(t, "GPU "); found {
		r.GPU, _, _ = number([]byte(gpu))
	}
	_, rest, ok := strings.Cut(t, "managed by process ")
	words := strings.Fields(rest)
	if !ok || len(words) != 4 {
		return r, false
	}
	pid, err := strconv.ParseInt(words[0], 10, 32)
	r.Process, r.Host = int(pid), words[3]
	return r, err == nil
}
