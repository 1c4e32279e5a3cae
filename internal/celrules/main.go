package celrules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/rules"
)

const usage = `shunt-rules judges rules for shunt, which calls it (shunt explain --rules FILE, shunt rules test FILE).

  shunt-rules check FILE...   what is wrong in files of rules
  shunt-rules test FILE...    run the tests of the rules
  shunt-rules run             judge: a question as JSON on stdin, the answer on stdout
`

// Main is the program: it runs one command line and returns the exit code.
func Main(args []string, in io.Reader, out, complaints io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(out, usage)
		return 0
	}
	command, files := args[0], args[1:]
	if (command == "check" || command == "test") == (len(files) == 0) || command != "check" && command != "test" && command != "run" {
		fmt.Fprint(complaints, usage)
		return rules.ExitMistakes
	}
	var question rules.Question
	if command == "run" {
		d := json.NewDecoder(in)
		if err := d.Decode(&question); err != nil || question.Schema != rules.Schema || question.Cluster == nil {
			fmt.Fprintf(complaints, "shunt-rules: the question is of another release (%q instead of %q; %v)\n", question.Schema, rules.Schema, err)
			return rules.ExitInternal
		}
		files = question.Files
	}
	set, err := load(files)
	if err != nil {
		fmt.Fprintln(complaints, strings.TrimRight(err.Error(), "\n"))
		return rules.ExitMistakes
	}
	switch command {
	case "run":
		err = json.NewEncoder(out).Encode(rules.Answer{Schema: rules.Schema, Verdicts: set.Judge(question.Cluster)})
	case "test":
		var failed int
		if failed, err = set.Test(out); err == nil && failed > 0 {
			return rules.ExitFailed
		}
	case "check":
		_, err = fmt.Fprintf(out, "%s, no mistakes\n", counted(len(set.rules), "rule"))
	}
	if err != nil {
		fmt.Fprintf(complaints, "shunt-rules: %v\n", err)
		return rules.ExitInternal
	}
	return 0
}

// load reads and compiles files; the error has all mistakes of all of them. Expressions are looked at even where a file
// has other mistakes, as far as its fields could be read.
func load(paths []string) (*Set, error) {
	var files []*rules.File
	var problems spec.Problems
	for _, path := range paths {
		f, err := rules.Load(path)
		var list spec.Problems
		switch {
		case errors.As(err, &list):
			problems = append(problems, list...)
		case err != nil:
			problems = append(problems, spec.Problem{File: path, Text: reason(err)})
		}
		if f != nil {
			files = append(files, f)
		}
	}
	set, err := Compile(files...)
	var list spec.Problems
	if err != nil && !errors.As(err, &list) {
		return nil, err
	}
	return set, append(problems, list...).Err()
}

// reason is what went wrong with a file, without its path, which stands before it.
func reason(err error) string {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
}
