package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// Numbers of the format (parquet.thrift).
const (
	encodingPlain      = 0
	encodingRLE        = 3
	encodingDictionary = 8
	codecGzip          = 2
	pageData           = 0
	pageDictionary     = 2
)

// chunk is the rows of one column of a row group. Values are kept as numbers of distinct ones; there is no row without an entry.
type chunk struct {
	col      Column
	null     []bool // by row, of an optional column
	codes    []uint32
	distinct map[value]uint32 // only looked up, never iterated
	order    []value
}

// value is any value, comparable: numbers by their bits, so that a NaN is one value too.
type value struct {
	bits uint64
	text string
}

func (c *chunk) reset() {
	c.null, c.codes, c.order = c.null[:0], c.codes[:0], c.order[:0]
	clear(c.distinct)
}

func (c *chunk) add(v value) {
	code, ok := c.distinct[v]
	if !ok {
		code = uint32(len(c.order))
		c.distinct[v] = code
		c.order = append(c.order, v)
	}
	c.codes = append(c.codes, code)
	if c.col.Optional {
		c.null = append(c.null, false)
	}
}

// written is where a chunk lies and what its pages are, for the footer.
type written struct {
	dictionary, data         int64 // offsets; dictionary is -1 where there is none
	values                   int
	uncompressed, compressed int64
	encodings                []int
}

// plain appends a value in its plain form: little endian, text with its length before it.
func (c *chunk) plain(b []byte, v value) []byte {
	switch c.col.Kind {
	case Int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.bits))
	case Text:
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(v.text))), v.text...)
	}
	return binary.LittleEndian.AppendUint64(b, v.bits)
}

// pages writes the chunk at an offset of the file.
func (c *chunk) pages(out *bytes.Buffer, offset int64) (written, error) {
	w := written{dictionary: -1, values: max(len(c.null), len(c.codes)), encodings: []int{encodingRLE}}
	start := out.Len()
	var page []byte
	if c.col.Optional {
		levels := make([]uint32, len(c.null))
		for i, null := range c.null {
			if !null {
				levels[i] = 1
			}
		}
		coded := hybrid(nil, levels, 1)
		page = append(binary.LittleEndian.AppendUint32(page, uint32(len(coded))), coded...)
	}
	encoding := encodingPlain
	switch {
	case c.col.Kind == Bool:
		page = c.packedBits(page)
	case len(c.order) <= len(c.codes)/2: // a dictionary pays when values come back
		encoding = encodingDictionary
		var dictionary []byte
		for _, v := range c.order {
			dictionary = c.plain(dictionary, v)
		}
		w.dictionary = offset
		if err := c.page(out, &w, dictionary, func(t *compact) {
			t.open(7)
			t.i32(1, len(c.order))
			t.i32(2, encodingPlain)
			t.end()
		}, pageDictionary); err != nil {
			return w, err
		}
		width := bits.Len32(uint32(max(len(c.order)-1, 0)))
		page = hybrid(append(page, byte(width)), c.codes, width)
	default:
		for _, code := range c.codes {
			page = c.plain(page, c.order[code])
		}
	}
	w.encodings = append(w.encodings, encoding)
	if encoding != encodingPlain {
		w.encodings = append(w.encodings, encodingPlain) // of the dictionary
	}
	w.data = offset + int64(out.Len()-start)
	err := c.page(out, &w, page, func(t *compact) {
		t.open(5)
		t.i32(1, w.values)
		t.i32(2, encoding)
		t.i32(3, encodingRLE)
		t.i32(4, encodingRLE)
		t.end()
	}, pageData)
	return w, err
}

func (c *chunk) packedBits(page []byte) []byte {
	values := make([]uint32, len(c.codes))
	for i, code := range c.codes {
		values[i] = uint32(c.order[code].bits)
	}
	return pack(page, values, 1, len(values))
}

// page writes a header and the compressed body.
func (c *chunk) page(out *bytes.Buffer, w *written, body []byte, head func(t *compact), kind int) error {
	if len(body) > math.MaxInt32 {
		return fmt.Errorf("parquet: a page of %s has %d bytes, more than the format can say", c.col.Name, len(body))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(body) // a buffer takes everything
	z.Close()
	t := &compact{}
	t.begin()
	t.i32(1, kind)
	t.i32(2, len(body))
	t.i32(3, packed.Len())
	head(t)
	t.end()
	out.Write(t.b)
	out.Write(packed.Bytes())
	w.uncompressed += int64(len(t.b) + len(body))
	w.compressed += int64(len(t.b) + packed.Len())
	return nil
}
