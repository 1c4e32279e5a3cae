// Package source owns where the flows of a hash analysis come from: the QPs that a scenario's job would open, the packets of a
// capture, the connections of an NCCL log, the sockets that ss lists, and CSV.
//
// Each says which header fields it knows. What an input does not tell is put in by a rule that is named in the set's notes, and never
// passes for something that was read.
//
// Read scenario.go, capture.go, ncclog.go, sockets.go, csv.go; model.go has the rules.
package source
