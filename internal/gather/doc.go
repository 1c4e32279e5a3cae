// Package gather owns reading one host for a diagnosis: it runs the commands that package diagnose asks for, reads the
// kernel's own files, and writes all of it into one archive that explain takes.
//
// It changes nothing (G1): commands are those whose only form here reads (tested in package diagnose), files are opened
// for reading. It needs no root (G2): what cannot be read is noted in the manifest, with the reason, and the rest is
// read. It cannot hang (G3): every command has a time limit and every output a size limit. It takes no secrets (G4): of
// an environment only variables with known beginnings, and of those none whose name speaks of a secret.
//
// Read gather.go (what is done in which order), command.go (one command), sysfs.go and system.go (files), environ.go,
// then bundle.go and manifest.go (the archive).
package gather
