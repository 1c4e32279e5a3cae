package report

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/diagnose"
)

// doubtful is a report that leaves open what every kind of Ask is for.
func doubtful() *Report {
	r := files()
	r.Findings[0].Settle = "show_gids on both hosts; it's quick"
	r.Findings[1].Title, r.Findings[1].Settle = "evil\nrm -rf /", "$(touch x) `touch y`\nrm -rf ~"
	r.Checked.Could = nil
	for _, c := range diagnose.Causes() {
		r.Checked.Could = append(r.Checked.Could, diagnose.Check{Code: c.Code, Title: c.Title})
	}
	return r
}

func script(t *testing.T, r *Report, hosts ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Script(&b, r, Options{Hosts: hosts}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestScript(t *testing.T) {
	r := files()
	r.Findings[0].Settle = "show_gids on both hosts"
	r.Checked.Could = []diagnose.Check{{Code: "L035", Title: "storms"}, {Code: "I002", Title: "link-local"}}
	golden(t, "ask.sh", []byte(script(t, r, "node1", "node2")))
	golden(t, "ask-none.sh", []byte(script(t, healthy2())))
	golden(t, "ask-simulated.sh", []byte(script(t, simulated())))
}

// healthy2 is a report without any doubt.
func healthy2() *Report {
	r := healthy()
	r.Checked.Could = nil
	return r
}

// Every command is there once, fails alone, and nothing of the report's own text can leave its comment.
func TestScriptIsSafe(t *testing.T) {
	text := script(t, doubtful(), "node1\nreboot", "node2")
	seen := map[string]bool{}
	ask := regexp.MustCompile(`^( *for dev in \$netdevs; do )? *ask .+ \|\| true(; done)?$`)
	fixed := strings.Split(askHead, "\n")
	commands := 0
	for i, line := range strings.Split(text, "\n") {
		known := false
		for _, f := range fixed {
			known = known || f == line
		}
		switch {
		case known, line == "", strings.HasPrefix(line, "#"):
		case ask.MatchString(line):
			commands++
			if seen[line] {
				t.Errorf("line %d is there twice: %s", i+1, line)
			}
			seen[line] = true
		case line == `sleep "$pause"`, line == `  sleep "$pause"`, strings.HasPrefix(line, "if [ -e /etc/sonic ]"), line == "fi", strings.HasPrefix(line, "# "), strings.HasPrefix(line, "echo "):
		default:
			t.Errorf("line %d is neither a comment nor a command of the script: %q", i+1, line)
		}
	}
	if commands < 40 {
		t.Errorf("only %d commands where everything is open", commands)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to check the syntax with")
	}
	c := exec.Command(bash, "-n")
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("bash does not take the script: %v\n%s", err, out)
	}
}
