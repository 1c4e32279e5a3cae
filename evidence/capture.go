package evidence

import (
	"net/netip"
	"strconv"

	"github.com/shunt-network/shunt/units"
)

// Capture is what a file of captured packets shows of RoCE. A capture sees what passed one place: what was lost before
// it is a hole, what was lost behind it is not missing, and under packet spraying every place has holes by design.
// Lines of its sources are the numbers of frames.
type Capture struct {
	From    Source
	Frames  int
	Span    units.Duration // from the first frame to the last
	RoCE    int            // frames that carry it, or InfiniBand
	Cut     int            // of these, such as are cut off: their ICRC is not known
	Dropped uint64         // packets the capturing host says it lost itself
	Streams []Stream
	Pauses  []Pauses
	Past    int // frames of streams past the limit
}

// End is one end of a stream: its address, and the host where it is known.
type End struct {
	Address netip.Addr
	Host    string
	LID     int // of a port of InfiniBand without an address, else 0
}

func (e End) String() string {
	if e.Host != "" {
		return e.Host
	}
	if e.LID > 0 {
		return "LID " + strconv.Itoa(e.LID)
	}
	return e.Address.String()
}

// Stream is the packets to one queue pair from one address.
type Stream struct {
	Src, Dst  End
	QP        uint32 // at Dst
	V1        bool   // RoCE v1, which no router passes
	Native    bool   // InfiniBand, which has neither classes nor marks of IP
	Tunnel    bool   // inside VXLAN
	Transport string // "RC", "UC", "UD", "XRC", "RD"; "" where only notifications were seen
	From      Source // the first frame

	Packets  int
	Bytes    units.Bytes // on the wire
	Requests int
	Answers  int
	MTU      int     // the longest payload, bytes
	Ports    int     // UDP source ports that were seen
	Classes  []Class // by packets, most first; congestion notifications not counted

	Capable int // packets that may be marked (ECT)
	Marked  Tally
	Notices Tally // congestion notifications (CNP) of Src to Dst

	Checked   int   // packets whose ICRC could be computed
	Corrupt   Tally // of these, such as have a wrong one
	Checksums Tally // packets with a UDP checksum

	Holes      Tally // times a sequence number was skipped
	Missing    int   // sequence numbers that were never seen
	OutOfOrder Tally // packets that came behind later ones
	Again      Tally // packets that were seen before
	Refusals   []Refusal

	// Sequence refusals of Dst for this stream: of packets this place did not see either, and of such as it saw.
	LostBefore, LostBehind Tally
}

// Tally is a number of frames, and the first of them.
type Tally struct {
	Count int
	At    Source
}

// Class is a code point and a priority that packets of a stream had.
type Class struct {
	DSCP     int
	Priority int // of the VLAN tag, -1 without one
	Tally
}

// Refusal is a NAK of Src to Dst.
type Refusal struct {
	Kind RefusalKind
	Tally
}

// RefusalKind says why a responder refused.
type RefusalKind string

// Kinds of refusals (InfiniBand table 45).
const (
	RefusedSequence  RefusalKind = "sequence error"
	RefusedInvalid   RefusalKind = "invalid request"
	RefusedAccess    RefusalKind = "remote access error"
	RefusedOperation RefusalKind = "remote operation error"
	RefusedNotReady  RefusalKind = "receiver not ready"
)

// Refused is how often Src refused for that reason.
func (s *Stream) Refused(k RefusalKind) Tally {
	for _, r := range s.Refusals {
		if r.Kind == k {
			return r.Tally
		}
	}
	return Tally{}
}

// Pauses are the pauses one address sent for one priority.
type Pauses struct {
	Sender   string // hardware address
	Priority int    // -1 for 802.3x, which pauses all
	Frames   Tally  // that pause
	Resumes  int    // frames that let go
	Quanta   uint64 // the sum of what was asked for, each 512 bits long
	// Held is how long the link was held, Longest the longest time without a break. Where the capture does not tell the
	// speed of the link, Exact is false, these are what they are at most, and the others what they are at least.
	Held, Longest           units.Duration
	HeldLeast, LongestLeast units.Duration
	Exact                   bool
}
