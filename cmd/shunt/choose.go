package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// scenarioName is the file that makes a folder a scenario.
const scenarioName = "scenario.yaml"

// maxSniff is how much of a YAML file is looked at for its top-level keys. Scenarios name their fabric early;
// a large file that does not is data.
const maxSniff = 1 << 20

// scenarioAmong finds the scenario that paths name. A scenario is answered for alone: together with others, or
// with files of a cluster, it would not be clear what the findings are about.
func scenarioAmong(paths []string) (file string, ok bool, err error) {
	for _, path := range paths {
		f, is := scenarioAt(path)
		if !is {
			continue
		}
		if len(paths) > 1 {
			return "", false, fail(exitUsage, "%s is a scenario; explain takes one scenario and nothing beside it", path)
		}
		file, ok = f, true
	}
	return file, ok, nil
}

// scenarioAt tells whether path is a scenario: a folder with scenario.yaml in it, a file of that name, or a YAML file
// with the key fabric, job or import at its top. One that lacks the rest is meant as a scenario too, and is told what it
// lacks.
func scenarioAt(path string) (file string, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		file = filepath.Join(path, scenarioName)
		inner, err := os.Stat(file)
		return file, err == nil && !inner.IsDir()
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return path, filepath.Base(path) == scenarioName || topKeys(path)
	}
	return "", false
}

// topKeys tells whether a line of the file begins with one of a scenario's own keys.
func topKeys(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxSniff)
	for read := 0; read < maxSniff && lines.Scan(); read += len(lines.Bytes()) + 1 {
		if line := lines.Text(); strings.HasPrefix(line, "fabric:") || strings.HasPrefix(line, "job:") || strings.HasPrefix(line, "import:") {
			return true
		}
	}
	return false
}
