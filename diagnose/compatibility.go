package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/internal/spec"
)

// Compatibility is what a site tested: which versions of the five layers work together, and which are known not to. It is
// the site's own file; docs/compatibility.md describes it.
type Compatibility struct {
	_      struct{}      `doc:"which versions of driver, CUDA, NCCL and firmware were tested together"`
	Tested []Combination `yaml:"tested" doc:"combinations that were tested; the versions that are in use must fit one of them" max:"1000"`
	Broken []Combination `yaml:"broken" doc:"combinations that are known not to work together; all entries of one must fit" max:"1000"`
	File   string        // where it was read
}

// Combination is one set of versions. A layer that is left out may have any version.
type Combination struct {
	_        struct{}            `doc:"versions that stand together"`
	Name     string              `yaml:"name" doc:"what findings call it" required:"true" example:"2026-03"`
	Driver   Versions            `yaml:"driver" doc:"GPU driver" example:"\">=570.86 <575\""`
	CUDA     Versions            `yaml:"cuda" doc:"CUDA, as the driver or NCCL names it" example:"\"12.8\""`
	NCCL     Versions            `yaml:"nccl" doc:"NCCL" example:"\">=2.26.2\""`
	Firmware map[string]Versions `yaml:"nic firmware" doc:"firmware of NICs by part: a board id (PSID), a model or a vendor part number; * for all"`
	Switch   map[string]Versions `yaml:"switch firmware" doc:"software of switches by model; * for all"`
	Reason   string              `yaml:"reason" doc:"why a combination is broken"`
}

// Versions is a condition on a version: exact ("2.26.2"), a beginning ("2.26.x"), bounds joined by blanks (">=570.86 <575"),
// or several of these parted by a comma, of which one must hold. The zero value holds for all.
type Versions struct {
	text string
	any  [][]bound
}

type bound struct {
	op      string // "=", "x", ">=", ">", "<=", "<"
	version string
}

func (v Versions) String() string { return v.text }

// UnmarshalText reads a condition.
func (v *Versions) UnmarshalText(text []byte) error {
	v.text, v.any = strings.TrimSpace(string(text)), nil
	for part := range strings.SplitSeq(v.text, ",") {
		var all []bound
		for word := range strings.FieldsSeq(part) {
			b := bound{op: "=", version: word}
			for _, op := range []string{">=", "<=", ">", "<", "="} {
				if rest, ok := strings.CutPrefix(word, op); ok {
					b = bound{op, rest}
					break
				}
			}
			if begin, ok := strings.CutSuffix(b.version, ".x"); ok && b.op == "=" {
				b = bound{"x", begin}
			}
			if b.version == "" || b.version[0] < '0' || b.version[0] > '9' {
				return fmt.Errorf("%q is no version: 2.26.2, 2.26.x, >=570.86 or several with blanks or commas between", word)
			}
			all = append(all, b)
		}
		if len(all) == 0 {
			return fmt.Errorf("%q has an empty part", v.text)
		}
		v.any = append(v.any, all)
	}
	return nil
}

// Set tells whether there is a condition at all.
func (v Versions) Set() bool { return v.any != nil }

// Holds tells whether a version meets the condition.
func (v Versions) Holds(version string) bool {
	if v.any == nil {
		return true
	}
	return slices.ContainsFunc(v.any, func(all []bound) bool {
		return !slices.ContainsFunc(all, func(b bound) bool { return !b.holds(version) })
	})
}

func (b bound) holds(version string) bool {
	c := compareVersions(version, b.version)
	switch b.op {
	case ">=":
		return c >= 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	case "<":
		return c < 0
	case "x":
		return version == b.version || strings.HasPrefix(version, b.version+".")
	}
	return c == 0
}

// compareVersions compares versions number by number, "2.9" before "2.10"; what a shorter one leaves out counts as 0, and
// letters (202311b) after the number they follow.
func compareVersions(a, b string) int {
	split := func(s string) []string {
		s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(".-_ ", r) })
	}
	x, y := split(a), split(b)
	for i := range max(len(x), len(y)) {
		p, q := "0", "0"
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		m, err1 := strconv.ParseUint(p, 10, 64)
		n, err2 := strconv.ParseUint(q, 10, 64)
		var c int
		if err1 == nil && err2 == nil {
			c = cmp.Compare(m, n)
		} else {
			c = cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// ParseCompatibility reads a site's file. The error is spec.Problems: all that is wrong, each with its line and column.
func ParseCompatibility(file string, text []byte) (*Compatibility, error) {
	d, problems := spec.Parse(file, text)
	c := &Compatibility{File: file}
	if len(problems) == 0 {
		problems = d.Decode(c)
	}
	if err := problems.Sorted().Err(); err != nil {
		return nil, err
	}
	return c, nil
}
