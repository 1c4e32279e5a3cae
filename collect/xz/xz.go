// Package xz takes the xz compression off a file: sos packs its reports as .tar.xz, and kernels and logs come so too.
//
// It reads what the format has (The .xz File Format 1.2.1, tukaani.org/xz/xz-file-format.txt): streams one behind
// another, blocks, all sizes and sums checked. Of the filters it knows LZMA2 alone; the others are for programs, and xz
// uses them when told to. Memory grows with what was unpacked, not with what the file asks for, and ends at MaxWindow.
package xz

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
)

// Magic is what a file begins with (2.1.1.1).
const Magic = "\xfd7zXZ\x00"

// ErrDamaged is wrapped by all errors about a file that does not follow the format.
var ErrDamaged = errors.New("not as the xz format says")

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }

// cut is the error for a file that ends early.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Reader gives what is in a file.
type Reader struct {
	in  counted
	err error

	check   byte // kind of sum behind each block
	sum     hash.Hash
	lzma    lzma2
	inBlock bool
	sizes   sizes // of the block in hand, as its head told
	blocks  int
	index   uint64 // sum over the sizes of all blocks, to compare with the index
	out     int64
	start   int64
}

// sizes of a block as its head tells them, -1 where it does not.
type sizes struct{ head, packed, plain int64 }

// counted counts what was read of the file.
type counted struct {
	*bufio.Reader
	n int64
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func (c *counted) full(p []byte) error {
	_, err := c.fill(p)
	return err
}

func (c *counted) fill(p []byte) (int, error) {
	n, err := io.ReadFull(c.Reader, p)
	c.n += int64(n)
	return n, cut(err)
}

// NewReader reads the head of a file.
func NewReader(r io.Reader) (*Reader, error) {
	z := &Reader{in: counted{Reader: bufio.NewReader(r)}}
	return z, z.streamHead()
}

// Read unpacks.
func (z *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if n := z.lzma.take(p); n > 0 {
			z.out += int64(n)
			z.sum.Write(p[:n])
			return n, nil
		}
		if z.err != nil {
			return 0, z.err
		}
		z.err = z.next()
	}
}

// next reads a chunk of the block, or what stands around blocks.
func (z *Reader) next() error {
	if !z.inBlock {
		return z.between()
	}
	more, err := z.lzma.chunk(&z.in)
	if err != nil || more {
		return err
	}
	z.inBlock = false
	return z.blockEnd()
}

// streamHead reads the 12 bytes at the start of a stream (2.1.1).
func (z *Reader) streamHead() error {
	var head [12]byte
	if err := z.in.full(head[:]); err != nil {
		return err
	}
	switch {
	case string(head[:6]) != Magic:
		return damaged("no stream begins here")
	case crc32.ChecksumIEEE(head[6:8]) != binary.LittleEndian.Uint32(head[8:]):
		return damaged("sum of the stream's head")
	case head[6] != 0 || head[7] > 15:
		return damaged("unknown flags of a stream")
	}
	z.check, z.blocks, z.index = head[7], 0, 0
	switch z.check {
	case 1:
		z.sum = crc32.NewIEEE()
	case 4:
		z.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		z.sum = sha256.New()
	default: // none, or one that the format leaves open: it is passed over
		z.sum = unchecked{}
	}
	return nil
}

// unchecked stands for a sum that is not made.
type unchecked struct{ hash.Hash }

func (unchecked) Write(p []byte) (int, error) { return len(p), nil }
func (unchecked) Reset()                      {}

// checkSize is the length of each kind of sum (2.1.1.2).
var checkSize = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// between reads the head of a block, or the end of the stream and what follows it.
func (z *Reader) between() error {
	start := z.in.n
	size, err := z.in.ReadByte()
	if err != nil {
		return cut(err)
	}
	if size == 0 {
		if err := z.streamEnd(start); err != nil {
			return err
		}
		return z.another()
	}
	return z.blockHead(int(size), start)
}

// blockHead reads what a block is packed with (3.1).
func (z *Reader) blockHead(size int, start int64) error {
	var buf [1024]byte
	head := buf[:(size+1)*4]
	head[0] = byte(size)
	if err := z.in.full(head[1:]); err != nil {
		return err
	}
	sumAt := len(head) - 4
	if crc32.ChecksumIEEE(head[:sumAt]) != binary.LittleEndian.Uint32(head[sumAt:]) {
		return damaged("sum of a block's head")
	}
	flags, rest := head[1], bytes.NewReader(head[2:sumAt])
	const manyFilters, reserved, hasPacked, hasPlain = 0x03, 0x3c, 0x40, 0x80
	if flags&reserved != 0 {
		return damaged("unknown flags of a block")
	}
	z.sizes = sizes{head: int64(len(head)), packed: -1, plain: -1}
	var err error
	if flags&hasPacked != 0 {
		z.sizes.packed, err = number(rest)
	}
	if flags&hasPlain != 0 && err == nil {
		z.sizes.plain, err = number(rest)
	}
	if err != nil {
		return err
	}
	id, err := number(rest)
	if err != nil {
		return err
	}
	if id != 0x21 || flags&manyFilters != 0 {
		return errors.New("an xz file that is packed with more than LZMA2: unpack it first")
	}
	if n, err := number(rest); err != nil || n != 1 {
		return damaged("properties of LZMA2")
	}
	dict, err := rest.ReadByte()
	if err != nil || dict > 40 { // 5.3.1
		return damaged("dictionary of LZMA2")
	}
	z.lzma.begin()
	z.sum.Reset()
	z.inBlock, z.out, z.start = true, 0, start
	return nil
}

// number reads an integer of 7 bits a byte (1.2).
func number(r io.ByteReader) (int64, error) {
	var n int64
	for shift := 0; shift < 63; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, damaged("a number is cut off")
		}
		if b == 0 && shift > 0 {
			return 0, damaged("a number has more bytes than it needs")
		}
		n |= int64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, damaged("a number is too large")
}

// blockEnd checks what stands behind the data of a block (3.3, 3.4).
func (z *Reader) blockEnd() error {
	packed := z.in.n - z.start - z.sizes.head
	if z.sizes.packed >= 0 && z.sizes.packed != packed || z.sizes.plain >= 0 && z.sizes.plain != z.out {
		return damaged("a block is not as long as its head says")
	}
	unpadded := z.sizes.head + packed + int64(checkSize[z.check])
	if err := z.padding(); err != nil {
		return err
	}
	var buf [64]byte
	sum := buf[:checkSize[z.check]]
	if err := z.in.full(sum); err != nil {
		return err
	}
	good := true
	switch z.check {
	case 1:
		good = binary.LittleEndian.Uint32(sum) == z.sum.(hash.Hash32).Sum32()
	case 4:
		good = binary.LittleEndian.Uint64(sum) == z.sum.(hash.Hash64).Sum64()
	case 10:
		good = bytes.Equal(sum, z.sum.Sum(nil))
	}
	if !good {
		return damaged("sum of a block")
	}
	z.blocks++
	z.index = mixed(z.index, unpadded, z.out)
	return nil
}

// mixed adds the two sizes of a block to a number that stands for all of them, in their order.
func mixed(all uint64, unpadded, plain int64) uint64 {
	for _, n := range []int64{unpadded, plain} {
		all = (all ^ uint64(n)) * 0x100000001b3 // the prime of FNV-1
	}
	return all
}

// padding passes over the zeros that fill up four bytes. All that comes before counts from a multiple of four.
func (z *Reader) padding() error {
	for z.in.n%4 != 0 {
		b, err := z.in.ReadByte()
		if err != nil {
			return cut(err)
		}
		if b != 0 {
			return damaged("padding is not zero")
		}
	}
	return nil
}

// streamEnd reads the index and the foot of a stream (4, 2.1.2).
func (z *Reader) streamEnd(start int64) error {
	sum := crc32.NewIEEE()
	sum.Write([]byte{0})
	in := &summed{&z.in, sum}
	records, err := number(in)
	if err != nil {
		return err
	}
	if records != int64(z.blocks) {
		return damaged("the index has another number of blocks")
	}
	var all uint64
	for range records {
		unpadded, err := number(in)
		if err != nil {
			return err
		}
		plain, err := number(in)
		if err != nil {
			return err
		}
		all = mixed(all, unpadded, plain)
	}
	if all != z.index {
		return damaged("the index has other sizes")
	}
	for z.in.n%4 != 0 {
		if b, err := in.ReadByte(); err != nil || b != 0 {
			return damaged("padding of the index")
		}
	}
	var foot [16]byte // the sum of the index, and the foot
	if err := z.in.full(foot[:]); err != nil {
		return err
	}
	size := z.in.n - 12 - start
	switch {
	case binary.LittleEndian.Uint32(foot[:]) != sum.Sum32():
		return damaged("sum of the index")
	case binary.LittleEndian.Uint32(foot[4:]) != crc32.ChecksumIEEE(foot[8:14]):
		return damaged("sum of the stream's foot")
	case (int64(binary.LittleEndian.Uint32(foot[8:]))+1)*4 != size, foot[12] != 0, foot[13] != z.check, string(foot[14:]) != "YZ":
		return damaged("foot of the stream")
	}
	return nil
}

// summed adds up the bytes that are read.
type summed struct {
	*counted
	sum hash.Hash32
}

func (s *summed) ReadByte() (byte, error) {
	b, err := s.counted.ReadByte()
	if err == nil {
		s.sum.Write([]byte{b})
	}
	return b, err
}

// another finds the stream behind one that ended, past fours of zeros (2.2); io.EOF where there is none.
func (z *Reader) another() error {
	for {
		four, err := z.in.Peek(4)
		switch {
		case len(four) == 0:
			return err
		case len(four) < 4:
			return damaged("bytes behind the last stream")
		case string(four) == Magic[:4]:
			return z.streamHead()
		case !bytes.Equal(four, make([]byte, 4)):
			return damaged("bytes behind the last stream")
		}
		z.in.Discard(4)
		z.in.n += 4
	}
}
