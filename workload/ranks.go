package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/fabric"
)

// Ranks is a list of GPU numbers. It is written "0-7,16-23", "0-63/8" for every eighth, or as a list of numbers.
type Ranks []int

// maxRank bounds a rank's number, and with it how long a written range can become.
const maxRank = 1<<20 - 1 // ten times the GPUs of the largest clusters in 2025

// UnmarshalText reads the written form.
func (r *Ranks) UnmarshalText(text []byte) error {
	var out Ranks
	for _, part := range strings.Split(string(text), ",") {
		span, every, hasEvery := strings.Cut(strings.TrimSpace(part), "/")
		from, to, isRange := strings.Cut(span, "-")
		first, err := strconv.Atoi(strings.TrimSpace(from))
		last, step := first, 1
		if err == nil && isRange {
			last, err = strconv.Atoi(strings.TrimSpace(to))
		}
		if err == nil && hasEvery {
			step, err = strconv.Atoi(strings.TrimSpace(every))
		}
		switch {
		case err != nil || !isRange && hasEvery || step < 1:
			return fmt.Errorf("%q is not a range of ranks; write it like 0-7, 0-7,16-23 or 0-63/8", part)
		case !isRange && len(text) == len(part):
			return fmt.Errorf("%q could be one rank or a count; write 0-%d for the first %d, or [%d] for the one", part, max(first-1, 0), first, first)
		case last < first:
			return fmt.Errorf("%q runs backwards; write the lower rank first", part)
		case first < 0 || last > maxRank || len(out)+(last-first)/step > maxRank:
			return fmt.Errorf("%q has ranks beyond %d; write numbers of GPUs of the fabric", part, maxRank)
		}
		for rank := first; rank <= last; rank += step {
			out = append(out, rank)
		}
	}
	*r = out
	return nil
}

// MarshalText writes r with ranges where ranks follow each other.
func (r Ranks) MarshalText() ([]byte, error) {
	var out []byte
	for i := 0; i < len(r); {
		j := i
		for j+1 < len(r) && r[j+1] == r[j]+1 {
			j++
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(r[i]), 10)
		if j > i || len(r) == 1 {
			out = append(out, '-')
			out = strconv.AppendInt(out, int64(r[j]), 10)
		}
		i = j + 1
	}
	return out, nil
}

// gpus turns r into GPUs of f; nil stands for all of them. What does not fit is reported at path.
func (r Ranks) gpus(f *fabric.Fabric, path string, tell tell) []fabric.GPUID {
	if r == nil {
		out := make([]fabric.GPUID, len(f.GPUs))
		for i := range out {
			out[i] = fabric.GPUID(i)
		}
		return out
	}
	seen := make([]bool, len(f.GPUs))
	var out []fabric.GPUID
	for _, rank := range r {
		switch {
		case rank < 0 || rank >= len(f.GPUs):
			tell(path, "there is no GPU %d; the fabric has 0-%d", rank, len(f.GPUs)-1)
			return nil
		case seen[rank]:
			tell(path, "GPU %d is listed twice; remove one", rank)
			return nil
		}
		seen[rank] = true
		out = append(out, fabric.GPUID(rank))
	}
	return out
}
