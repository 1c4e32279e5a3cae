package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
)

func TestIncident(t *testing.T) {
	for name, r := range map[string]*Report{"incident-files.md": placed(), "incident-simulated.md": simulated(), "incident-none.md": healthy()} {
		var b bytes.Buffer
		if err := Incident(&b, r, Options{Hosts: []string{"node1", "node2", "node3"}}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// However much was found, the record stays within what somebody reads.
func TestIncidentIsShort(t *testing.T) {
	r := placed()
	for i := range 20 {
		r.Findings = append(r.Findings, r.Findings[1])
		r.Findings[0].Evidence = append(r.Findings[0].Evidence, diagnose.Evidence{What: fmt.Sprint("row ", i), Seen: "x", Role: "effect"})
		r.Findings[0].Not = append(r.Findings[0].Not, "something")
		r.Findings[0].Fix.Commands = append(r.Findings[0].Fix.Commands, "command `x`")
	}
	r.Findings[0].Settle, r.Findings[0].WrongIf = "a", "b"
	r.Findings[0].Fix.Trial = simulated().Findings[0].Fix.Trial
	for _, c := range diagnose.Causes() {
		r.Checked.RuledOut = append(r.Checked.RuledOut, diagnose.Check{Code: c.Code, Title: c.Title})
	}
	var b bytes.Buffer
	if err := Incident(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(b.String()) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines < 20 || lines > 30 {
		t.Errorf("%d lines, want 20 to 30:\n%s", lines, b.String())
	}
	if !strings.Contains(b.String(), "row 19: x") {
		t.Error("the last effect is not the symptom")
	}
}

func TestHazardForms(t *testing.T) {
	h := &Hazards{Schema: HazardSchema, Code: "I001", Title: "node1 uses GID index 0", Where: []string{"node1"}, Rows: []HazardRow{
		{"b/node2.tar.gz", diagnose.Hazard{Host: "node2", Outcome: diagnose.Same, Why: "node2 uses GID index 0 too, which is a long story that does not fit on one line of eighty columns"}},
		{"b/node3.tar.gz", diagnose.Hazard{Host: "node3", Outcome: diagnose.Clear, Why: "the index in use is v2"}},
		{"x.log", diagnose.Hazard{Outcome: diagnose.CannotTell, Why: "the GID table\x1b[2J"}},
	}}
	var text, js bytes.Buffer
	if err := HazardText(&text, h, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "hazard.txt", text.Bytes())
	if err := HazardJSON(&js, h); err != nil {
		t.Fatal(err)
	}
	golden(t, "hazard.json", js.Bytes())
}
