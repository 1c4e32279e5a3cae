package workload

// sendRecv has every rank send its buffer to the next rank and receive that of the one before, as the sendrecv
// test of nccl-tests does. The call is over on a rank when both are.
func (x *call) sendRecv() {
	n := len(x.Ranks)
	for i := range n {
		j := (i + 1) % n
		for ch := range x.Channels {
			op := x.send(i, j, ch/x.f.Planes, share(x.Size, x.Channels, ch), i*x.Channels+ch, false)
			x.enter(op, i, j)
			x.exits[i] = append(x.exits[i], op)
			x.exits[j] = append(x.exits[j], op)
		}
	}
}
