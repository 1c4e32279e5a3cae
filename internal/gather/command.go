package gather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// places are where tools stand besides PATH: sbin is not in the PATH of users everywhere, and vendors have folders of
// their own.
var places = []string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/mellanox/bin", "/opt/rocm/bin"}

// look finds a program.
func look(name string) (string, bool) {
	if p, err := exec.LookPath(name); err == nil {
		return p, true
	}
	for _, dir := range places {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, true
		}
	}
	return "", false
}

// limited keeps the first bytes that are written. The buffer is a field and not embedded: its ReadFrom, which io.Copy
// prefers to Write, knows no limit.
type limited struct {
	kept  bytes.Buffer
	limit int
	cut   bool
}

// Write never fails: a program whose output is cut must still end by itself.
func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - l.kept.Len()
	l.cut = l.cut || len(p) > room
	l.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}

// command runs one command line without a shell and returns what it printed, on either stream, as a terminal would
// show it. ok is false where there is no such program.
func command(ctx context.Context, line string, timeout time.Duration, env []string) (out []byte, e Entry, ok bool) {
	words := strings.Fields(line)
	path, ok := look(words[0])
	if !ok {
		return nil, e, false
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(ctx, path, words[1:]...)
	c.Env = env
	c.WaitDelay = time.Second // a child that holds the pipe open does not hold us
	buffer := &limited{limit: MaxOutput}
	c.Stdout, c.Stderr = buffer, buffer
	started := time.Now()
	err := c.Run()
	e = Entry{Command: line, Millis: time.Since(started).Milliseconds()}
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Exit, e.Trouble = -1, fmt.Sprintf("no answer within %v", timeout)
	case errors.As(err, &exit):
		e.Exit = exit.ExitCode()
	case err != nil:
		e.Exit, e.Trouble = -1, err.Error()
	}
	if buffer.cut {
		e.Trouble = strings.TrimPrefix(e.Trouble+fmt.Sprintf("; cut at %d MiB", MaxOutput>>20), "; ")
	}
	return buffer.kept.Bytes(), e, true
}
