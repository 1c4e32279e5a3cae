package hpcc

import (
	"io"
	"math"

	"github.com/shunt-network/shunt/interop/source"
	"github.com/shunt-network/shunt/units"
)

// CDF is a distribution of flow sizes: the share of flows that are at most so large, linear between its points.
type CDF struct {
	Points []Point
	Report *source.Report
}

// Point is a size and the share of flows at most that large, from 0 to 1.
type Point struct {
	Bytes float64
	Share float64
}

const maxPoints = 1 << 20

// ReadCDF reads lines of a size and a share. Shares reach 100 in the files of HPCC and ConWeave, and 1 in those of
// ns3-datacenter; the last tells which. The distribution is nil when the error, a spec.Problems, is not.
func ReadCDF(file string, in io.Reader) (*CDF, error) {
	r := source.NewReader(file, in)
	c := &CDF{Report: &r.Report}
	var last source.Word
	for r.Line() && !r.Full() {
		words := r.Words()
		if len(words) == 0 || words[0].Text[0] == '#' {
			continue
		}
		if len(words) < 2 || len(c.Points) == maxPoints {
			r.Wrong(words[0], "a line has a size in bytes and a share, like 4000 22.93; at most %d lines", maxPoints)
			break
		}
		bytes, ok := r.Float(words[0], "the size of a flow", 0, 1<<50)
		share, ok2 := r.Float(words[1], "the share of flows", 0, 100)
		if !ok || !ok2 {
			continue
		}
		if n := len(c.Points); n > 0 && (bytes < c.Points[n-1].Bytes || share < c.Points[n-1].Share) {
			r.Wrong(words[0], "size and share are lower than in the line before; write them from the smallest up")
			continue
		}
		c.Points = append(c.Points, Point{bytes, share})
		last = source.Word{Place: words[1].Place}
	}
	if r.OK() {
		c.scale(r, last)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// scale turns percent into shares.
func (c *CDF) scale(r *source.Reader, last source.Located) {
	if len(c.Points) < 2 {
		r.Wrong(r, "a distribution needs two lines, of the smallest and the largest flow")
		return
	}
	whole := c.Points[len(c.Points)-1].Share
	if whole != 1 && whole != 100 {
		r.Wrong(last, "the last share is %v; write 100, or 1 if shares are not in percent", whole)
		return
	}
	if c.Points[len(c.Points)-1].Bytes < 1 {
		r.Wrong(last, "no flow has a byte; write sizes in bytes")
		return
	}
	for i := range c.Points {
		c.Points[i].Share /= whole
	}
}

// Mean is the mean size.
func (c *CDF) Mean() float64 {
	// What lies at the first point has its size; between two points sizes are spread evenly.
	mean := c.Points[0].Share * c.Points[0].Bytes
	for i := 1; i < len(c.Points); i++ {
		a, b := c.Points[i-1], c.Points[i]
		mean += (b.Share - a.Share) * (a.Bytes + b.Bytes) / 2
	}
	return mean
}

// Size is the size that a share u of flows, 0 <= u < 1, is at most; at least a byte.
func (c *CDF) Size(u float64) units.Bytes {
	low, high := 0, len(c.Points)-1 // the first point with a share of at least u
	for low < high {
		if mid := (low + high) / 2; c.Points[mid].Share >= u {
			high = mid
		} else {
			low = mid + 1
		}
	}
	size := c.Points[low].Bytes
	if low > 0 && c.Points[low].Share > c.Points[low-1].Share {
		a, b := c.Points[low-1], c.Points[low]
		size = a.Bytes + (b.Bytes-a.Bytes)*(u-a.Share)/(b.Share-a.Share)
	}
	return max(1, units.Bytes(math.Round(size)))
}
