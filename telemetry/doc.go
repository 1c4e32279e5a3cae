// Package telemetry owns the words all planes speak: the catalogue of every series (name, unit, meaning and
// the counter of real hardware or software it is read from), samples, and the window a diagnosis looks at.
//
// A series that no real NIC, switch or library emits does not belong here: what only a simulator can know is
// never seen by a diagnosis. Counters are uint64, because at 400 Gbit/s a byte counter passes 2^53 within 50
// hours and a float would lose bytes; gauges are float64. A missing sample is missing, never zero.
//
// Read catalogue.go, then window.go.
package telemetry
