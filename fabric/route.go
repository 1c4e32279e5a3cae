package fabric

// routes holds, for each switch and destination, the equal-cost egress ports. All endpoints below one leaf are
// reached alike until that leaf, so the table has a column for each leaf, not for each endpoint: 8192 hosts of 8
// GPUs would otherwise need most of a gigabyte. Most entries are the same set of ports, so each distinct set is stored
// once and the table holds its number.
type routes struct {
	row     []int32  // node -> its row of table, -1 for a host
	column  []int32  // endpoint -> column of its leaf
	leaf    []NodeID // endpoint -> its leaf
	last    []uint32 // endpoint -> set that holds the one port of its leaf that leads to it
	columns int
	table   []uint32 // row*columns + column -> set
	sets    [][]PortID
}

// NextHops lists the equal-cost ports through which switch sw reaches endpoint ep, in port order. It is
// empty where there is no path. The slice is shared: do not change it.
func (f *Fabric) NextHops(sw NodeID, ep int32) []PortID {
	return f.routes.sets[f.NextHopSet(sw, ep)]
}

// NextHopSet is the dense number of the set that NextHops returns, so that a caller may keep state by set.
func (f *Fabric) NextHopSet(sw NodeID, ep int32) uint32 {
	r := &f.routes
	if r.leaf[ep] == sw {
		return r.last[ep]
	}
	return r.table[int(r.row[sw])*r.columns+int(r.column[ep])]
}

// Sets lists every distinct next-hop set; NextHopSet indexes it.
func (f *Fabric) Sets() [][]PortID { return f.routes.sets }

// newRoutes runs one breadth-first search from each leaf that has endpoints: leaves x ports steps.
func newRoutes(f *Fabric) routes {
	r := routes{
		row: make([]int32, len(f.Nodes)), column: make([]int32, len(f.Endpoints)),
		leaf: make([]NodeID, len(f.Endpoints)), last: make([]uint32, len(f.Endpoints)),
		sets: [][]PortID{nil}, // set 0: no path
	}
	s := search{f: f, rows: &r, known: map[string]uint32{"": 0}, dist: make([]int32, len(f.Nodes)), peer: make([]NodeID, len(f.Ports))}
	for i := range f.Ports {
		s.peer[i] = f.Ports[f.Ports[i].Peer].Node
	}
	rows := 0
	for i := range f.Nodes {
		r.row[i] = -1
		if f.Nodes[i].Role != Host {
			r.row[i] = int32(rows)
			rows++
		}
	}
	columnOf := make([]int32, len(f.Nodes)) // leaf -> its column + 1
	var leaves []NodeID
	for ep, nic := range f.Endpoints {
		port := f.Ports[nic].Peer
		leaf := f.Ports[port].Node
		if columnOf[leaf] == 0 {
			leaves = append(leaves, leaf)
			columnOf[leaf] = int32(len(leaves))
		}
		r.leaf[ep], r.column[ep] = leaf, columnOf[leaf]-1
		r.last[ep] = s.intern([]PortID{port})
	}
	r.columns = len(leaves)
	r.table = make([]uint32, rows*r.columns)
	for column, leaf := range leaves {
		s.to(leaf, column)
	}
	return r
}

// search is the scratch memory of newRoutes.
type search struct {
	f     *Fabric
	rows  *routes
	known map[string]uint32 // ports as bytes -> set
	key   []byte
	ports []PortID
	dist  []int32
	queue []NodeID
	peer  []NodeID // node at the other end of each port
}

// intern is the number of the set of ports, which is added when it is new.
func (s *search) intern(ports []PortID) uint32 {
	s.key = s.key[:0]
	for _, p := range ports {
		s.key = append(s.key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	if id, ok := s.known[string(s.key)]; ok {
		return id
	}
	id := uint32(len(s.rows.sets))
	s.known[string(s.key)] = id
	s.rows.sets = append(s.rows.sets, append([]PortID(nil), ports...))
	return id
}

// to fills the column of leaf: for every switch, the ports on a shortest path to it.
func (s *search) to(leaf NodeID, column int) {
	const unreached = int32(1) << 30
	nodes := s.f.Nodes
	for i := range s.dist {
		s.dist[i] = unreached
	}
	s.dist[leaf] = 0
	s.queue = append(s.queue[:0], leaf)
	for head := 0; head < len(s.queue); head++ {
		n := s.queue[head]
		first := nodes[n].FirstPort
		for _, peer := range s.peer[first : first+PortID(nodes[n].NumPorts)] {
			if s.dist[peer] == unreached && nodes[peer].Role != Host { // (F3)
				s.dist[peer] = s.dist[n] + 1
				s.queue = append(s.queue, peer)
			}
		}
	}
	for _, n := range s.queue[1:] {
		s.ports = s.ports[:0]
		for i := range nodes[n].NumPorts {
			p := nodes[n].FirstPort + PortID(i)
			if s.dist[s.peer[p]] == s.dist[n]-1 {
				s.ports = append(s.ports, p)
			}
		}
		s.rows.table[int(s.rows.row[n])*s.rows.columns+column] = s.intern(s.ports)
	}
}

// Paths lists the shortest paths from NIC port src to NIC port dst, each as the egress ports crossed
// (src first), at most limit of them. The second result is false when there are more.
func (f *Fabric) Paths(src, dst PortID, limit int) ([][]PortID, bool) {
	ep := f.Ports[dst].Endpoint
	var out [][]PortID
	complete := true
	var walk func(path []PortID)
	walk = func(path []PortID) {
		at := f.Ports[path[len(path)-1]].Peer
		if at == dst {
			if len(out) == limit {
				complete = false
				return
			}
			out = append(out, append([]PortID(nil), path...))
			return
		}
		if f.Node(at).Role == Host {
			return
		}
		for _, p := range f.NextHops(f.Ports[at].Node, ep) {
			if !complete {
				return
			}
			walk(append(path, p))
		}
	}
	if src != dst {
		walk([]PortID{src})
	}
	return out, complete
}
