// Package goal reads schedules in GOAL (Group Operation Assembly Language), of LogGOPSim and ATLAHS: what each rank
// sends, receives and calculates, and what requires what; as text and in the binary form that txt2bin makes.
//
// What a schedule says in terms of LogGOPS is carried out on a network: sending is over when the message has arrived,
// whatever its size, and the overheads of the model (o, O, g), which are no part of a schedule, are nought.
//
// Read text.go, binary.go, then job.go (a plan).
package goal
