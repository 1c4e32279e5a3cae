package workload

// allToAll has every rank send each other rank its part of the buffer straight away. In round d rank i sends to i+d and
// receives from i-d, as NCCL schedules the sends and receives of a group, so that no two ranks begin with the same
// receiver. With InFlight set, a rank enters a round when its round InFlight before is over, both ways.
func (x *call) allToAll() {
	n := len(x.Ranks)
	over := make([][][]OpID, n) // round -> rank -> what it sends and receives in that round
	for d := 1; d < n; d++ {
		over[d] = make([][]OpID, n)
		for i := range n {
			j := (i + d) % n
			bytes := share(x.Size, n, j)
			for ch := range x.Channels {
				op := x.send(i, j, ch/x.f.Planes, share(bytes, x.Channels, ch), (i*n+j)*x.Channels+ch, false)
				over[d][i], over[d][j] = append(over[d][i], op), append(over[d][j], op)
				if e := d - x.InFlight; x.InFlight > 0 && e >= 1 {
					x.b.afterAll(op, over[e][i])
					x.b.afterAll(op, over[e][j])
				} else {
					x.enter(op, i, j)
				}
			}
		}
	}
	first := 1
	if x.InFlight > 0 {
		first = max(1, n-x.InFlight) // the rounds before are over before these begin
	}
	for d := first; d < n; d++ {
		for i := range n {
			x.exits[i] = append(x.exits[i], over[d][i]...)
		}
	}
}
