// Package units owns the quantities every other package speaks in: bytes, bit rates,
// simulated time and fractions, each a type of its own with a text form that carries the unit.
//
// A number never travels bare: a rate is bit/s and never bytes, a time is a whole number of
// picoseconds. Picoseconds because a byte lasts 20 ps at 400 Gbit/s and 5 ps at 1.6 Tbit/s;
// an int64 of them still spans 106 days (docs/decisions/0001-picoseconds.md).
//
// Read bytes.go, rate.go, time.go, then serialize.go: the one place where bytes and a rate become a time.
package units
