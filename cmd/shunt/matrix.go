package main

import (
	"errors"
	"os"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/internal/spec"
)

// testedVersions reads the file of versions that a site has tested together; nil where none is given.
func testedVersions(file string) (*diagnose.Compatibility, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fail(exitUnreachable, "--matrix: %w", err)
	}
	c, err := diagnose.ParseCompatibility(file, text)
	var problems spec.Problems
	switch {
	case errors.As(err, &problems):
		return nil, &failure{exitUsage, err}
	case err != nil:
		return nil, &failure{exitInternal, err}
	}
	return c, nil
}
