package diagnose

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C023: the ranks of a job run different versions of NCCL.
//
// Symptom: an error when the communicator is made, wrong lengths, or hangs. Mechanism: ranks agree on algorithms, chunk sizes
// and the layout of what they exchange by the same code; since 2.20 the bootstrap compares versions, and older ones do not.
// Evidence for: banners of two hosts with different versions; the library's own complaint. Against: logs of two runs, which
// are told by a host that shows both versions.
var causeVersions = Cause{
	Code:     "C023",
	Title:    "ranks run different versions of NCCL",
	Needs:    "the NCCL banner of two hosts",
	Explains: []string{"R005", "J003", "X013"},
	Check:    checkVersions,
}

func checkVersions(v *View) Verdict {
	if s, silent := v.silent(); silent {
		return s
	}
	complaint := without(v.said(evidence.OtherWarning), func(e evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return !strings.Contains(text, "mismatch in nccl version") && !strings.Contains(text, "version mismatch") && !strings.Contains(text, "mismatched nccl version")
	})
	byHost := map[string]evidence.VersionSeen{}
	var first, other evidence.VersionSeen
	runs := false // one host shows two versions: the logs are of two runs
	for _, s := range v.Inv.NCCL.Versions {
		release, _, _ := strings.Cut(s.Version, "+")
		s.Version = release
		if s.Host == "" {
			continue
		}
		have, there := byHost[s.Host]
		if there && have.Version != s.Version {
			runs = true
		}
		byHost[s.Host] = s
		switch {
		case first.Host == "":
			first = s
		case s.Host != first.Host && s.Version != first.Version && other.Host == "":
			other = s
		}
	}
	f := Finding{
		Severity: Warning, Confidence: possible, Where: []string{orElse(other.Host, "the job")},
		Because: "ranks agree on algorithms, sizes and the layout of messages because they run the same code; with two releases they may not",
		WrongIf: "the logs are of two runs",
		Fix:     Fix{Text: "use one image, or one LD_LIBRARY_PATH, on all hosts; look for a library that a package (PyTorch's wheel, HPC SDK) brought beside the system's", Commands: []string{"NCCL_DEBUG=VERSION ...", "ldconfig -p | grep libnccl; python -c 'import torch; print(torch.cuda.nccl.version())'"}},
		Settle:  "NCCL_DEBUG=VERSION on every rank",
	}
	switch {
	case len(complaint) > 0:
		f.Title = fmt.Sprintf("NCCL itself complains of different versions on %s", names(eventHosts(complaint)))
		f.Severity, f.Confidence = Critical, named
		f.Where = []string{called(complaint[0].Host)}
		f.Evidence = tell(complaint, "cause")
	case other.Host != "" && !runs:
		f.Title = fmt.Sprintf("%s runs NCCL %s and %s runs %s", first.Host, first.Version, other.Host, other.Version)
	case len(byHost) < 2 || runs:
		return cannotCheck("the NCCL banner of two hosts of one run")
	default:
		return ruledOut("all hosts run NCCL " + first.Version)
	}
	if other.Host != "" {
		for _, s := range []evidence.VersionSeen{first, other} {
			f.Evidence = append(f.Evidence, Evidence{Layer: "collective", What: "NCCL of " + s.Host, Seen: s.Version, Expected: "one version", Role: "cause", From: s.From.String()})
		}
	}
	return found(f)
}
