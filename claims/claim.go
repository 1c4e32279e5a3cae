package claims

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Article is one of the three articles whose figures are tested.
type Article string

// Kind is the way in which a claim was put to the test.
type Kind string

// Kinds.
const (
	Simulated Kind = "simulated"        // packets in a network, with seeds
	Computed  Kind = "computed"         // the product's own code on drawn or given input
	Derived   Kind = "derived"          // a closed form, its derivation beside it
	NoTest    Kind = "cannot be tested" // needs what is not here, or says too little to be repeated
)

// Claim is one figure of an article.
type Claim struct {
	ID      string // the requirement it belongs to and a letter: "S0.1a"
	Article Article
	Says    string // what is claimed, in our words
	Figure  string // the figure as the article has it
	Kind    Kind

	Measure Measure   // what is judged; none where Kind is NoTest
	Beside  []Measure // what is shown with it and not judged
	// Reading says how to understand what came out: why it differs, or why nothing can.
	Reading string
}

// Measure is a quantity of an experiment.
type Measure struct {
	Name       string
	Unit       string // "us", "%", "ratio" ...
	Experiment string // its name
	Value      string // the name of the quantity in the experiment's values
	Rule       Rule   // what it is held against
}

// All lists the claims, by article and in the order of their ids.
func All() []Claim { return slices.Concat(article000(), article001(), article003()) }

// Find returns the claims of the given ids. An id that ends in a digit stands for all claims of that requirement ("S0.1" for S0.1a, S0.1b ...),
// an article's number ("000") for all of it. unknown lists the ids that name none.
func Find(ids []string) (found []Claim, unknown []string) {
	all := All()
	if len(ids) == 0 {
		return all, nil
	}
	wanted := make([]bool, len(all))
	for _, id := range ids {
		hit := false
		for i := range all {
			if all[i].ID == id || requirement(all[i].ID) == id || string(all[i].Article) == id {
				wanted[i], hit = true, true
			}
		}
		if !hit {
			unknown = append(unknown, id)
		}
	}
	for i := range all {
		if wanted[i] {
			found = append(found, all[i])
		}
	}
	return found, unknown
}

// requirement is the id of the requirement that a claim belongs to: "S0.1" of "S0.1a".
func requirement(id string) string {
	for i := len(id); i > 0; i-- {
		if c := id[i-1]; c >= '0' && c <= '9' {
			return id[:i]
		}
	}
	return id
}

// compareIDs orders ids by the number of the requirement, then by letter: S0.2a comes before S0.10a.
func compareIDs(a, b string) int {
	number := func(id string) int {
		_, digits, _ := strings.Cut(requirement(id), ".")
		n, _ := strconv.Atoi(digits) // a test holds ids to be numbers
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}
