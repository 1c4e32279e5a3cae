// Package cc owns rate control: how a sender answers to congestion signals. It knows no packets and no queues; netsim
// tells it of bytes sent and of notifications, and asks for the rate.
//
// All arithmetic is on integers: a rate decides when the next packet leaves, and floats may round differently on another
// machine. Read dcqcn.go.
package cc
