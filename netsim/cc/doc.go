// Package cc owns rate control: how a sender answers to congestion signals. It knows no packets and no queues; netsim
// tells it of bytes sent, of acknowledgements and of notifications, and asks for window and rate.
//
// DCQCN reckons in integers, the others in floats that round alike on every machine: no product is added to anything without
// an explicit conversion, which keeps compilers from fusing the two (float_test.go). No float is a time of an event.
//
// Read kind.go, then a law each: dcqcn.go, hpcc.go, timely.go, swift.go, nscc.go.
package cc
