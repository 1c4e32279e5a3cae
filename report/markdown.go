package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report in the Markdown that code hosts show (CommonMark with tables): for the summary of a CI
// job, a ticket or a pull request. Foreign text in it is escaped, so it cannot become a heading, a link or HTML.
func Markdown(w io.Writer, r *Report, _ Options) error {
	d := r.document()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n%s\n", d.Title, d.Summary)
	for _, s := range d.Sections {
		b.WriteByte('\n')
		switch {
		case s.Code != "":
			fmt.Fprintf(b, "## %s %s: %s\n", s.Severity, s.Code, escape(s.Heading))
		case s.Folded:
			fmt.Fprintf(b, "<details>\n<summary>%s</summary>\n", escape(s.Heading))
		default:
			fmt.Fprintf(b, "## %s\n", escape(s.Heading))
		}
		for _, p := range s.Parts {
			markdownPairs(b, p.Pairs)
			if p.Table != nil {
				markdownTable(b, p.Table)
			}
		}
		if s.Folded {
			b.WriteString("\n</details>\n")
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: markdown: %w", err)
	}
	return nil
}

// markdownPairs writes a list, an item a word; more than one text becomes a list below.
func markdownPairs(b *bufio.Writer, pairs []pair) {
	if len(pairs) > 0 {
		b.WriteByte('\n')
	}
	for _, p := range pairs {
		fmt.Fprintf(b, "- **%s:**", p.Key)
		switch {
		case len(p.Texts) == 1:
			b.WriteString(" " + escape(p.Texts[0]))
		case len(p.Texts) > 1:
			for _, t := range p.Texts {
				b.WriteString("\n  - " + escape(t))
			}
		}
		if len(p.Texts) == 0 && len(p.Commands) == 1 && !strings.Contains(p.Commands[0], "`") {
			fmt.Fprintf(b, " `%s`\n", p.Commands[0])
			continue
		}
		b.WriteByte('\n')
		if len(p.Commands) > 0 {
			fence := "```"
			for strings.Contains(strings.Join(p.Commands, "\n"), fence) {
				fence += "`"
			}
			b.WriteString("\n  " + fence + "\n")
			for _, c := range p.Commands {
				b.WriteString("  " + c + "\n")
			}
			b.WriteString("  " + fence + "\n")
		}
	}
}

func markdownTable(b *bufio.Writer, t *table) {
	b.WriteString("\n|")
	for _, h := range t.Heads {
		b.WriteString(" " + h + " |")
	}
	b.WriteString("\n|")
	for i := range t.Heads {
		if t.Figures[i] {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		b.WriteByte('|')
		for _, cell := range row {
			b.WriteString(" " + escape(cell) + " |")
		}
		b.WriteByte('\n')
	}
}

// escape makes text that Markdown takes literally (CommonMark 0.31, 2.4: any ASCII punctuation can be escaped). What
// only means something where it stands alone at the beginning of a line, or between words, is left elsewhere, so that
// the text stays readable as it is.
func escape(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, c := range runes {
		last := i == len(runes)-1
		switch c {
		case '\\', '`', '*', '[', ']', '<', '|', '~', '&', '$':
			b.WriteByte('\\')
		case '_':
			if i == 0 || last || !wordly(runes[i-1]) || !wordly(runes[i+1]) {
				b.WriteByte('\\')
			}
		case '#', '+', '-', '>', '=':
			if i == 0 && (last || !wordly(runes[i+1])) {
				b.WriteByte('\\')
			}
		case '.', ')': // "1. " would begin a list
			if i > 0 && (last || runes[i+1] == ' ') && strings.Trim(string(runes[:i]), "0123456789") == "" {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}

// wordly tells whether a rune is part of a word.
func wordly(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
