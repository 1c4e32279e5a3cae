package rules

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/internal/spec"
)

// File is a file of rules.
type File struct {
	_     struct{} `doc:"rules of your own (docs/rules.md)"`
	Rules []Rule   `yaml:"rules" required:"true" min:"1" max:"1000" doc:"the rules"`

	doc *spec.Doc
	src []byte
}

// Rule is one rule: a cause, the expression that tells it, and what a finding says.
type Rule struct {
	Code       string   `yaml:"code" required:"true" doc:"U and three digits, yours to give" example:"U001"`
	Title      string   `yaml:"title" required:"true" doc:"what is wrong, in general, lower case"`
	For        Subject  `yaml:"for" doc:"what the rule is judged for, each in turn; the cluster as a whole if left out"`
	When       string   `yaml:"when" required:"true" doc:"an expression (CEL) that is true where it is found" example:"nic.mtu < 4096"`
	Severity   Level    `yaml:"severity" doc:"note, warning or critical; warning if left out"`
	Confidence *float64 `yaml:"confidence" min:"0" max:"1" doc:"0.7 if left out"`
	Needs      string   `yaml:"needs" doc:"the inputs it rests on, for people"`
	Explains   []string `yaml:"explains" doc:"codes of causes that are its consequences"`
	Finding    string   `yaml:"finding" doc:"what is wrong here, with {expressions} in braces; the title if left out"`
	Where      []string `yaml:"where" doc:"objects at fault, with {expressions}; what the rule is for if left out"`
	Because    string   `yaml:"because" required:"true" doc:"the mechanism, in one sentence"`
	Evidence   []Row    `yaml:"evidence" doc:"observations, the cause first"`
	Not        []string `yaml:"not" doc:"look-alikes and what speaks against them"`
	WrongIf    string   `yaml:"wrong_if" doc:"what would refute it"`
	Fix        Fix      `yaml:"fix" doc:"what to change"`
	Settle     string   `yaml:"settle" doc:"what would settle the doubt that is left"`
	Tests      []Test   `yaml:"tests" doc:"evidence and what the rule must say of it"`
}

// Row is one observation. All texts may have {expressions}.
type Row struct {
	Layer    string `yaml:"layer" required:"true" doc:"where it was seen" example:"NIC"`
	What     string `yaml:"what" required:"true" doc:"what was looked at"`
	Seen     string `yaml:"seen" required:"true" doc:"what was seen"`
	Expected string `yaml:"expected" doc:"what a healthy network shows"`
	Role     string `yaml:"role" choices:"cause,effect" doc:"cause or effect"`
	From     string `yaml:"from" doc:"where it was read" example:"{nic.from}"`
}

// Fix is what to change.
type Fix struct {
	Text     string   `yaml:"text" doc:"a sentence, with {expressions}"`
	Commands []string `yaml:"commands" doc:"to copy, with {expressions}; never run"`
}

// Test is evidence and what the rule must say of it.
type Test struct {
	Name   string   `yaml:"name" required:"true" doc:"what is tested"`
	Given  Cluster  `yaml:"given" doc:"the evidence"`
	Files  []string `yaml:"files" doc:"inputs as explain takes them, instead of given; relative to this file"`
	Expect Outcome  `yaml:"expect" required:"true" doc:"found, clear (ruled out) or unknown (could not be checked)"`
	Where  []string `yaml:"where" doc:"the objects of all findings, in order"`
	Says   string   `yaml:"says" doc:"a part of the first finding's title, or of the reason"`
}

// Subject is what a rule is judged for.
type Subject string

// Subjects. Cluster is judged once.
const (
	OfCluster  Subject = "cluster"
	OfHost     Subject = "host"
	OfNIC      Subject = "nic"
	OfNetdev   Subject = "netdev"
	OfPCI      Subject = "pci"
	OfSwitch   Subject = "switch"
	OfPort     Subject = "port"
	OfVariable Subject = "variable"
	OfSetting  Subject = "setting"
	OfEvent    Subject = "event"
	OfCall     Subject = "call"
	OfFlow     Subject = "flow"
	OfGPU      Subject = "gpu"
	OfIRQ      Subject = "irq"
	OfFlight   Subject = "flight"
)

// Choices lists the subjects for messages.
func (Subject) Choices() []string {
	return []string{"cluster", "host", "nic", "netdev", "pci", "switch", "port", "variable", "setting", "event", "call", "flow", "gpu", "irq", "flight"}
}

// Level is a severity by its word.
type Level string

// Choices lists the severities.
func (Level) Choices() []string { return []string{"note", "warning", "critical"} }

// Severity is the severity of findings.
func (l Level) Severity() diagnose.Severity {
	switch l {
	case "note":
		return diagnose.Note
	case "critical":
		return diagnose.Critical
	}
	return diagnose.Warning
}

// Outcome is what a test expects.
type Outcome string

// Outcomes of a test.
const (
	Found   Outcome = "found"
	Clear   Outcome = "clear"
	Unknown Outcome = "unknown"
)

// Choices lists the outcomes.
func (Outcome) Choices() []string { return []string{"found", "clear", "unknown"} }

// likely is the confidence of a rule that does not give one: the mechanism is in place and its symptom was seen
// (diagnose/confidence.go).
const likely = 0.70

// Sure is the confidence of the rule's findings.
func (r *Rule) Sure() float64 {
	if r.Confidence == nil {
		return likely
	}
	return *r.Confidence
}

// Subject is what the rule is judged for.
func (r *Rule) Subject() Subject {
	if r.For == "" {
		return OfCluster
	}
	return r.For
}

var codeForm = regexp.MustCompile(`^U\d{3}$`)

// Load reads a file of rules. Everything that is wrong is told at once, but for the expressions: those need the
// language.
func Load(path string) (*File, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return Parse(path, src)
}

// Parse reads the text of a file of rules; the error is spec.Problems.
func Parse(name string, src []byte) (*File, error) {
	doc, problems := spec.Parse(name, src)
	if problems != nil {
		return nil, problems
	}
	f := &File{doc: doc, src: src}
	problems = doc.Decode(f)
	problems = append(problems, f.check()...)
	if err := problems.Err(); err != nil {
		return f, err
	}
	return f, nil
}

// check finds what the fields of a rule say together.
func (f *File) check() (problems spec.Problems) {
	seen := map[string]int{}
	for i, r := range f.Rules {
		at := f.doc.Reporter(&problems, fmt.Sprintf("rules[%d]", i))
		switch first, again := seen[r.Code]; {
		case r.Code == "": // told of already
		case !codeForm.MatchString(r.Code):
			at("code", fmt.Sprintf("code %q is not U and three digits; write U001 to U999, which no cause of Shunt's own has", r.Code))
		case again:
			at("code", fmt.Sprintf("%s is the code of rule %d too; give each rule its own", r.Code, first+1))
		default:
			seen[r.Code] = i
		}
		for j, code := range r.Explains {
			if _, ok := diagnose.CauseOf(code); !ok && !codeForm.MatchString(code) {
				at(fmt.Sprintf("explains[%d]", j), fmt.Sprintf("there is no cause %s; shunt codes lists them", code))
			}
		}
		for j, t := range r.Tests {
			path := fmt.Sprintf("tests[%d]", j)
			if len(t.Files) > 0 && f.doc.Has(fmt.Sprintf("rules[%d].tests[%d].given", i, j)) {
				at(path+".files", "a test has given or files, not both; remove one")
			}
			if t.Expect != Found && len(t.Where) > 0 {
				at(path+".where", "only findings have objects; remove where, or expect found")
			}
		}
	}
	return problems
}

// Problem is a problem at a field, for those who read the expressions. Line and column are those of the place inside an
// expression, both from 1; where they are 0 the field itself is meant.
func (f *File) Problem(path, text string, line, col int) spec.Problem {
	p := f.doc.Problem(path, text)
	lines := strings.Split(string(f.src), "\n")
	if line == 0 || p.Line == 0 || p.Line > len(lines) || p.Col > len(lines[p.Line-1]) {
		return p
	}
	quote := lines[p.Line-1][p.Col-1]
	switch quote {
	case '|', '>': // the text begins on the next line, at its own indentation
		if p.Line >= len(lines) {
			return p
		}
		p.Col = indentation(lines[p.Line]) + 1
		p.Line++
		if quote == '|' {
			p.Line += line - 1
			p.Col += col - 1
			return p
		}
	case '"', '\'':
		p.Col++
	}
	if line == 1 {
		p.Line, p.Col = walk(lines, p.Line, p.Col, col-1, quote)
	}
	return p
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// walk finds the place n characters into a text that YAML folds: the end of a line and the indentation of the next are one
// blank of the text (YAML 1.2.2, 6.5).
func walk(lines []string, line, col, n int, quote byte) (int, int) {
	for ; n > 0; n-- {
		source := strings.TrimRight(lines[line-1], " \r")
		switch {
		case col > len(source):
			if line == len(lines) {
				return line, col
			}
			line++
			col = indentation(lines[line-1]) + 1
		case quote == '"' && source[col-1] == '\\', quote == '\'' && source[col-1] == '\'':
			col += 2 // two characters of the file are one of the text
		default:
			_, size := utf8.DecodeRuneInString(source[col-1:])
			col += size
		}
	}
	return line, col
}

// Texts lists the texts of a rule that may have expressions in braces, by the path of their field.
func (r *Rule) Texts(i int) []Text {
	var list []Text
	add := func(path, text string) {
		if text != "" {
			list = append(list, Text{fmt.Sprintf("rules[%d].%s", i, path), text})
		}
	}
	add("finding", r.Finding)
	for j, w := range r.Where {
		add(fmt.Sprintf("where[%d]", j), w)
	}
	add("because", r.Because)
	for j, e := range r.Evidence {
		for _, x := range []struct{ name, text string }{{"what", e.What}, {"seen", e.Seen}, {"expected", e.Expected}, {"from", e.From}} {
			add(fmt.Sprintf("evidence[%d].%s", j, x.name), x.text)
		}
	}
	for j, n := range r.Not {
		add(fmt.Sprintf("not[%d]", j), n)
	}
	add("wrong_if", r.WrongIf)
	add("fix.text", r.Fix.Text)
	for j, c := range r.Fix.Commands {
		add(fmt.Sprintf("fix.commands[%d]", j), c)
	}
	add("settle", r.Settle)
	return list
}

// Text is a text and the field it stands in.
type Text struct{ Path, Text string }

// Has tells whether the file has a field.
func (f *File) Has(path string) bool { return f.doc.Has(path) }

// Name is the path the file was read from.
func (f *File) Name() string { return f.doc.File }
