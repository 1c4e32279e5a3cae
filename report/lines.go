package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes foreign text safe for a terminal: control characters, escape sequences and the characters that
// reverse the writing direction would let a log line forge what the reader sees. White space becomes a blank.
func (o TextOptions) clean(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00b5' || r == '\u03bc': // both micro signs are read as the letter u
			return 'u'
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		case r > unicode.MaxASCII && o.ASCII:
			return '?'
		}
		return r
	}, s)
}

// width is how many columns s takes. Wide characters count as one: they occur in names of hosts at most, and
// then shift a column instead of hiding anything.
func width(s string) int { return utf8.RuneCountInString(s) }

// wrap breaks text between words into lines of at most limit columns. A word that is longer stands on a line of
// its own, unbroken: it is a path, a code or an object's name, and half of one cannot be copied.
func wrap(text string, limit int) []string { return wrapFrom(text, limit, limit) }

// wrapFrom is wrap where the first line has a limit of its own, since something stands before it.
func wrapFrom(text string, limit, rest int) []string {
	var lines []string
	line, used := strings.Builder{}, 0
	for _, word := range words(text) {
		w := width(word)
		if used > 0 && used+1+w > limit {
			lines = append(lines, line.String())
			line.Reset()
			used, limit = 0, rest
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		line.WriteString(word)
		used += w
	}
	if used > 0 || len(lines) == 0 {
		lines = append(lines, line.String())
	}
	return lines
}

// unitWords are units that stay on the line of their figure.
var unitWords = []string{"s", "ms", "us", "ns", "ps", "%", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "Gb/s", "GB/s", "MB/s", "Gbps", "Mbps"}

// words splits text where a line may be broken: at blanks, but not between a figure and its unit.
func words(text string) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		if n := len(list) - 1; n >= 0 && slices.Contains(unitWords, strings.TrimRight(word, ",.;:)")) && unicode.IsDigit(rune(list[n][len(list[n])-1])) {
			list[n] += " " + word
			continue
		}
		list = append(list, word)
	}
	return list
}

// longest is the width of the longest word of s.
func longest(s string) int {
	n := 0
	for _, word := range words(s) {
		n = max(n, width(word))
	}
	return n
}

// pad fills s with blanks up to n columns.
func pad(s string, n int) string {
	if missing := n - width(s); missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}
