package netsim

import "github.com/shunt-network/shunt/units"

// Priorities is the number of traffic classes of a port (IEEE 802.1Q).
const Priorities = 8

// DropReason is why a packet was lost.
type DropReason uint8

// Reasons for which packets are lost.
const (
	DropBufferFull   DropReason = iota // no shared buffer left for a lossy class
	DropHeadroomFull                   // a lossless class overran its headroom
	DropCorrupt                        // failed its frame check at the receiver of the link
	DropLinkDown                       // was on, or queued for, a link that is down
	DropNoRoute                        // no port leads to the destination
	DropOutOfOrder                     // discarded by a go-back-N receiver
	DropStale                          // arrived for a QP that had given up or a message that was complete
	DropTrimmed                        // lost its payload to a full queue and went on without
	DropWatchdog                       // was in, or for, a queue that the PFC watchdog has taken for stormed
	DropSilent                         // lost by a port that counts no loss
	DropChecksum                       // had a UDP checksum that a middlebox does not let pass
	DropMisread                        // its context id made no sense to the receiver
	DropAmbiguous                      // too far from what was expected for the sequence bits of its context id
	DropReasons
)

var dropNames = [DropReasons]string{
	"buffer full", "headroom full", "corrupt", "link down", "no route", "out of order", "stale", "trimmed",
	"watchdog", "silent", "udp checksum", "context id misread", "context id ambiguous",
}

func (r DropReason) String() string { return dropNames[r] }

// PortCounters is what one port has counted since the start, as a switch or NIC counts it.
type PortCounters struct {
	TxBytes, TxPackets, RxBytes, RxPackets [Priorities]uint64
	ECNMarked                              [Priorities]uint64 // packets marked in this port's egress queue
	PauseRx, PauseTx                       [Priorities]uint64 // pause frames
	PauseRxTime, PauseTxTime               [Priorities]uint64 // picoseconds this port was paused / held its peer paused
	QueueBytes                             [Priorities]uint64 // egress queue now (a gauge)
	QueuePeak                              [Priorities]uint64 // largest egress queue since ResetPeaks
	Storms, StormsOver                     [Priorities]uint64 // PFC storms that the watchdog found, and that ended
	StormDrops                             [Priorities]uint64 // packets that the watchdog dropped
	Drops                                  [DropReasons]uint64
	CRCErrors                              uint64 // corrupt packets received here
	LinkDowns                              uint64
	Rate                                   units.Rate // what leaves the port runs at now, 0 while the link is down (a gauge)
}

// NICCounters is what the RDMA engine behind one NIC port has counted, under the names of the mlx5 hw_counters.
type NICCounters struct {
	OutOfSequence     uint64 // receiver: packets that were not the expected one
	DuplicateRequest  uint64 // receiver: packets it had already
	PacketSeqErr      uint64 // sender: NAKs for a sequence error received
	LocalAckTimeout   uint64 // sender: retransmission timers that fired
	RetryExceeded     uint64 // sender: QPs that gave up
	FlushErrors       uint64 // sender: messages lost with their QP when the NIC was reset (req_cqe_flush_error)
	CNPSent           uint64 // receiver (np_cnp_sent)
	CNPHandled        uint64 // sender (rp_cnp_handled)
	ECNMarkedPackets  uint64 // receiver (np_ecn_marked_roce_packets)
	RxDataBytes       uint64 // RoCE payload received
	TxDataBytes       uint64 // RoCE payload sent, retransmissions included
	TrimmedPackets    uint64 // receiver: packets that came without their payload
	RetransmitPackets uint64 // sent again: only a simulator (and bnxt_re) tells
}
