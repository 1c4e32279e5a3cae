package rules

import (
	"fmt"
	"strings"
)

// Piece is a part of a text: as it stands, or an expression whose value belongs there.
type Piece struct {
	Literal    string
	Expression string // "" for a literal
	At         int    // where the expression begins, in bytes of the text
}

// Pieces takes a text with {expressions} apart. {{ and }} are single braces. Braces inside an expression, as in a map or
// a text, are counted and belong to it. at is where the text is wrong.
func Pieces(text string) (list []Piece, at int, err error) {
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			list = append(list, Piece{Literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			literal.WriteByte(c)
			i++
		case c == '}':
			return nil, i, fmt.Errorf("a } without its {; write }} for a brace")
		case c == '{':
			end := closing(text, i)
			if end < 0 {
				return nil, i, fmt.Errorf("a { without its }; write {{ for a brace")
			}
			if strings.TrimSpace(text[i+1:end]) == "" {
				return nil, i, fmt.Errorf("nothing stands between { and }")
			}
			flush()
			list = append(list, Piece{Expression: text[i+1 : end], At: i + 1})
			i = end
		default:
			literal.WriteByte(c)
		}
	}
	flush()
	return list, 0, nil
}

// closing finds the brace that ends the expression whose brace stands at open, -1 where there is none. Braces in quotes
// do not count.
func closing(text string, open int) int {
	depth, quote := 0, byte(0)
	for i := open; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
