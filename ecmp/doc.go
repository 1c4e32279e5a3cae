// Package ecmp owns the question whether a hash deals flows evenly over equal-cost paths: how full its buckets are,
// what the fullest link carries, whether a second tier that hashes alike leaves paths idle, whether any of that is more than
// chance, and which other fields, seed, polynomial or number of QPs would do better on flows that were not looked at.
//
// A hash is a fixed function of a packet's headers, so that what it does to a given set of flows can be worked out
// without a network. What a perfect hash would do is the yardstick throughout: it too leaves buckets empty and puts several
// flows on one link. The hash units are those of package spray; where flows come from is the business of ecmp/source.
//
// Read flow.go and fields.go (what is hashed), unit.go (how), occupancy.go with chance.go (buckets), links.go (paths),
// tiers.go (polarisation), network.go (a whole fabric), redraw.go and propose.go (what would be better, and the proof), then
// report.go, which does all of it, and conclude.go.
package ecmp
