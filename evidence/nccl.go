package evidence

import "net/netip"

// NCCL is what the collective library and the framework above it said.
type NCCL struct {
	Versions []VersionSeen // every version banner
	// Oldest and Newest bound the version from the forms of the lines, "" for no bound, both included. Newest may
	// have no patch number: "2.28" takes in every 2.28.x.
	Oldest, Newest string
	Env            []EnvVar        // variables, from the log, a command line, env, nccl.conf
	Networks       []NetworkChoice // "Using network ..."
	Devices        []DeviceList    // "NET/IB : Using ..."
	Sockets        []SocketChoice  // Bootstrap and NET/Socket interfaces
	Channels       []ChannelCount  // connections by transport, summed per host
	QPs            []QPSetup       // "NET/IB: ... qpn .. mtu .. GID .."
	GDR            []GDRState      // "GPU Direct RDMA Enabled|Disabled for ..."
	Events         []Event         // warnings and errors, in the order of the files
	Inits          int             // communicators that completed initialisation
	Ranks          int             // largest nranks seen, 0 when never told
	Shape          []ChannelShape  // "N coll channels, ... p2p channels"
	Graph          []GraphPattern  // "Pattern ..., nChannels ..., speed|bw .."
	Work           []WorkState     // PyTorch watchdog: last enqueued, last completed
	RAS            []RASStatus     // NCCL RAS reports
	HasLog         bool            // at least one NCCL log was read
	GIN            []NetworkChoice // "Assigned GIN plugin ...": device-initiated networking
	More           []MoreEvents    // events beyond the limit, counted
	Repeated       int             // set-up lines beyond the limit, not kept

	Tuning     []TuningChoice // algorithm and protocol by size (NCCL_DEBUG_SUBSYS=TUNING)
	CallsSeen  []CallSeen     // calls by size (NCCL_DEBUG_SUBSYS=COLL)
	RASComms   []RASComm      // communicators of RAS reports
	RASReports []RASSummary   // a report each
	RASEvents  []RASEvent     // what RAS told a client that watched

	Diagnostics []Diagnostic // of NCCL's own checks

	Connections     []Connection // ends of connections over the network
	MoreConnections int          // beyond the limit, counted
}

// MoreEvents counts the events of one kind and host that were not kept one by one.
type MoreEvents struct {
	Kind  EventKind
	Host  string
	Count int
}

// VersionSeen is a version banner.
type VersionSeen struct {
	Version string // "2.26.2"
	Host    string
	From    Source
}

// EnvVar is a variable as the process saw it.
type EnvVar struct {
	Name, Value string
	Host        string
	From        Source
}

// Lookup returns the first value seen of a variable.
func (n *NCCL) Lookup(name string) (EnvVar, bool) {
	for _, v := range n.Env {
		if v.Name == name {
			return v, true
		}
	}
	return EnvVar{}, false
}

// NetworkChoice is the network a process settled on: "IB", "Socket", "IBext_v8", "AWS Libfabric".
type NetworkChoice struct {
	Host, Name string
	From       Source
}

// DeviceList is the RDMA ports a process uses.
type DeviceList struct {
	Host    string
	Devices []DeviceUse
	From    Source
}

// DeviceUse is one entry of a DeviceList.
type DeviceUse struct {
	Device string // "mlx5_0", or "mlx5_0+mlx5_1" where NCCL merged ports
	Port   int
	Layer  string // "RoCE" or "IB"
}

// SocketChoice is an interface used for bootstrap or as the data path.
type SocketChoice struct {
	Host      string
	Use       string // "bootstrap", "data", "oob"
	Interface string
	Address   netip.Addr // zero where the line had none
	From      Source
}

// ChannelCount counts the connections of one host by transport.
type ChannelCount struct {
	Host    string
	Via     string // "NET/IB", "NET/Socket", "P2P", "SHM", ...
	GDR     int    // of these, with /GDRDMA
	Total   int
	Example Source
}

// QPSetup is the parameters of one QP as NCCL printed them.
type QPSetup struct {
	Host     string
	Device   int
	MTU      int // bytes, decoded from the verbs enum
	GIDIndex int // -1 on InfiniBand
	GID      netip.Addr
	ECE      bool
	From     Source

	Name       string // RDMA device, "" where the list of devices does not tell it
	LID        int    // on InfiniBand
	ECEOptions string // "0x30000002"; "" where not told
}

// GDRState is a line about GPU Direct RDMA of one device.
type GDRState struct {
	Host, Device string
	Enabled      bool
	Reason       string // "no module"; "" where not told
	From         Source

	Network string // "IB"; "" where the line names none
	GPU     string // "18000", "0[3]"; "" where the line is about the device alone
	HCA     int    // index of the device, -1 where not told
	// Distance between GPU and device and the largest at which GPU Direct RDMA is used, -1 where not told. What
	// a number stands for depends on the version.
	Distance, Limit int
}

// EventKind is what a warning is about.
type EventKind uint8

// Kinds of event.
const (
	OtherWarning       EventKind = iota
	CompletionError              // work completion with a status
	ModifyQPFailed               // a QP could not be moved to RTR or RTS
	AsyncEvent                   // the device reported something about itself
	DeviceOpenFailed             // a verbs device could not be opened
	NoVerbsLibrary               // libibverbs could not be opened
	NoDevice                     // no usable RDMA device
	RegisterFailed               // memory could not be registered
	ShmFailed                    // shared memory could not be extended or created
	ConnectFailed                // a TCP connection failed
	PeerClosed                   // a TCP connection was closed or reset by the peer
	GIDReadFailed                // an entry of the GID table could not be read
	PluginFailed                 // the network plugin found no provider, or could not address a peer
	CollectiveMismatch           // peers disagreed about a size
	WatchdogTimeout              // PyTorch: a collective ran past its timeout
	SharpFailed                  // SHARP refused a port or a tree
	CudaError                    // CUDA reported an error
	ProgramFailed                // a Python program ended with an exception of its own making
	ProcessEnded                 // a launcher said that a process ended by a signal, or by the kernel for want of memory
)

// Event is one warning or error, in words that do not depend on the version that printed it.
type Event struct {
	Kind     EventKind
	Host     string
	Process  int // pid, 0 where not told
	Rank     int // -1 where not told
	Device   string
	Status   int    // verbs work completion status of a CompletionError
	Vendor   int    // vendor syndrome
	Errno    string // "Connection timed out", "Invalid argument", ...
	Peer     string // host, or address, of the other side
	Local    netip.Addr
	Remote   netip.Addr
	Port     int    // TCP port of a ConnectFailed
	What     string // async event text, the function that failed, the SHARP message
	File     string // source file NCCL named, without line: "transport/net_ib.cc", "ib_plugin.c"
	Text     string // the line as printed, without wrapper
	Time     string // timestamp as printed, "" where none
	Seq      int64  // sequence number of a collective in a WatchdogTimeout, else 0
	Sequence int    // order within all inputs
	From     Source

	DevicePort  int  // port of Device, 0 where not told
	GIDIndex    int  // of a ModifyQPFailed
	HasGIDIndex bool // GIDIndex was told
	Fatal       bool // NCCL called an AsyncEvent fatal

	Elements int64 // what the collective of a WatchdogTimeout sends, 0 where not told
}

// ChannelShape is the line that counts channels.
type ChannelShape struct {
	Host                        string
	Collective, P2P, P2PPerPeer int
	From                        Source
}

// GraphPattern is a line of the graph search.
type GraphPattern struct {
	Host              string
	Pattern, Channels int
	Bandwidth         float64 // GB/s inside a node, the first of the pair
	Type              string
	From              Source
	CrossNIC          int
	BandwidthBetween  float64 // GB/s between nodes, the second of the pair
}

// WorkState is what the PyTorch watchdog said of one rank.
type WorkState struct {
	Rank                    int
	Enqueued, Completed, At int64 // At: the sequence number the watchdog stopped at
	From                    Source
}

// RASStatus is the state of one group of communicators in an NCCL RAS report.
type RASStatus struct {
	Status, Errors string // "RUNNING", "OK"
	From           Source
}
