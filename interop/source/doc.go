// Package source owns the reading of other simulators' text files: lines and words with the place they stand at,
// numbers and quantities checked as they are read, and everything that is wrong collected with file, line and column.
//
// A file is read once, from front to back, with memory for one line. What is in it belongs to the package of its
// format.
//
// Read report.go (what is wrong, what is worth knowing), reader.go (lines and words), value.go (numbers).
package source
