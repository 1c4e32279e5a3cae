package evidence

// Connection is one end of a network connection between two ranks, as NCCL logs it when it opens it.
type Connection struct {
	Host     string // that logged it: the sender's where Send, else the receiver's
	Src, Dst int    // ranks of the communicator; logs do not say which communicator
	Channel  int
	Index    int // of several connections of a channel (NCCL's connIndex), 0 where not told
	Send     bool
	Via      string // "NET/IB", "NET/Socket", "NET/AWS Libfabric"
	Device   int    // NCCL's number of the network device, -1 where not told
	From     Source
}
