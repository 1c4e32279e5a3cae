package packet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/shunt-network/shunt/units"
)

// Limits on captures.
const (
	// MaxRecord is the longest frame that is taken, libpcap's MAXIMUM_SNAPLEN. A file that says more is damaged.
	MaxRecord = 262144
	// maxBlock limits a pcapng block that is held: a frame with its options.
	maxBlock = MaxRecord + 64<<10
	// maxInterfaces limits the interfaces of one section.
	maxInterfaces = 4096
)

// Record is one captured frame. Data holds until the next call of Next.
type Record struct {
	Number int   // from 1, as Wireshark and tcpdump count frames
	Time   int64 // nanoseconds since 1970, where Timed
	Timed  bool
	Length int // on the wire; Data may be shorter
	Data   []byte
	Link   Link
	Speed  units.Rate // of the interface, 0 where the file does not tell (pcapng's if_speed)
}

// Reader reads a capture of either format, one frame at a time in constant memory.
type Reader struct {
	r      *bufio.Reader
	order  binary.ByteOrder
	next   func(*Reader) (Record, error)
	buf    []byte
	number int

	// Of pcap.
	link Link
	nano bool

	// Of pcapng.
	interfaces []captureInterface
	dropped    map[int]uint64
}

// Magics of the two formats: pcap in both byte orders and with micro- or nanoseconds (draft-ietf-opsawg-pcap), and the
// section header of pcapng, which reads the same in both (draft-ietf-opsawg-pcapng).
const (
	magicMicro   = 0xa1b2c3d4
	magicNano    = 0xa1b23c4d
	magicSection = 0x0a0d0d0a
	magicOrder   = 0x1a2b3c4d
)

// IsCapture tells whether a file that begins so is a capture.
func IsCapture(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	le, be := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head)
	for _, m := range []uint32{le, be} {
		if m == magicMicro || m == magicNano || m == magicSection {
			return true
		}
	}
	return false
}

// ErrNotCapture says that a file is neither pcap nor pcapng.
var ErrNotCapture = errors.New("packet: neither pcap nor pcapng")

// NewReader begins to read a capture.
func NewReader(r io.Reader) (*Reader, error) {
	c := &Reader{r: bufio.NewReaderSize(r, 64<<10), dropped: map[int]uint64{}}
	head, err := c.r.Peek(4)
	if err != nil || !IsCapture(head) {
		return nil, ErrNotCapture
	}
	if binary.LittleEndian.Uint32(head) == magicSection {
		c.next = (*Reader).nextBlock
		return c, nil
	}
	c.order = binary.LittleEndian
	if m := binary.BigEndian.Uint32(head); m == magicMicro || m == magicNano {
		c.order = binary.BigEndian
	}
	header := make([]byte, 24)
	if _, err := io.ReadFull(c.r, header); err != nil {
		return nil, fmt.Errorf("packet: header of pcap: %w", cutOff(err))
	}
	c.nano = c.order.Uint32(header) == magicNano
	c.link = Link(c.order.Uint32(header[20:]))
	c.next = (*Reader).nextRecord
	return c, nil
}

// Next reads the next frame. The error is io.EOF at the end, and io.ErrUnexpectedEOF in it where the file is cut off.
func (c *Reader) Next() (Record, error) { return c.next(c) }

// Dropped is how many packets the capturing host says it lost itself (pcapng's interface statistics); holes in a
// capture may then be its own.
func (c *Reader) Dropped() (n uint64) {
	for _, d := range c.dropped {
		n += d
	}
	return n
}

func (c *Reader) nextRecord() (Record, error) {
	var header [16]byte
	b := header[:]
	if _, err := io.ReadFull(c.r, b); err != nil {
		if err == io.EOF {
			return Record{}, io.EOF
		}
		return Record{}, fmt.Errorf("packet: frame %d: %w", c.number+1, cutOff(err))
	}
	kept, length := c.order.Uint32(b[8:]), c.order.Uint32(b[12:])
	if kept > MaxRecord {
		return Record{}, fmt.Errorf("packet: frame %d: %d bytes are more than a frame can have: the file is damaged", c.number+1, kept)
	}
	data, err := c.take(int(kept))
	if err != nil {
		return Record{}, err
	}
	c.number++
	at := int64(c.order.Uint32(b)) * 1e9
	if c.nano {
		at += int64(c.order.Uint32(b[4:]))
	} else {
		at += int64(c.order.Uint32(b[4:])) * 1e3
	}
	return Record{Number: c.number, Time: at, Timed: true, Length: max(int(length&0x7fffffff), len(data)), Data: data, Link: c.link}, nil
}

// take reads n bytes into the buffer.
func (c *Reader) take(n int) ([]byte, error) {
	if cap(c.buf) < n {
		c.buf = make([]byte, max(n, 2048))
	}
	b := c.buf[:n]
	if _, err := io.ReadFull(c.r, b); err != nil {
		return nil, fmt.Errorf("packet: frame %d: %w", c.number+1, cutOff(err))
	}
	return b, nil
}

func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
