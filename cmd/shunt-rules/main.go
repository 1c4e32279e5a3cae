// Command shunt-rules judges the rules that users write for shunt. It is a program of its own because it links the
// Common Expression Language, which is twice as large as all of shunt (docs/decisions/0010-rules.md). People call it
// through shunt: explain --rules FILE, rules test FILE.
package main

import (
	"os"

	"github.com/shunt-network/shunt/internal/celrules"
)

func main() { os.Exit(celrules.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
