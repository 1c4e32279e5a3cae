// Package message owns the step from "so many bytes from here to there", which is what the files of other simulators
// say, to operations of a plan; and back: when each message began and ended, and how long it would have taken on an
// idle network.
//
// Read message.go (messages as operations), idle.go (what an idle network takes), time.go (what a run took).
package message
