// Package validation owns the comparison of the simulator with what is known from elsewhere. It has only tests:
//
//	go test ./validation -v -run Ladder     prints every number next to the one it is held against
//	go test ./validation -update            writes the same table to RESULTS.md
//
// The ladder has three tiers. Tier 1 are closed forms; the derivation stands above the number. Tier 2 are curves that others
// published, of which the shape and the order are compared. Tier 3 are completion times that other simulators gave for the
// same workload (testdata/peers.csv). A fourth group, claims, repeats what practitioners report and says whether it holds.
//
// A row passes when the number lies in the stated range. What is known not to, is in DEVIATIONS.md under a number of its own,
// and the row asserts that it still does not: whoever closes a gap is told to take it out.
//
// Read ledger_test.go (rows and the table), ground_test.go (fabrics and runs), then the tiers in order.
package validation
