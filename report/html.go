package report

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/shunt-network/shunt/docs/codes"
)

// style is the style sheet of the page, part of the page itself.
//
//go:embed html.css
var style string

// HTML writes the report as one page that needs nothing besides: no script, no font, no picture, so that it can be
// mailed, archived and opened years later. Its content policy forbids it to load anything. Severity is a word and
// only then a colour; tables that are wider than the window can be scrolled with the keyboard.
func HTML(w io.Writer, r *Report, _ Options) error {
	d := r.document()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
%s</style>
</head>
<body>
<main>
<h1>%s</h1>
<p>%s</p>
`, html.EscapeString(d.Title), style, html.EscapeString(d.Title), html.EscapeString(d.Summary))
	for i, s := range d.Sections {
		if err := htmlSection(b, s, i+1); err != nil {
			return err
		}
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: html: %w", err)
	}
	return nil
}

func htmlSection(b *bufio.Writer, s section, number int) error {
	id := fmt.Sprintf("s%d", number)
	switch {
	case s.Code != "":
		fmt.Fprintf(b, "<section class=\"finding %s\" aria-labelledby=\"%s\">\n<h2 id=\"%s\"><span class=\"severity\">%s</span> <span class=\"code\">%s</span> %s</h2>\n",
			s.Severity, id, id, s.Severity, s.Code, html.EscapeString(s.Heading))
	case s.Folded:
		fmt.Fprintf(b, "<details>\n<summary>%s</summary>\n", html.EscapeString(s.Heading))
	default:
		fmt.Fprintf(b, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", id, id, html.EscapeString(s.Heading))
	}
	for _, p := range s.Parts {
		htmlPairs(b, p.Pairs)
		if p.Table != nil {
			htmlTable(b, p.Table)
		}
	}
	if s.First {
		if err := htmlPage(b, s.Code); err != nil {
			return err
		}
	}
	if s.Folded {
		b.WriteString("</details>\n")
	} else {
		b.WriteString("</section>\n")
	}
	return nil
}

func htmlPairs(b *bufio.Writer, pairs []pair) {
	if len(pairs) == 0 {
		return
	}
	b.WriteString("<dl>\n")
	for _, p := range pairs {
		fmt.Fprintf(b, "<dt>%s</dt>\n", html.EscapeString(p.Key))
		for _, t := range p.Texts {
			fmt.Fprintf(b, "<dd>%s</dd>\n", html.EscapeString(t))
		}
		switch {
		case len(p.Texts) == 0 && len(p.Commands) == 1:
			fmt.Fprintf(b, "<dd><code>%s</code></dd>\n", html.EscapeString(p.Commands[0]))
		case len(p.Commands) > 0:
			fmt.Fprintf(b, "<dd><pre><code>%s</code></pre></dd>\n", html.EscapeString(strings.Join(p.Commands, "\n")))
		}
	}
	b.WriteString("</dl>\n")
}

func htmlTable(b *bufio.Writer, t *table) {
	class := func(i int) string {
		if t.Figures[i] {
			return ` class="figure"`
		}
		return ""
	}
	caption := html.EscapeString(t.Caption)
	fmt.Fprintf(b, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n<caption>%s</caption>\n<thead><tr>", caption, caption)
	for i, h := range t.Heads {
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", class(i), html.EscapeString(h))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, cell := range row {
			fmt.Fprintf(b, "<td%s>%s</td>", class(i), html.EscapeString(cell))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</div>\n")
}

// htmlPage adds the page of a code, folded: who is sent a report need not have the program.
func htmlPage(b *bufio.Writer, code string) error {
	page, err := codes.Pages.ReadFile(code + ".md")
	if err != nil {
		return nil // a rule of the user's has no page
	}
	var text bytes.Buffer
	if err := Page(&text, string(page), TextOptions{Width: 100}); err != nil {
		return err
	}
	fmt.Fprintf(b, "<details>\n<summary>About %s</summary>\n<pre class=\"page\">%s</pre>\n</details>\n", code, html.EscapeString(text.String()))
	return nil
}
