package evidence

// PairCount is what the queue pairs from one NIC port to another met. rdma statistic qp show has the counters of a queue pair
// where its counters are bound (rdma statistic qp set link DEV/PORT auto type on), rdma resource show qp its number at both
// ends, and the library's log whose number that is.
type PairCount struct {
	Host, Device         string
	PeerHost, PeerDevice string
	QPs                  int
	Sent                 Value[int64] // packets
	Timeouts             Value[int64] // local_ack_timeout_err
	SeqErrors            Value[int64] // packet_seq_err
	Broken               Value[int]   // queue pairs that gave up and are in the error state
	From                 Source
}
