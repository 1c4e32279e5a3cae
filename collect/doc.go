// Package collect owns the way from files to evidence: it walks what it is given, tells what each file is, runs
// the parsers below it and joins what they found into one inventory and one window.
//
// Nothing that is read can stop the rest from being read: a file that is empty, binary, cut off or not known is
// named with its reason and the others go on. Everything is read line by line in bounded memory. A file may hold
// several outputs one after the other, in any wrapper a launcher or log collector puts around them. Hosts are read side by
// side, and what comes out is as if they had been read one after another.
//
// Read load.go (the way in and out), walk.go (which files), queue.go and merge.go (who reads them), sniff.go (what is it),
// stream.go and pile.go (one file), then name.go, timeline.go and adopt.go (what belongs together). The parsers are one folder a source.
package collect
