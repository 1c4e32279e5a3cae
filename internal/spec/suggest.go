package spec

import (
	"strings"
)

// suggest says which of the known words was meant: the nearest one, or all of them when none is near.
func suggest(word string, known []string) string {
	best, distance := "", 1+len(word)/3 // up to a third of the letters may be wrong
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d <= distance && (best == "" || d < distance) {
			best, distance = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 {
		return "nothing may stand here"
	}
	return "known: " + strings.Join(known, ", ")
}

// edits is the Levenshtein distance of two short words; long ones count as far apart.
func edits(a, b string) int {
	const longest = 64 // field names and enum texts are shorter; bounds the work on foreign text
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
