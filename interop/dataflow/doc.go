// Package dataflow owns programs of ranks: what each rank computes, sends, receives and takes part in, and what waits
// for what. It turns them into a plan, whose operations may wait only for earlier ones and know no receiving: messages
// find the receive they belong to, and what can never begin is told.
//
// Read graph.go (a program), match.go (messages and receives), plan.go (operations).
package dataflow
