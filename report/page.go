package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Page lays out the Markdown page of a code for a terminal: headings stand out, paragraphs and items of lists are
// wrapped to the width, code blocks and tables are left as they are. It knows the Markdown that the pages use
// and no more; what it does not know passes through.
func Page(w io.Writer, markdown string, o TextOptions) error {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	t := writer{Writer: bufio.NewWriter(w), o: o}
	var text []string // the paragraph being gathered
	indent := 0
	flush := func() {
		if len(text) > 0 {
			t.item(strings.Join(text, " "), indent)
			text, indent = nil, 0
		}
	}
	fenced := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, "```"):
			flush()
			fenced = !fenced
		case fenced:
			t.line("    " + t.o.clean(line))
		case bare == "":
			flush()
			t.WriteByte('\n')
		case strings.HasPrefix(line, "    ") && len(text) == 0, strings.HasPrefix(bare, "|"):
			flush()
			t.line(t.o.clean(line))
		case strings.HasPrefix(bare, "#"):
			flush()
			t.line(t.bold(t.o.clean(strings.TrimSpace(strings.TrimLeft(bare, "#")))))
		case marker(bare) > 0:
			flush()
			text, indent = []string{bare}, marker(bare)
		default:
			text = append(text, bare)
		}
	}
	flush()
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: page: %w", err)
	}
	return nil
}

// marker is the width of the sign that begins an item of a list, with the blank after it; 0 for other lines.
func marker(line string) int {
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") {
		return 2
	}
	digits := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(digits); n > 0 && n <= 3 && strings.HasPrefix(digits, ". ") {
		return n + 2
	}
	return 0
}

// item writes a paragraph, or an item of a list with the text after its sign hanging.
func (t writer) item(text string, indent int) {
	t.paragraph(text[:indent], text[indent:], indent)
}
