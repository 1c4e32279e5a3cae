package fabric

// routes holds, for each switch and destination endpoint, the equal-cost egress ports. Most entries are
// the same, so each distinct set is stored once and the table holds its number.
type routes struct {
	row   []int32  // node -> its row of table, -1 for a host
	table []uint32 // row*len(Endpoints) + endpoint -> set
	sets  [][]PortID
}

// NextHops lists the equal-cost ports through which switch sw reaches endpoint ep, in port order. It is
// empty where there is no path. The slice is shared: do not change it.
func (f *Fabric) NextHops(sw NodeID, ep int32) []PortID {
	return f.routes.sets[f.NextHopSet(sw, ep)]
}

// NextHopSet is the dense number of the set that NextHops returns, so that a caller may keep state by set.
func (f *Fabric) NextHopSet(sw NodeID, ep int32) uint32 {
	return f.routes.table[int(f.routes.row[sw])*len(f.Endpoints)+int(ep)]
}

// Sets lists every distinct next-hop set; NextHopSet indexes it.
func (f *Fabric) Sets() [][]PortID { return f.routes.sets }

// newRoutes runs one breadth-first search from each endpoint. Switches under the same leaf share the result,
// so the cost is leaves x ports, not endpoints x ports.
func newRoutes(f *Fabric) routes {
	r := routes{row: make([]int32, len(f.Nodes))}
	rows := 0
	for i := range f.Nodes {
		r.row[i] = -1
		if f.Nodes[i].Role != Host {
			r.row[i] = int32(rows)
			rows++
		}
	}
	r.table = make([]uint32, rows*len(f.Endpoints))
	r.sets = [][]PortID{nil} // set 0: no path
	known := map[string]uint32{"": 0}
	intern := func(ports []PortID) uint32 {
		key := make([]byte, 0, 4*len(ports))
		for _, p := range ports {
			key = append(key, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
		}
		if id, ok := known[string(key)]; ok {
			return id
		}
		id := uint32(len(r.sets))
		known[string(key)] = id
		r.sets = append(r.sets, append([]PortID(nil), ports...))
		return id
	}
	byLeaf := map[NodeID][]uint32{} // leaf -> set of every row, valid for all endpoints below the leaf
	for ep, nic := range f.Endpoints {
		leafPort := f.Ports[nic].Peer
		leaf := f.Ports[leafPort].Node
		column, ok := byLeaf[leaf]
		if !ok {
			column = f.columnTo(leaf, &r, rows, intern)
			byLeaf[leaf] = column
		}
		for row, set := range column {
			r.table[row*len(f.Endpoints)+ep] = set
		}
		r.table[int(r.row[leaf])*len(f.Endpoints)+ep] = intern([]PortID{leafPort})
	}
	return r
}

// columnTo finds, for every switch, the ports on a shortest path to leaf.
func (f *Fabric) columnTo(leaf NodeID, r *routes, rows int, intern func([]PortID) uint32) []uint32 {
	const unreached = int32(1) << 30
	dist := make([]int32, len(f.Nodes))
	for i := range dist {
		dist[i] = unreached
	}
	dist[leaf] = 0
	queue := []NodeID{leaf}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		node := &f.Nodes[n]
		for i := range node.NumPorts {
			peer := f.Ports[f.Ports[node.FirstPort+PortID(i)].Peer].Node
			if f.Nodes[peer].Role != Host && dist[peer] == unreached { // hosts do not forward
				dist[peer] = dist[n] + 1
				queue = append(queue, peer)
			}
		}
	}
	column := make([]uint32, rows)
	var ports []PortID
	for n := range f.Nodes {
		if r.row[n] < 0 || NodeID(n) == leaf || dist[n] == unreached {
			continue
		}
		ports = ports[:0]
		node := &f.Nodes[n]
		for i := range node.NumPorts {
			p := node.FirstPort + PortID(i)
			peer := f.Ports[f.Ports[p].Peer].Node
			if f.Nodes[peer].Role != Host && dist[peer] == dist[n]-1 {
				ports = append(ports, p)
			}
		}
		column[r.row[n]] = intern(ports)
	}
	return column
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
