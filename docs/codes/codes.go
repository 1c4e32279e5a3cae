// Package codes owns the pages that explain the codes of findings, one Markdown file a code, embedded so that
// `shunt codes L021` works without a network.
package codes

import "embed"

// Pages holds CODE.md for every code.
//
//go:embed *.md
var Pages embed.FS
