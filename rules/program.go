package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
)

// Name is the program that judges rules.
const Name = "shunt-rules"

// ErrNoProgram says that the program is not there.
var ErrNoProgram = errors.New(Name + " is neither beside shunt nor in PATH: go install github.com/shunt-network/shunt/cmd/" + Name)

// timeout is how long one call may take. A thousand rules over ten thousand ports take seconds.
const timeout = 5 * time.Minute

// Exit codes of the program, as those of shunt.
const (
	ExitFailed   = 1 // a test of a rule failed
	ExitMistakes = 2 // files of rules are wrong
	ExitInternal = 5
)

// MistakesError is what the program says of files that are wrong: all problems, one a line, each with its place.
type MistakesError struct{ Text string }

func (e *MistakesError) Error() string { return strings.TrimRight(e.Text, "\n") }

// Program is where the program was found.
type Program struct{ path string }

// Find looks for the program beside the one that runs, then in PATH.
func Find() (Program, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), Name)); err == nil {
			return Program{path}, nil
		}
	}
	path, err := exec.LookPath(Name)
	if err != nil {
		return Program{}, ErrNoProgram
	}
	return Program{path}, nil
}

// Run runs the program with a command line of its own, on the given streams, and returns its exit code.
func (p Program) Run(ctx context.Context, args []string, in io.Reader, out, complaints io.Writer) (int, error) {
	c := exec.CommandContext(ctx, p.path, args...)
	c.Stdin, c.Stdout, c.Stderr = in, out, complaints
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// ask judges the files on a cluster.
func (p Program) ask(ctx context.Context, files []string, c *Cluster) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	question, err := json.Marshal(Question{Schema, files, c})
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	var out, complaints bytes.Buffer
	code, err := p.Run(ctx, []string{"run"}, bytes.NewReader(question), &out, &complaints)
	switch {
	case err != nil:
		return nil, fmt.Errorf("rules: %s: %w", p.path, err)
	case code == ExitMistakes:
		return nil, &MistakesError{complaints.String()}
	case code != 0:
		return nil, fmt.Errorf("rules: %s ended with %d: %s", p.path, code, strings.TrimSpace(complaints.String()))
	}
	var a Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Schema != Schema {
		return nil, fmt.Errorf("rules: %s answered in a form of another release (%q instead of %q)", p.path, a.Schema, Schema)
	}
	return &a, nil
}

// Causes reads files of rules as causes. They are judged by the program, all at once, when the first of them is checked
// on a view; what it answers is kept for the others. An error that comes only then makes them unchecked, with the
// error as the reason. The error here is a *MistakesError where files are wrong.
func (p Program) Causes(ctx context.Context, files []string) ([]diagnose.Cause, error) {
	// An empty cluster finds all mistakes before anything is read.
	a, err := p.ask(ctx, files, &Cluster{})
	if err != nil {
		return nil, err
	}
	j := &judge{ctx: ctx, program: p, files: files}
	var causes []diagnose.Cause
	for _, v := range a.Verdicts {
		causes = append(causes, diagnose.Cause{
			Code: v.Code, Title: v.Title, Needs: v.Needs, Explains: v.Explains,
			Check: func(view *diagnose.View) diagnose.Verdict { return j.check(view, v.Code) },
		})
	}
	return causes, nil
}

// judge keeps the answer about the last view.
type judge struct {
	ctx     context.Context
	program Program
	files   []string

	inv    *evidence.Inventory // of the view that the answer is about
	answer *Answer
	err    error
}

func (j *judge) check(view *diagnose.View, code string) diagnose.Verdict {
	if j.inv != view.Inv {
		j.inv = view.Inv
		j.answer, j.err = j.program.ask(j.ctx, j.files, FromView(view))
	}
	if j.err != nil {
		return diagnose.Verdict{State: diagnose.CannotCheck, Why: j.err.Error()}
	}
	for _, v := range j.answer.Verdicts {
		if v.Code == code {
			verdict, err := v.verdict()
			if err != nil {
				return diagnose.Verdict{State: diagnose.CannotCheck, Why: err.Error()}
			}
			return verdict
		}
	}
	return diagnose.Verdict{State: diagnose.CannotCheck, Why: "the rule is no longer in its file"}
}
