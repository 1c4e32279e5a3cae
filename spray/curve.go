package spray

// Curve is how many buckets a path of a given score deserves.
type Curve string

// Curves.
const (
	// CurveHeadroom gives buckets in proportion to the score: a path with half the room gets half as many.
	CurveHeadroom Curve = "headroom"
	// CurveArticle is the one step that the articles tell (S0.2): a path that is 85 % busy shrinks from 32 to 12 buckets.
	CurveArticle Curve = "article"
	// CurveBalance corrects what is there instead of dealing anew: a path's buckets grow by as many per cent as its score lies above the average, in
	// per cent of 255, and shrink alike. It comes to rest where all scores are equal, so that a link of half the rate ends with half the
	// buckets, and its loop gain is the utilisation, never above 1. Ours; see docs/models/spray.md on why the others swing.
	CurveBalance Curve = "balance"
	// CurveFixed gives every path that lives the same, whatever its score: weights that nobody refreshes.
	CurveFixed Curve = "fixed"
)

// Choices lists the curves.
func (Curve) Choices() []string {
	return []string{string(CurveHeadroom), string(CurveArticle), string(CurveBalance), string(CurveFixed)}
}

// Freed is where the buckets go that busy paths give up under CurveArticle.
type Freed string

// Places for freed buckets.
const (
	FreedSpread Freed = "spread" // over the paths that are no worse than the average, in proportion to their scores
	FreedOne    Freed = "one"    // all to the path with the highest score, as the articles tell it, which may drown in them
)

// Choices lists the places.
func (Freed) Choices() []string { return []string{string(FreedSpread), string(FreedOne)} }

// The known points of the articles' curve: what an idle path keeps, and what is left of it at 85 % (12 of 32 buckets). Between them it is a
// straight line and beyond them level: both are ours, the articles say no more.
const (
	articleBusy = 0.85 * 255
	articleLeft = 12.0 / 32
	articleOne  = 1 << 20 // fixed point of the curve
)

// articleKeeps is the share of its buckets that a path of a score keeps, in units of articleOne.
func articleKeeps(score uint8) uint64 {
	busy := min(float64(255-score), articleBusy)
	return uint64(articleOne*(1-(1-articleLeft)*busy/articleBusy) + 0.5)
}

// aim fills the targets; it is false when every path is dead.
func (t *Table) aim(scores []uint8, c TableConfig) bool {
	living, sum, best := 0, 0, 0
	for p, s := range scores {
		if s > 0 {
			living++
			sum += int(s)
		}
		if s > scores[best] {
			best = p
		}
	}
	if living == 0 {
		return false
	}
	mean := sum / living
	for p, s := range scores {
		t.target[p], t.weight[p] = 0, 0
		if s == 0 {
			continue
		}
		switch c.Curve {
		case CurveHeadroom, "":
			t.weight[p] = uint64(s)
		case CurveBalance:
			t.weight[p] = uint64(max(t.counts[p], 1)) * uint64(255+int(s)-mean)
		default:
			t.weight[p] = 1
		}
	}
	t.apportion(t.target, int32(len(t.owner)))
	if c.Curve == CurveArticle {
		t.shrink(scores, best, mean, c.Freed)
	}
	t.floor(scores, living)
	return true
}

// shrink turns equal targets into those of the articles' curve.
func (t *Table) shrink(scores []uint8, best, mean int, freed Freed) {
	left := int32(0)
	for p, s := range scores {
		if s == 0 || s == scores[best] {
			continue // nothing is better than the best, so it keeps what it has
		}
		keeps := int32((uint64(t.target[p])*articleKeeps(s) + articleOne/2) / articleOne)
		left += t.target[p] - keeps
		t.target[p] = keeps
	}
	if freed == FreedOne {
		t.target[best] += left
		return
	}
	for p, s := range scores {
		t.weight[p] = 0
		if s > 0 && int(s) >= mean {
			t.weight[p] = uint64(s)
		}
	}
	t.apportion(t.target, left)
}

// floor gives every living path a bucket, as long as there are enough, from those that have most: a path without buckets carries nothing, so
// nothing would ever be learned about it but through others.
func (t *Table) floor(scores []uint8, living int) {
	if living > len(t.owner) {
		return
	}
	for p, s := range scores {
		if s == 0 || t.target[p] > 0 {
			continue
		}
		richest := 0
		for q, v := range t.target {
			if v > t.target[richest] {
				richest = q
			}
		}
		t.target[richest]--
		t.target[p]++
	}
}
