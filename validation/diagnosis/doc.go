// Package diagnosis owns the check of the whole way from files to findings: archives of what users hand in, through the
// real parsers and the real causes, with what must come out. It holds tests only; a diagnosis itself may not know where
// its evidence was read, so this stands above both.
//
// The archives are in testdata, one story a file: CODE_name where the cause is found, CODE_lookalike_name where something
// that resembles it must not be taken for it, CODE_missing_name where its inputs are not there, and healthy_name.
package diagnosis
