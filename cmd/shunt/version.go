package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "shunt %s\n", version())
			return written(err)
		},
	}
}

// version is what the build knows of itself: the module's version, the commit, the compiler.
func version() string {
	text := []string{"(unknown)"}
	if info, ok := debug.ReadBuildInfo(); ok {
		text[0] = info.Main.Version
		modified := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				text = append(text, s.Value[:min(12, len(s.Value))])
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "modified"
			}
		}
		if modified != "" {
			text = append(text, modified)
		}
	}
	return strings.Join(append(text, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH), " ")
}

// moduleVersion is the version of the module alone, "" where the build does not tell.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

// written turns an error of writing the result into the program's failure. A reader that went away (`| head`)
// ends the process by SIGPIPE before this.
func written(err error) error {
	if err != nil {
		return fail(exitInternal, "writing the result: %w", err)
	}
	return nil
}
