package ecmp

import "slices"

// Buckets are where a hash shows its quality, before any path is chosen: article 000 tells of a table whose first eighth holds two thirds of the flows. Of a
// good hash some buckets stay empty too, and some flows share theirs; every figure therefore stands beside the one that chance makes.

// Occupancy is how full the buckets of a hash are, and how full those of a perfect one would be.
type Occupancy struct {
	Flows   int   `json:"flows"`
	Keys    int   `json:"keys"` // different values of what is hashed
	Buckets int   `json:"buckets"`
	Counts  []int `json:"counts"` // flows by bucket
	Fullest int   `json:"fullest"`

	Empty         int     `json:"empty"`
	EmptyExpected float64 `json:"empty_expected"`
	EmptySpread   float64 `json:"empty_spread"` // standard deviation
	EmptyP        float64 `json:"empty_p"`

	// Head is the flows in the first eighth of the buckets: 128 of 1024, article 000's measure (S0.7). Tail is how many buckets at the
	// end are empty in a row.
	HeadBuckets int     `json:"head_buckets"`
	Head        int     `json:"head_flows"`
	HeadP       float64 `json:"head_p"`
	Tail        int     `json:"empty_tail"`

	ChiSquare float64 `json:"chi_square"`
	P         float64 `json:"p"`
	// KeysP is P of the different keys: where it is large and P small, the function is good and the fields tell too few flows apart.
	KeysP float64 `json:"keys_p"`

	// Pairs of flows in one bucket, which is what collides where a bucket is a link (the birthday problem).
	Pairs         float64 `json:"colliding_pairs"`
	PairsExpected float64 `json:"colliding_pairs_expected"`
	Alone         int     `json:"flows_alone"` // flows that share their bucket with none
	AloneExpected float64 `json:"flows_alone_expected"`
}

// chance is the probability below which what is seen is not taken for chance. One in a thousand: the page shows some ten figures, and a user looks
// at some ten pages.
const chance = 1e-3

// Skewed tells whether the buckets are fuller and emptier than chance makes them.
func (o *Occupancy) Skewed() bool { return o.P < chance }

// FieldsToBlame tells whether the skew is of fields that are alike in many flows, and not of the function.
func (o *Occupancy) FieldsToBlame() bool { return o.Skewed() && o.KeysP >= chance && o.Keys < o.Flows }

// occupancy fills the buckets.
func occupancy(s *Set, u *Unit, d *dealer) Occupancy {
	o := Occupancy{Flows: len(s.Flows), Buckets: d.buckets.Size(), Counts: make([]int, d.buckets.Size())}
	keys := make(map[string]int32, min(len(s.Flows), 1<<16)) // the bucket of each
	var key [maxKey]byte
	for i := range s.Flows {
		b := d.bucket(u, u.Sum(&s.Flows[i]))
		o.Counts[b]++
		keys[string(u.fields.appendKey(key[:0], &s.Flows[i]))] = int32(b)
	}
	o.Keys = len(keys)
	distinct := make([]int, d.buckets.Size())
	for _, b := range keys {
		distinct[b]++
	}
	n, b := o.Flows, o.Buckets
	o.ChiSquare, o.P = chiSquare(o.Counts, n)
	_, o.KeysP = chiSquare(distinct, o.Keys)
	for _, c := range o.Counts {
		switch c {
		case 0:
			o.Empty++
		case 1:
			o.Alone++
		}
		o.Fullest = max(o.Fullest, c)
		o.Pairs += float64(c) * float64(c-1) / 2
	}
	o.EmptyExpected, o.EmptySpread = expectedEmpty(n, b)
	o.EmptyP = unlikely(float64(o.Empty), o.EmptyExpected, o.EmptySpread)
	o.PairsExpected = float64(n) * float64(n-1) / 2 / float64(b)
	if n > 0 { // the others all miss the bucket of a flow
		lone, _ := expectedEmpty(n-1, b)
		o.AloneExpected = float64(n) * lone / float64(b)
	}
	o.HeadBuckets = max(1, b/8)
	for _, c := range o.Counts[:o.HeadBuckets] {
		o.Head += c
	}
	o.HeadP = atLeast(o.Head, n, float64(o.HeadBuckets)/float64(b))
	for _, c := range slices.Backward(o.Counts) {
		if c > 0 {
			break
		}
		o.Tail++
	}
	return o
}

// Columns adds the buckets up into at most so many groups of equal width, for a histogram; the last may be narrower.
func (o *Occupancy) Columns(most int) (width int, sums []int) {
	width = (o.Buckets + most - 1) / most
	for at := 0; at < o.Buckets; at += width {
		sum := 0
		for _, c := range o.Counts[at:min(at+width, o.Buckets)] {
			sum += c
		}
		sums = append(sums, sum)
	}
	return width, sums
}
