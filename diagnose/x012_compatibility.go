package diagnose

import (
	"fmt"
	"slices"
	"strings"
)

// X012: the versions in use are not a combination that was tested.
//
// Symptom: a regression after an update of one layer. Mechanism: GPU driver, CUDA, NCCL, NIC firmware and switch software are
// released apart and tested together by nobody but the site. Evidence for: the versions in use against the site's own list.
// Against: a list that leaves the layer out. Look-alikes: X013 (hosts that differ from each other).
var causeCompatibility = Cause{
	Code:  "X012",
	Title: "the versions in use are not a combination that was tested",
	Needs: "the site's list of tested versions (--matrix), and the versions of hosts, NICs and switches",
	Check: checkCompatibility,
}

// layerVersion is one version of one layer on one object.
type layerVersion struct {
	layer  string // "GPU driver", "CUDA", "NCCL", "NIC firmware", "switch firmware"
	object string
	part   []string // names the part goes by, for firmware
	value  string
	from   string
}

func (l layerVersion) String() string { return l.layer + " " + l.value }

// versionsInUse lists the versions of all five layers, each version of a layer once.
func (v *View) versionsInUse() []layerVersion {
	var all []layerVersion
	seen := map[string]bool{}
	add := func(l layerVersion) {
		key := l.layer + strings.Join(l.part, "/") + l.value
		if l.value != "" && !seen[key] {
			seen[key] = true
			all = append(all, l)
		}
	}
	for _, h := range v.Inv.Hosts {
		for _, x := range []struct{ name, layer string }{{"nvidia driver", "GPU driver"}, {"cuda", "CUDA"}} {
			if s, ok := h.Versions[x.name].Get(); ok {
				add(layerVersion{x.layer, called(h.Name), nil, s, h.Versions[x.name].From.String()})
			}
		}
	}
	for _, s := range v.Inv.NCCL.Versions {
		version, cuda, built := strings.Cut(s.Version, "+cuda")
		add(layerVersion{"NCCL", called(s.Host), nil, version, s.From.String()})
		if built && cuda != "" && len(v.Inv.Hosts) == 0 {
			add(layerVersion{"CUDA", called(s.Host), nil, cuda, s.From.String()})
		}
	}
	for _, p := range v.hostPorts() {
		fw, ok := p.Firmware.Get()
		if !ok {
			continue
		}
		var parts []string
		for _, part := range []string{p.Board.Or(""), p.Model.Or("")} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		if n, ok := p.PartID.Get(); ok {
			parts = append(parts, fmt.Sprint(n))
		}
		fw, _, _ = strings.Cut(fw, " ") // "28.41.1000 (MT_0000000838)"
		add(layerVersion{"NIC firmware", p.object(), parts, fw, p.Firmware.From.String()})
	}
	for _, s := range v.Inv.Switches {
		if sw, ok := s.Software.Get(); ok {
			add(layerVersion{"switch firmware", s.Name, []string{s.Model.Or("")}, sw, s.Software.From.String()})
		}
	}
	return all
}

// fits judges a version by a combination: whether the combination speaks of its layer, and whether the version holds.
func (c Combination) fits(l layerVersion) (holds, told bool, want string) {
	one := func(v Versions) (bool, bool, string) { return v.Holds(l.value), v.Set(), v.String() }
	by := func(m map[string]Versions) (bool, bool, string) {
		for _, part := range append(slices.Clone(l.part), "*") {
			if v, ok := m[part]; ok && part != "" {
				return one(v)
			}
		}
		return true, false, ""
	}
	switch l.layer {
	case "GPU driver":
		return one(c.Driver)
	case "CUDA":
		return one(c.CUDA)
	case "NCCL":
		return one(c.NCCL)
	case "NIC firmware":
		return by(c.Firmware)
	}
	return by(c.Switch)
}

func checkCompatibility(v *View) Verdict {
	if v.Inv.Simulated {
		return notApplicable("a simulated run has no versions")
	}
	if v.Tested == nil {
		return cannotCheck("a list of versions that were tested together (--matrix FILE)")
	}
	inUse := v.versionsInUse()
	if len(inUse) == 0 {
		return cannotCheck("a version of any layer (nvidia-smi, the NCCL banner, ibv_devinfo, config_db.json)")
	}
	var findings []Finding
	for _, b := range v.Tested.Broken {
		if rows, all := brokenRows(b, inUse); all {
			f := compatibilityFinding(v.Tested.File, rows)
			f.Title = fmt.Sprintf("the versions in use are known not to work together (%s)", b.Name)
			f.Because = orElse(b.Reason, "the site's list names this combination as broken")
			f.Severity, f.Confidence = Critical, named
			findings = append(findings, f)
		}
	}
	if f, bad := v.untestedVersions(inUse); bad {
		findings = append(findings, f)
	}
	if len(findings) > 0 {
		return found(findings...)
	}
	return ruledOut(fmt.Sprintf("the %d versions in use fit a combination that was tested", len(inUse)))
}

// brokenRows has a row for each layer that a broken combination names; all tells whether each of them is in use as named.
func brokenRows(b Combination, inUse []layerVersion) (rows []Evidence, all bool) {
	layers := map[string]bool{"GPU driver": b.Driver.Set(), "CUDA": b.CUDA.Set(), "NCCL": b.NCCL.Set(), "NIC firmware": len(b.Firmware) > 0, "switch firmware": len(b.Switch) > 0}
	for _, l := range inUse {
		holds, told, want := b.fits(l)
		if told && holds && layers[l.layer] {
			rows = append(rows, Evidence{Layer: "host", What: l.layer + " of " + l.object, Seen: l.value, Expected: "not " + want, Role: "cause", From: l.from})
			layers[l.layer] = false
		}
	}
	for _, open := range layers {
		if open {
			return nil, false
		}
	}
	return rows, len(rows) > 0
}

// untestedVersions finds the combination that comes nearest, and what does not fit it.
func (v *View) untestedVersions(inUse []layerVersion) (Finding, bool) {
	if len(v.Tested.Tested) == 0 {
		return Finding{}, false
	}
	var nearest Combination
	var misses []Evidence
	for i, c := range v.Tested.Tested {
		var rows []Evidence
		for _, l := range inUse {
			if holds, told, want := c.fits(l); told && !holds {
				rows = append(rows, Evidence{Layer: "host", What: l.layer + " of " + l.object, Seen: l.value, Expected: want, Role: "cause", From: l.from})
			}
		}
		if len(rows) == 0 {
			return Finding{}, false
		}
		if i == 0 || len(rows) < len(misses) {
			nearest, misses = c, rows
		}
	}
	f := compatibilityFinding(v.Tested.File, misses[:min(len(misses), 2*maxRows)])
	f.Title = fmt.Sprintf("%s %s is not in a combination that was tested; the nearest, %s, has %s", misses[0].What, misses[0].Seen, nearest.Name, misses[0].Expected)
	f.Because = "the five layers are released apart; a combination that nobody ran may have lost speed or a feature, as NCCL did between releases"
	return f, true
}

func compatibilityFinding(file string, rows []Evidence) Finding {
	f := Finding{
		Severity: Warning, Confidence: possible, Evidence: rows,
		WrongIf: "the combination was tested and the list was not brought up to date",
		Fix:     Fix{Text: "bring the layer to the version of a tested combination, or run the site's test and add the combination to the list", Commands: []string{"nvidia-smi --query-gpu=driver_version --format=csv", "ibv_devinfo | grep -E 'hca_id|fw_ver'", "shunt explain --matrix " + orElse(file, "FILE") + " DIR"}},
		Settle:  "nccl-tests with the version of the list and with the one in use",
	}
	for _, r := range rows[:min(len(rows), maxRows)] {
		_, object, _ := strings.Cut(r.What, " of ")
		f.Where = append(f.Where, object)
	}
	return f
}
