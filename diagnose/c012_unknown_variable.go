package diagnose

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// C012: a variable is set that NCCL does not know.
//
// Symptom: a setting has no effect, and nothing says so. Mechanism: NCCL looks up the names it knows and never looks at
// others. Evidence for: a name that differs from a known one in a letter or two, or that only other software reads, or
// that came with a later release than the one in use. Against: a plugin's own variable, which NCCL does not know either; so
// names that resemble none are left alone. Look-alikes: C005 (known, but to another network).
var causeUnknownVariable = Cause{
	Code:  "C012",
	Title: "a variable is set that NCCL does not know",
	Needs: "the variables of the job (command line, env, /etc/nccl.conf)",
	Check: checkUnknownVariable,
}

//go:embed ncclvariables.txt
var ncclVariablesText string

// known is the releases whose source names a variable.
type known struct{ first, last release }

// newestListed is the release that ncclvariables.txt ends with: a variable that it still has is not gone.
var newestListed = release{2, 30, 4}

// ncclVariables reads the list of variables.
func ncclVariables() map[string]known {
	all := map[string]known{}
	for line := range strings.Lines(ncclVariablesText) {
		fields := strings.Fields(line)
		if len(fields) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		first, _ := parseRelease(fields[1], 0)
		last, _ := parseRelease(fields[2], 0)
		all[fields[0]] = known{first, last}
	}
	return all
}

func checkUnknownVariable(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no variables of NCCL")
	}
	if len(v.Inv.NCCL.Env) == 0 {
		return cannotCheck("the variables of the job (command line, env, /etc/nccl.conf)")
	}
	variables := ncclVariables()
	names := slices.Sorted(maps.Keys(variables))
	var findings []Finding
	seen := map[string]bool{}
	b := v.nccl()
	for _, e := range v.Inv.NCCL.Env {
		if seen[e.Name] || !strings.HasPrefix(e.Name, "NCCL_") {
			continue
		}
		seen[e.Name] = true
		k, ok := variables[e.Name]
		switch {
		case ok && strings.TrimSpace(e.Value) == "":
			f := unknownFinding(e, fmt.Sprintf("%s is set and empty", e.Name))
			f.Because = "a script meant to set it and had nothing to set: most variables then keep their default, and NCCL_IB_GID_INDEX is read as 0"
			f.Severity, f.Confidence = Note, named
			f.WrongIf = "it is emptied on purpose"
			findings = append(findings, f)
		case ok && b.told && b.high.less(k.first):
			f := unknownFinding(e, fmt.Sprintf("%s does not know %s: it came with %s", b, e.Name, dotted(k.first)))
			f.Severity, f.Confidence = Note, named
			findings = append(findings, f)
		case ok && b.told && k.last.less(b.low) && k.last.less(newestListed):
			f := unknownFinding(e, fmt.Sprintf("%s does not know %s any more: %s was the last that did", b, e.Name, dotted(k.last)))
			f.Severity, f.Confidence = Note, named
			findings = append(findings, f)
		case ok:
		case e.Name == "NCCL_TIMEOUT":
			f := unknownFinding(e, "NCCL_TIMEOUT is no variable of NCCL: the timeout of a collective belongs to the framework")
			f.Severity, f.Confidence = Note, named
			f.Fix = Fix{Text: "set the timeout where the process group is made; for lost packets set NCCL_IB_TIMEOUT", Commands: []string{"torch.distributed.init_process_group(timeout=...)", "unset NCCL_TIMEOUT"}}
			findings = append(findings, f)
		default:
			near := nearest(e.Name, names)
			if near == "" {
				continue // a plugin's own, for all that is known
			}
			f := unknownFinding(e, fmt.Sprintf("%s is no variable of NCCL; %s is", e.Name, near))
			f.Severity, f.Confidence = Warning, named
			f.Fix = Fix{Text: "mend the name", Commands: []string{"unset " + strings.TrimRight(e.Name, "-"), fmt.Sprintf("export %s=%s", near, e.Value)}, Try: []Change{{Setting: near, Value: e.Value}}}
			findings = append(findings, f)
		}
	}
	if len(findings) > 0 {
		return found(findings...)
	}
	return ruledOut(fmt.Sprintf("NCCL knows the %d variables that are set, or they resemble none of its own", len(seen)))
}

func unknownFinding(e evidence.EnvVar, title string) Finding {
	return Finding{
		Title: title, Where: []string{orElse(e.Host, e.Name)},
		Because:  "NCCL looks up the names it knows and never reports others, so the setting has no effect",
		Evidence: []Evidence{{Layer: "collective", What: "variable that is set", Seen: e.Name + "=" + e.Value, Expected: "a name that this NCCL knows", Role: "cause", From: e.From.String()}},
		WrongIf:  "a plugin or a framework reads it",
		Fix:      Fix{Text: "remove it", Commands: []string{"unset " + e.Name}},
		Settle:   "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=ENV: a variable that is read is printed",
	}
}

func dotted(r release) string { return fmt.Sprintf("%d.%d.%d", r[0], r[1], r[2]) }

// nearest finds the one known name that a slip of two letters turns into the given one; short names must be closer,
// because two letters change a third of them.
func nearest(name string, names []string) string {
	limit := 2
	if len(name) < len("NCCL_")+6 {
		limit = 1
	}
	best, at := "", limit+1
	for _, n := range names {
		if d := distance(name, n, limit); d < at {
			best, at = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, change or swap with their neighbour to get from a to b (the
// restricted Damerau-Levenshtein distance), or more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 128 {
		return limit + 1
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
