package nccl

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// rasAnswer is what the RAS service prints after SET FORMAT json (rasDumpCommsToJSON in src/ras/client_support.cc, NCCL
// 2.28.7 on).
type rasAnswer struct {
	Version string `json:"nccl_version"`
	Comms   []struct {
		Hash    string    `json:"hash"`
		Size    int       `json:"size"`
		Ranks   []rasPeer `json:"ranks"`
		Missing []rasPeer `json:"missing_ranks"`
	} `json:"communicators"`
	RAS struct {
		Timeouts int `json:"timeouts_count"`
	} `json:"ras"`
}

type rasPeer struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	CUDA   int    `json:"cuda_dev"`
	Status struct {
		Init         int  `json:"init_state"`
		Async        int  `json:"async_error"`
		Finalized    bool `json:"finalize_called"`
		Destroyed    bool `json:"destroy_flag"`
		Aborted      bool `json:"abort_flag"`
		Unresponsive bool `json:"unresponsive"`
		Dead         bool `json:"considered_dead"`
	} `json:"status"`
	Counts map[string]int64 `json:"collective_counts"`
}

// results are the texts of ncclResult_t as RAS prints them (ncclErrorToString); 0 is success and 7 in progress.
var results = map[int]string{1: "Unhandled CUDA error", 2: "System error", 3: "Internal error", 4: "Invalid argument", 5: "Invalid usage", 6: "Remote process error"}

const inProgress = 7

// ReadRAS reads a report in JSON, and concludes from it what the text says: the state and the errors of each
// communicator, and which ranks launched how much.
func ReadRAS(f *fragment.Fragment, text []byte, line int) error {
	var a rasAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	at := f.At(line)
	to := &f.Inv.NCCL
	if a.Version != "" && len(to.Versions) < MaxDistinct {
		to.Versions = append(to.Versions, evidence.VersionSeen{Version: a.Version, Host: f.Host, From: at})
	}
	report := evidence.RASSummary{Timeouts: a.RAS.Timeouts, From: at}
	kept := 0
	for _, c := range a.Comms {
		comm := evidence.RASComm{ID: strings.TrimPrefix(c.Hash, "0x"), Size: c.Size, From: at}
		for _, p := range c.Ranks {
			if kept++; kept <= MaxRASRanks {
				comm.Ranks = append(comm.Ranks, p.rank(at))
			}
		}
		for _, p := range c.Missing {
			if kept++; kept <= MaxRASRanks {
				m := p.rank(at)
				m.Status = "NOCOMM"
				comm.Missing = append(comm.Missing, m)
			}
		}
		to.RASComms = append(to.RASComms, comm)
		to.RAS = append(to.RAS, judge(&comm, &report))
	}
	to.RASReports = append(to.RASReports, report)
	return nil
}

// rank brings a rank to the words of the text.
func (p rasPeer) rank(at evidence.Source) evidence.RASRank {
	r := evidence.RASRank{Rank: p.Rank, Host: p.Host, Process: p.PID, GPU: p.CUDA, Unresponsive: p.Status.Unresponsive, Dead: p.Status.Dead, From: at}
	switch s := p.Status; {
	case s.Aborted:
		r.Status = "ABORT"
	case s.Finalized || s.Destroyed:
		r.Status = "FINALIZE"
	case s.Init == 0:
		r.Status = "RUNNING"
	default:
		r.Status = "INIT"
	}
	for _, code := range [...]int{p.Status.Init, p.Status.Async} {
		if code != 0 && code != inProgress {
			r.Error = cmp.Or(results[code], "Unexpected error")
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(p.Counts)) {
		r.Counts = append(r.Counts, evidence.OpCount{Kind: kind, Count: p.Counts[kind]})
	}
	return r
}

// statuses are in the order in which one outranks another (enum rasACStatus in client_support.cc).
var statuses = []string{"NOCOMM", "INIT", "RUNNING", "FINALIZE", "ABORT"}

// judge finds out what rasClientRunComms finds out of a communicator.
func judge(c *evidence.RASComm, report *evidence.RASSummary) evidence.RASStatus {
	incomplete, failed, mismatch := false, false, false
	highest := 0
	byStatus := map[string][]evidence.RASRank{}
	for _, r := range c.Ranks {
		highest = max(highest, slices.Index(statuses, r.Status))
		byStatus[r.Status] = append(byStatus[r.Status], r)
		if r.Error != "" {
			failed = true
			report.Lost = append(report.Lost, r)
		}
	}
	for _, r := range c.Missing {
		if r.Unresponsive {
			incomplete = true
			report.Lost = append(report.Lost, r)
		} else {
			byStatus["NOCOMM"] = append(byStatus["NOCOMM"], r)
		}
	}
	if len(byStatus) > 1 {
		mismatch = true
		for _, s := range statuses {
			if list := byStatus[s]; len(list) > 0 {
				report.Mismatches = append(report.Mismatches, evidence.RASMismatch{Comm: c.ID, Kind: "status", Ranks: len(list), State: s, Named: few(list), From: c.From})
			}
		}
	}
	if len(c.Ranks) > 0 {
		for _, op := range c.Ranks[0].Counts {
			mismatch = counts(c, op.Kind, report) || mismatch
		}
	}
	var errors []string
	for _, e := range []struct {
		is   bool
		name string
	}{{incomplete, "INCOMPLETE"}, {failed, "ERROR"}, {mismatch, "MISMATCH"}} {
		if e.is {
			errors = append(errors, e.name)
		}
	}
	return evidence.RASStatus{Status: statuses[highest], Errors: cmp.Or(strings.Join(errors, ","), "OK"), From: c.From}
}

// counts compares how many operations of a kind the ranks have launched.
func counts(c *evidence.RASComm, kind string, report *evidence.RASSummary) bool {
	sets := map[int64][]evidence.RASRank{}
	for _, r := range c.Ranks {
		if n, ok := r.Launched(kind); ok {
			sets[n] = append(sets[n], r)
		}
	}
	if len(sets) < 2 {
		return false
	}
	for _, upto := range slices.Sorted(maps.Keys(sets)) {
		if len(report.Mismatches) < MaxDistinct {
			report.Mismatches = append(report.Mismatches, evidence.RASMismatch{Comm: c.ID, Kind: kind, Ranks: len(sets[upto]), Upto: upto, Named: few(sets[upto]), From: c.From})
		}
	}
	return true
}

// few names the ranks of a small set, as the text does (RAS_CLIENT_DETAIL_THRESHOLD is 10).
func few(list []evidence.RASRank) []evidence.RASRank {
	const most = 10
	if len(list) > most {
		return nil
	}
	return slices.Clone(list)
}
