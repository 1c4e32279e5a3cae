package workload

import "github.com/shunt-network/shunt/units"

// NCCL's tree all_reduce (src/graph/trees.cc) adds up along a binary tree and hands the sum back down it. A rank
// that is inner in one tree would carry all the load while leaves idle, so there are two trees with half of the
// data each, and a rank that is inner in the one is a leaf in the other. The trees join hosts; the GPUs
// of one host hang in a chain below the one that speaks for it, a different one in each channel.

// trees writes out all channels, two trees each.
func (x *call) trees() {
	for ch := range x.Channels {
		bytes := share(x.Size, x.Channels, ch)
		half := share(bytes, 2, 0)
		for tree := range 2 {
			if tree == 1 {
				half = bytes - half
			}
			if half > 0 {
				x.tree(ch, tree, half)
			}
		}
	}
}

// tree pipelines the chunks of bytes up and down one tree.
func (x *call) tree(ch, which int, bytes units.Bytes) {
	up, order := x.treeOf(ch, which)
	chunks := x.Chunks
	if chunks == 0 {
		chunks = pieces(bytes, stepBytes)
	}
	chunks = min(chunks, int(bytes))
	n := len(up)
	sentUp, sentDown := make([][]OpID, n), make([][]OpID, n) // by rank, the link to its parent: one a chunk
	children := make([][]int, n)
	for r, parent := range up {
		if parent >= 0 {
			children[parent] = append(children[parent], r)
		}
	}
	for chunk := range chunks {
		size, piece := share(bytes, chunks, chunk), (ch*2+which)*chunks+chunk
		for i := range order { // leaves first
			r := order[n-1-i]
			if up[r] < 0 {
				continue
			}
			op := x.send(r, up[r], ch, size, piece, true)
			x.enter(op, r, up[r])
			for _, c := range children[r] {
				x.b.After(op, sentUp[c][chunk])
			}
			x.slot(op, sentUp[r], chunk)
			sentUp[r] = append(sentUp[r], op)
		}
		for _, r := range order { // root first
			if up[r] < 0 {
				if chunk >= chunks-treeSlots { // the root has the sum when its children have sent theirs
					for _, c := range children[r] {
						x.exits[r] = append(x.exits[r], sentUp[c][chunk])
					}
				}
				continue
			}
			op := x.send(up[r], r, ch, size, piece, false)
			if parent := up[r]; up[parent] < 0 {
				for _, c := range children[parent] {
					x.b.After(op, sentUp[c][chunk])
				}
			} else {
				x.b.After(op, sentDown[parent][chunk])
			}
			x.slot(op, sentDown[r], chunk)
			sentDown[r] = append(sentDown[r], op)
			if chunk >= chunks-treeSlots { // the earlier ones have made room for these
				x.exits[r] = append(x.exits[r], op)
			}
		}
	}
}

// slot makes op wait for the buffer slot it needs: the one of the chunk treeSlots before.
func (x *call) slot(op OpID, before []OpID, chunk int) {
	if chunk >= treeSlots {
		x.b.After(op, before[chunk-treeSlots])
	}
}

// treeOf gives every rank its parent, -1 for the root, and the ranks in an order that has parents first.
func (x *call) treeOf(ch, which int) (up, order []int) {
	hosts := byHost(x.f, x.Ranks)
	up = make([]int, len(x.Ranks))
	head := func(h int) int { return hosts[h][ch%len(hosts[h])] }
	depth := make([]int, len(hosts))
	deepest := 0
	for h, host := range hosts {
		parent := treeParent(len(hosts), h, which)
		for at := parent; at >= 0; at = treeParent(len(hosts), at, which) {
			depth[h]++
		}
		deepest = max(deepest, depth[h])
		up[head(h)] = -1
		if parent >= 0 {
			up[head(h)] = head(parent)
		}
		for i := 1; i < len(host); i++ {
			up[host[(ch+i)%len(host)]] = host[(ch+i-1)%len(host)]
		}
	}
	for d := range deepest + 1 {
		for h, host := range hosts {
			if depth[h] == d {
				for i := range host {
					order = append(order, host[(ch+i)%len(host)])
				}
			}
		}
	}
	return up, order
}

// treeParent is the parent of host h among n in tree 0 or 1, -1 for the root. Tree 0 has its root at 0 and above
// every other number the one that differs in its lowest bits: xx01 and xx11 hang below xx10, or xx01 below xx00
// where xx10 is beyond n. Tree 1 is its mirror image for an even n and the same shifted by one for an odd n, so
// that inner numbers become leaves.
func treeParent(n, h, which int) int {
	if which == 1 && n%2 == 0 {
		if p := treeParent(n, n-1-h, 0); p >= 0 {
			return n - 1 - p
		}
		return -1
	}
	if which == 1 {
		if p := treeParent(n, (h-1+n)%n, 0); p >= 0 {
			return (p + 1) % n
		}
		return -1
	}
	if h == 0 {
		return -1
	}
	bit := h & -h
	if p := h ^ bit | bit<<1; p < n {
		return p
	}
	return h ^ bit
}
