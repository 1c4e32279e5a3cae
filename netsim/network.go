package netsim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/netsim/cc"
	"github.com/shunt-network/shunt/netsim/route"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// ErrMaxEvents ends a run that needs more events than Config.MaxEvents.
var ErrMaxEvents = errors.New("netsim: the run needs more events than its limit")

// Network is one run: a plan being carried out on a fabric. All state lies in flat slices by id and refers to other state by
// index, so that the garbage collector has nothing to follow.
type Network struct {
	now    int64
	ended  int64 // time of the last event
	queue  eventQueue
	pool   pool
	events uint64
	hops   uint64

	// What nearly every event looks at comes first: beyond 4 KiB the compiler checks the pointer to the whole each time.
	left      int // operations that the run waits for
	maxEvents uint64
	todo      []uint32
	todoHead  int

	ports    []port
	egress   []egress  // by class
	ingress  []ingress // by class
	ecn      []ecnCurve
	rngs     []stream // by port
	routes   *route.Table
	switches []swtch
	nics     []nic // by endpoint
	snd      []sender
	rcv      []receiver
	msgs     []message
	freeMsg  uint32

	qpCounters []qpCounters // by QP

	missing   []missing  // by QP; nil unless the transport is place
	flights   []flight   // by QP; nil unless it is irn or uec
	held      []arrivals // by QP
	sacks     []sack     // by packet; nil unless the transport is irn or uec
	notes     []note     // by packet; nil unless congestion control or path choice needs them
	telemetry []cc.Hop   // hopsEach for each packet; nil unless switches write it
	hopsEach  int
	bitmaps   [][]uint64 // given back

	pauses      []pauseState // by class
	cold        []coldPort
	nicCounters []NICCounters // by endpoint
	reordering  []reordering  // by endpoint
	deaf        []uint8       // by port: faults that lose all that leaves it
	ber         []losses      // by port

	// What an event needs of the configuration.
	transport               transport
	lossless, strict        uint8
	ackPriority             uint8
	retryCount              uint8
	ecnPriorities           uint8
	markEnqueue             bool
	trim, trimCoin          bool
	trimPriority            uint8
	split                   bool
	alpha, xoff, xon        int64
	quantum                 [Priorities]int32
	mtu, qps                int
	ackEvery                uint32
	window, rto, nicLatency int64
	cnpPeriod               int64
	lossDistance            uint64
	reach                   int64 // a power of two
	shortRTO, irnHigh       int64 // timeouts; shortRTO is the shortest, 0 for never
	irnFew                  uint64
	lossFactor              int64 // of uec, with 16 fractional bits
	trimSize, queueCap      int64
	quanta                  int64 // bits that a pause lasts; 0: until it is lifted
	pendingSack             sack  // of the acknowledgement being made

	choice    chooser
	control   control
	entropies entropies
	echo      echo
	watchdog  watchdog
	trace     *trace
	context   contextIDs
	deal      dealing
	probe     Probe

	reductions           []reduction
	books                []book   // by switch
	addends              []addend // by packet; nil without reductions
	slots                uint64
	chunk, chunkTimeout  int64
	addRate, convertRate units.Rate
	adding               int // packets that switches are busy with

	faults   []Fault
	returned []bool   // fault i has begun before
	turns    []uint16 // how often fault i has begun or ended
	downs    []uint8  // by port: faults that hold it down
	known    []bool   // by port: the switches know that it is not to be used
	bfd      BFDConfig
	seed     uint64

	f          *fabric.Fabric
	plan       *workload.Plan
	conns      []conn
	opConn     []uint32
	times      []OpTime
	waits      []uint32
	parts      []uint16
	gpuFree    []int64
	nvlinkFree []int64
	addr, qpn  []uint32 // by endpoint
	hopeless   bool     // an operation that the run waits for is on a QP that gave up
	err        error    // ends the run
}

// coldPort is what a port counts rarely.
type coldPort struct {
	drops, dropBytes [DropReasons]uint64
	wireLost         uint64 // bytes lost in flight, part of dropBytes[DropLinkDown]
	crcErrors        uint64
	linkDowns        uint64
	wire             int64 // propagation alone
	line             units.Line
}

// New prepares a run. It fails when the plan names GPUs that the fabric has not, or the configuration cannot be.
func New(f *fabric.Fabric, plan *workload.Plan, c Config) (*Network, error) {
	c = Defaults(c)
	if err := errors.Join(c.Validate(), checkPlan(f, plan), checkFaults(f, c.Faults)); err != nil {
		return nil, err
	}
	routes, err := route.NewTable(f)
	if err != nil {
		return nil, err
	}
	n := &Network{f: f, plan: plan, pool: pool{free: none}, freeMsg: none, routes: routes}
	n.configure(c)
	n.build(c)
	if err := n.buildChoice(c); err != nil {
		return nil, err
	}
	n.buildControl(c)
	if err := errors.Join(n.buildContextIDs(c), n.buildDealing(c.NIC.Deal)); err != nil {
		return nil, err
	}
	if err := n.shareBuffers(c); err != nil {
		return nil, err
	}
	if err := n.buildReductions(c.Switch.Reduction); err != nil {
		return nil, err
	}
	n.connect()
	for i := range plan.Ops {
		if !plan.Ops[i].Background {
			n.left++
		}
		n.times[i] = OpTime{End: units.At(-1)}
		n.waits[i] = plan.Dependencies(workload.OpID(i))
		if n.waits[i] == 0 {
			n.queue.push(newEvent(int64(plan.Ops[i].At), evOp, uint32(i)))
		}
	}
	for i := range n.faults {
		n.queue.push(newEvent(int64(n.faults[i].At), evFault, uint32(i)))
	}
	if n.watchdog.on {
		n.queue.idle++
		n.queue.push(newEvent(n.watchdog.poll, evWatch, 0))
	}
	return n, nil
}

// maxPlanErrors bounds the errors of one plan; the rest would say the same.
const maxPlanErrors = 20

func checkPlan(f *fabric.Fabric, plan *workload.Plan) error {
	var errs []error
	wrong := func(i int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("netsim: operation %d "+format, append([]any{i}, args...)...))
	}
	for i := range plan.Ops {
		op := &plan.Ops[i]
		if len(errs) == maxPlanErrors {
			break
		}
		switch {
		case int(op.Src) >= len(f.GPUs) || op.Kind == workload.Send && int(op.Dst) >= len(f.GPUs):
			wrong(i, "names GPU %d, the fabric has %d", max(op.Src, op.Dst), len(f.GPUs))
		case op.Priority >= Priorities:
			wrong(i, "has priority %d, there are %d", op.Priority, Priorities)
		case op.Bytes < 0 || op.Time < 0 || op.At < 0 || op.Rate < 0:
			wrong(i, "has a negative size, time or rate")
		case op.Kind == workload.Send && (len(f.GPUs[op.Src].NICs) == 0 || len(f.GPUs[op.Dst].NICs) == 0):
			wrong(i, "sends between GPUs %d and %d, of which one has no NIC", op.Src, op.Dst)
		}
	}
	if len(errs) == 0 {
		errs = checkGroups(f, plan)
	}
	return errors.Join(errs...)
}

// checkGroups checks that the members of every reduction group have the same operations.
func checkGroups(f *fabric.Fabric, plan *workload.Plan) []error {
	sizes := make([]map[fabric.GPUID][]units.Bytes, len(plan.Groups))
	for i, g := range plan.Groups {
		if len(g.Members) < 1 || len(g.Members) > 1<<workerBits || g.Channel < 0 || i >= 1<<(32-workerBits) {
			return []error{fmt.Errorf("netsim: reduction group %d of %d: %d members, at most %d can be", i, len(plan.Groups), len(g.Members), 1<<workerBits)}
		}
		sizes[i] = map[fabric.GPUID][]units.Bytes{}
		for _, m := range g.Members {
			if int(m) >= len(f.GPUs) || len(f.GPUs[m].NICs) == 0 {
				return []error{fmt.Errorf("netsim: reduction group %d: GPU %d does not exist or has no NIC", i, m)}
			}
			sizes[i][m] = []units.Bytes{}
		}
	}
	for i := range plan.Ops {
		op := &plan.Ops[i]
		if op.Kind != workload.Reduce {
			continue
		}
		if int(op.Group) >= len(plan.Groups) || sizes[op.Group][op.Src] == nil {
			return []error{fmt.Errorf("netsim: operation %d reduces in group %d, of which GPU %d is no member", i, op.Group, op.Src)}
		}
		sizes[op.Group][op.Src] = append(sizes[op.Group][op.Src], op.Bytes)
	}
	for i, g := range plan.Groups {
		for _, m := range g.Members {
			if !slices.Equal(sizes[i][m], sizes[i][g.Members[0]]) {
				return []error{fmt.Errorf("netsim: reduction group %d: GPUs %d and %d have different operations", i, g.Members[0], m)}
			}
		}
	}
	return nil
}

func checkFaults(f *fabric.Fabric, faults []Fault) error {
	var errs []error
	for i, x := range faults {
		switch {
		case int(x.Port) >= len(f.Ports):
			errs = append(errs, fmt.Errorf("netsim: fault %d names port %d, the fabric has %d", i, x.Port, len(f.Ports)))
		case (x.Kind == SlowReceiver || x.Kind == NICReset) && f.Ports[x.Port].Endpoint < 0:
			errs = append(errs, fmt.Errorf("netsim: fault %d (%s): %s is not the port of a NIC", i, x.Kind, f.PortName(fabric.PortID(x.Port))))
		case x.Kind == SwitchReboot && f.Ports[x.Port].Endpoint >= 0:
			errs = append(errs, fmt.Errorf("netsim: fault %d (%s): %s is not the port of a switch", i, x.Kind, f.PortName(fabric.PortID(x.Port))))
		}
	}
	return errors.Join(errs...)
}

// Forever is a time that no run reaches. RunUntil(Forever) leaves the clock at the last event.
var Forever = units.At(1 << 62)

// RunUntil carries the run on until the plan is done or the clock reaches t, and tells whether it is done:
// every operation that is not background has finished. Splitting a run changes nothing in it.
func (n *Network) RunUntil(t units.Instant) (done bool, err error) {
	limit := t.PS()
	for n.left > 0 {
		e, ok := n.queue.pop(limit)
		if !ok && n.queue.n == n.queue.idle && !n.stalledQuietly() {
			e, ok = n.queue.popIdle(limit)
		}
		if !ok { // what only goes on for ever would never end
			break
		}
		if n.events >= n.maxEvents {
			n.fail(fmt.Errorf("%w (%d) at %v", ErrMaxEvents, n.maxEvents, units.At(n.now)))
			return false, n.err
		}
		n.events++
		n.now, n.ended = e.at, e.at
		n.handle(e)
		if len(n.todo) > 0 {
			n.startReady()
		}
	}
	if n.left == 0 {
		return true, n.err
	}
	if t != Forever {
		n.now = max(n.now, limit)
	}
	return false, nil
}

func (n *Network) handle(e event) {
	switch e.kind() {
	case evArrive:
		n.arrive(e.arg())
	case evSend:
		n.wireFree(e.arg())
	case evPause:
		n.pauseArrives(e.arg(), e.prio(), e.gen())
	case evOp:
		n.todo = append(n.todo, e.arg())
	case evOpEnd:
		n.finish(e.arg())
	case evPost:
		n.post(e.arg())
	case evPace:
		n.paceDue(e.arg())
	case evTimeout:
		n.timeout(e.arg())
	case evDrain:
		n.drained(e.arg(), e.gen())
	case evFault:
		n.begin(e.arg())
	case evHeal:
		n.heal(e.arg())
	case evDetect:
		n.detect(e.arg(), e.gen())
	case evPauseEnd:
		n.pauseEnds(e.arg())
	case evRefresh:
		n.refreshPause(e.arg())
	case evAdd:
		n.added(e.arg(), e.gen())
	case evConverted:
		n.converted(e.arg())
	case evChunkTimeout:
		n.chunkTimedOut(e.arg())
	case evWatch:
		n.watch()
	case evSample:
		n.sampleQualities(e.arg())
	case evReadNIC:
		n.readNIC(e.arg())
	case evLinkState:
		n.readLinks(e.arg(), e.gen() != 0)
	}
}

// Now is how far the run has come: the time that RunUntil was given, or that of the last event when the plan is done.
func (n *Network) Now() units.Instant { return units.At(n.now) }

// Stalled tells that operations are left and nothing is under way that could finish them: every QP they need has given up, or waits
// for ever. It is known only after the last timer has run out.
func (n *Network) Stalled() bool {
	return n.left > 0 && n.queue.n == n.queue.idle && n.stalledQuietly()
}

// stalledQuietly tells whether events that only go on for ever leave everything as it is.
func (n *Network) stalledQuietly() bool { return !n.pauseWillEnd() && !n.watchdogMayAct() }

// Ops returns start and end of every operation; an operation that did not end has End before Start.
func (n *Network) Ops() []OpTime { return n.times }

// OpTime is when an operation ran.
type OpTime struct{ Start, End units.Instant }

// fail ends the run at the next event with the first error.
func (n *Network) fail(err error) {
	if n.err == nil && err != nil {
		n.err = err
		n.maxEvents = 0
	}
}
