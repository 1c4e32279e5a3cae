// Package route owns which way a packet goes: the hash over its headers and, at every switch, the ports that lead to its
// destination while links fail and come back.
//
// It knows the fabric and nothing of queues or time. Read hash.go (what tells flows apart), table.go (next hops).
package route
