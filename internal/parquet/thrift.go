package parquet

import "encoding/binary"

// Types of the Thrift compact protocol (thrift-compact-protocol.md).
const (
	compactI32    = 5
	compactI64    = 6
	compactBinary = 8
	compactList   = 9
	compactStruct = 12
)

// compact writes Thrift structs in the compact protocol. Fields come in the order of their numbers.
type compact struct {
	b    []byte
	last []int // number of the last field, by depth
}

func (c *compact) begin() { c.last = append(c.last, 0) }

// end ends a struct.
func (c *compact) end() {
	c.b = append(c.b, 0)
	c.last = c.last[:len(c.last)-1]
}

// field writes the head of a field: how far its number is from the last one's, and its type.
func (c *compact) field(id, typ int) {
	depth := len(c.last) - 1
	c.b = append(c.b, byte((id-c.last[depth])<<4|typ)) // the numbers here are never more than 15 apart
	c.last[depth] = id
}

func (c *compact) varint(v uint64) { c.b = binary.AppendUvarint(c.b, v) }
func (c *compact) zigzag(v int64)  { c.varint(uint64(v<<1 ^ v>>63)) }

func (c *compact) i32(id int, v int) {
	c.field(id, compactI32)
	c.zigzag(int64(v))
}

func (c *compact) i64(id int, v int64) {
	c.field(id, compactI64)
	c.zigzag(v)
}

func (c *compact) text(id int, s string) {
	c.field(id, compactBinary)
	c.bare(s)
}

// bare is a text inside a list.
func (c *compact) bare(s string) {
	c.varint(uint64(len(s)))
	c.b = append(c.b, s...)
}

func (c *compact) list(id, typ, n int) {
	c.field(id, compactList)
	if n < 15 {
		c.b = append(c.b, byte(n<<4|typ))
		return
	}
	c.b = append(c.b, byte(15<<4|typ))
	c.varint(uint64(n))
}

// open begins a struct inside a field.
func (c *compact) open(id int) {
	c.field(id, compactStruct)
	c.begin()
}
