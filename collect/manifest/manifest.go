// Package manifest owns reading the manifest of a bundle (shunt collect): what could not be run or read on a host.
//
// What was read stands in the bundle and is read as such. The manifest tells why the rest is not there, which no file
// that is missing can tell.
package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

// Schema begins the schema of every version.
const Schema = "shunt/bundle/"

// maxNamed is how many of the things that are missing for one reason are named.
const maxNamed = 64

// answer is the part of a manifest that is read.
type answer struct {
	Schema string `json:"schema"`
	Host   string `json:"host"`
	Files  []struct {
		Path    string `json:"path"`
		Command string `json:"command"`
		Exit    int    `json:"exit"`
		Trouble string `json:"trouble"`
	} `json:"files"`
	Missing []struct {
		What string `json:"what"`
		Why  string `json:"why"`
	} `json:"missing"`
}

// Read reads a manifest that begins on a line: everything that is missing for one reason becomes one entry of the
// inventory's unreadable inputs, and so does every command that failed.
func Read(f *fragment.Fragment, text []byte, line int) error {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	if !strings.HasPrefix(a.Schema, Schema) {
		return fmt.Errorf("schema %q", a.Schema)
	}
	if a.Host != "" {
		f.Host = a.Host
	}
	var reasons []string
	missing := map[string][]string{}
	for _, m := range a.Missing {
		if m.What == "" || m.Why == "" {
			continue
		}
		if missing[m.Why] == nil {
			reasons = append(reasons, m.Why)
		}
		if what := missing[m.Why]; len(what) < maxNamed && !slices.Contains(what, m.What) {
			missing[m.Why] = append(what, m.What)
		}
	}
	add := func(text string) {
		f.Inv.Unreadable = append(f.Inv.Unreadable, evidence.Unreadable{From: f.At(line), Why: text})
	}
	for _, why := range reasons {
		add(why + ": " + strings.Join(missing[why], ", "))
	}
	for _, e := range a.Files {
		switch {
		case e.Trouble != "":
			add(fmt.Sprintf("%s: %s", orPath(e.Command, e.Path), e.Trouble))
		case e.Exit != 0:
			add(fmt.Sprintf("%s: failed with exit code %d", orPath(e.Command, e.Path), e.Exit))
		}
	}
	return nil
}

func orPath(command, path string) string {
	if command == "" {
		return path
	}
	return command
}
