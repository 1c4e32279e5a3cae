package report

import (
	"fmt"
	"strings"

	"github.com/shunt-network/shunt/diagnose"
)

// document is a report as parts of a page, so that every form with headings and tables has the same content in the
// same order. All text in it is safe to show.
type document struct {
	Title    string // "Shunt: 2 findings"
	Summary  string // the sentence under it
	Sections []section
}

// section is a heading and what stands under it.
type section struct {
	Heading  string
	Severity string // of a finding: "critical"; else ""
	Code     string // of a finding
	First    bool   // the first finding of its code, where the page of the code belongs
	Folded   bool   // of interest to few: shown on demand where a form can
	Parts    []part
}

// part is one of: pairs, table.
type part struct {
	Pairs []pair
	Table *table
}

// pair is a word and what belongs to it: "fix:" with a sentence and commands.
type pair struct {
	Key      string
	Texts    []string
	Commands []string
}

// table has as many cells in each row as it has heads. Figures stand to the right.
type table struct {
	Caption string
	Heads   []string
	Figures []bool
	Rows    [][]string
}

// document builds the page. Nothing is left out of it: a page can be folded and searched, a terminal cannot.
func (r *Report) document() document {
	d := document{Title: "Shunt: " + r.headline(), Summary: r.counted()}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		s := findingSection(f)
		s.First = !seen[f.Code]
		seen[f.Code] = true
		d.Sections = append(d.Sections, s)
	}
	if r.Run != nil {
		d.Sections = append(d.Sections, runSection(r.Run))
	}
	for _, c := range []struct {
		title  string
		list   []diagnose.Check
		folded bool // what is missing is for the reader to fetch; the rest is for who wants to be sure
	}{{"Explained", r.Checked.Explained, true}, {"Could not be checked", r.Checked.Could, false}, {"Ruled out", r.Checked.RuledOut, true}} {
		if len(c.list) > 0 {
			d.Sections = append(d.Sections, section{
				Heading: fmt.Sprintf("%s: %d", c.title, len(c.list)), Folded: c.folded, Parts: []part{{Table: checkTable(c.title, c.list)}},
			})
		}
	}
	if len(r.Files) > 0 {
		t := &table{Caption: "Inputs and what they were taken for", Heads: []string{"input", "format", "host"}, Figures: make([]bool, 3)}
		for _, f := range r.Files {
			t.Rows = append(t.Rows, []string{plain(f.Path), plain(f.Format), plain(f.Host)})
		}
		d.Sections = append(d.Sections, section{Heading: fmt.Sprintf("Read: %d %s", len(r.Files), plural(len(r.Files), "input", "inputs")), Folded: true, Parts: []part{{Table: t}}})
	}
	if len(r.Unreadable) > 0 {
		t := &table{Caption: "Inputs, or parts of them, that could not be used", Heads: []string{"input", "why"}, Figures: make([]bool, 2)}
		for _, u := range r.Unreadable {
			t.Rows = append(t.Rows, []string{plain(u.From.String()), plain(u.Why)})
		}
		d.Sections = append(d.Sections, section{Heading: fmt.Sprintf("Not used: %d", len(r.Unreadable)), Folded: true, Parts: []part{{Table: t}}})
	}
	return d
}

// headline is the outcome in a few words.
func (r *Report) headline() string {
	n := len(r.Findings)
	switch {
	case r.Interrupted && !r.Decided():
		return "interrupted before anything was found"
	case r.Interrupted:
		return fmt.Sprintf("interrupted, %d %s so far", n, plural(n, "finding", "findings"))
	case n > 0:
		return fmt.Sprintf("%d %s", n, plural(n, "finding", "findings"))
	case !r.Decided():
		return "undecided, nothing in the input tells whether the network is slow"
	}
	return "no findings"
}

// counted says what was looked at and came to what.
func (r *Report) counted() string {
	c := r.Checked
	return fmt.Sprintf("Checked %d: %d %s the slowdown, %d ruled out, %d could not be checked.",
		c.Total(), len(c.Explained), plural(len(c.Explained), "explains", "explain"), len(c.RuledOut), len(c.Could))
}

func findingSection(f diagnose.Finding) section {
	s := section{Heading: plain(f.Title), Severity: f.Severity.String(), Code: f.Code}
	top := []pair{{Key: "cost", Texts: []string{plain(cost(f))}}}
	if f.Cost != nil && f.Cost.How != "" {
		top = append(top, pair{Key: "worked out as", Texts: []string{plain(f.Cost.How)}})
	}
	s.Parts = append(s.Parts, part{Pairs: top})
	if len(f.Evidence) > 0 {
		s.Parts = append(s.Parts, part{Table: evidenceTable(f.Evidence)})
	}
	var list []pair
	add := func(key string, texts ...string) {
		p := pair{Key: key}
		for _, t := range texts {
			if t != "" {
				p.Texts = append(p.Texts, plain(t))
			}
		}
		if len(p.Texts) > 0 {
			list = append(list, p)
		}
	}
	add("where", strings.Join(f.Where, ", "))
	add("because", f.Because)
	add("not", f.Not...)
	add("wrong if", f.WrongIf)
	var explains []string
	for _, c := range f.Consequences {
		explains = append(explains, "["+c.Code+"] "+c.Title)
	}
	add("explains", explains...)
	add("fix", f.Fix.Text, trial(f.Fix.Trial))
	if len(f.Fix.Commands) > 0 {
		var commands []string
		for _, c := range f.Fix.Commands {
			commands = append(commands, plain(c))
		}
		if n := len(list) - 1; n >= 0 && list[n].Key == "fix" {
			list[n].Commands = commands
		} else {
			list = append(list, pair{Key: "fix", Commands: commands})
		}
	}
	var others []string
	for _, o := range f.Fix.Others {
		others = append(others, alternative(o))
	}
	add("or", others...)
	add("settle", f.Settle)
	if paged(f.Code) {
		list = append(list, pair{Key: "more", Commands: []string{"shunt codes " + f.Code}})
	}
	s.Parts = append(s.Parts, part{Pairs: list})
	return s
}

// evidenceTable has the columns of the terminal's table, and where each row was read besides. Columns that no row
// fills are left out.
func evidenceTable(list []diagnose.Evidence) *table {
	t := writer{o: TextOptions{Verbose: true}, simulated: true} // times and places in columns of their own
	rows := t.rows(list)
	from := false
	var used [columns]bool
	for _, r := range rows {
		for c := range columns {
			used[c] = used[c] || r.cell[c] != ""
		}
		from = from || r.from != ""
	}
	out := &table{Caption: "Evidence, from the cause to its effects", Heads: []string{"#"}, Figures: []bool{true}}
	for c := range columns {
		if used[c] {
			name := headings[c]
			if c == colRole {
				name = "role"
			}
			out.Heads, out.Figures = append(out.Heads, name), append(out.Figures, false)
		}
	}
	if from {
		out.Heads, out.Figures = append(out.Heads, "from"), append(out.Figures, false)
	}
	for i, r := range rows {
		cells := []string{fmt.Sprint(i + 1)}
		for c := range columns {
			if used[c] {
				cells = append(cells, r.cell[c])
			}
		}
		if from {
			cells = append(cells, r.from)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

func runSection(r *Run) section {
	s := section{Heading: "The simulated run"}
	list := []pair{
		{Key: "run", Texts: []string{plain(fmt.Sprintf("%s: %s, seed %d", r.Title, r.Job, r.Seed)), fmt.Sprintf("%s simulated, fingerprint %s", duration(r.End), r.Fingerprint)}},
	}
	if r.Stalled {
		list[0].Texts = append(list[0].Texts, "stalled: operations were left that nothing could finish")
	}
	for _, d := range r.Deadlocks {
		list[0].Texts = append(list[0].Texts, plain("PFC deadlock: "+d))
	}
	if r.Cut {
		list[0].Texts = append(list[0].Texts, "cut: the scenario's limit ended the run before the job was done")
	}
	if r.Step != nil {
		list = append(list, pair{Key: "step", Texts: []string{steps(r.Step)}})
	}
	list = append(list, pair{Key: "fabric", Texts: []string{plain(counters(r.Counters))}})
	s.Parts = []part{{Pairs: list}}
	if len(r.Collectives) > 0 {
		t := &table{Caption: "Collectives of the job; bandwidths are of the median call", Heads: collectiveHeads, Figures: make([]bool, len(collectiveHeads))}
		for i := 1; i < len(t.Figures); i++ {
			t.Figures[i] = true
		}
		for _, c := range r.Collectives {
			t.Rows = append(t.Rows, collectiveCells(c))
		}
		s.Parts = append(s.Parts, part{Table: t})
	}
	return s
}

// checkTable is a list of causes and why each came to its outcome.
func checkTable(title string, list []diagnose.Check) *table {
	t := &table{Caption: title, Heads: []string{"code", "cause", "why"}, Figures: make([]bool, 3)}
	for _, c := range list {
		t.Rows = append(t.Rows, []string{c.Code, plain(c.Title), plain(c.Why)})
	}
	return t
}
