package diagnosis

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/diagnose"
)

// TestDamagedArchives: people paste a part of a log and leave lines out. Whatever is left, a diagnosis comes to an end, and
// each finding has all that a reader needs.
func TestDamagedArchives(t *testing.T) {
	damages := map[string]func([]byte) []byte{
		"the first third":       func(b []byte) []byte { return b[:len(b)/3] },
		"without its beginning": func(b []byte) []byte { return b[len(b)/3:] },
		"every third line gone": func(b []byte) []byte {
			var out []byte
			for i, line := range bytes.SplitAfter(b, []byte("\n")) {
				if i%3 != 1 {
					out = append(out, line...)
				}
			}
			return out
		},
		"indented":   func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\n    ")) },
		"twice":      func(b []byte) []byte { return append(append([]byte{}, b...), b...) },
		"no numbers": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("0"), []byte("x")) },
	}
	for _, a := range archives(t) {
		for name, damage := range damages {
			t.Run(fmt.Sprintf("%s/%s", a.name, name), func(t *testing.T) {
				fsys := fstest.MapFS{}
				for path, f := range a.fsys {
					fsys[path] = &fstest.MapFile{Data: damage(f.Data)}
				}
				inv, win, err := collect.LoadFS(fsys)
				if err != nil {
					return // nothing is left that could be opened
				}
				for _, f := range diagnose.Run(&diagnose.View{Inv: inv, Win: win, Tested: a.tested}).Findings {
					complete(t, f)
				}
			})
		}
	}
}
