package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// SweepFile is the results of a sweep on disk: a head and a line for each result, in the order in which runs ended. Lines are only ever
// added, so that a sweep that was killed goes on where it was: a line that was torn off in the middle is dropped, and its point is
// run again.
type SweepFile struct {
	Results []Result // that it had when it was opened

	f      *os.File
	synced time.Time
	dirty  bool
}

// syncEvery is how often added lines are brought to disk. What a crash of the machine takes is run again.
const syncEvery = 200 * time.Millisecond

// ErrOtherSweep refuses to go on with the results of something else.
var ErrOtherSweep = errors.New("holds the results of another sweep")

// ErrInUse refuses results that another process adds to.
var ErrInUse = errors.New("is in use by another sweep")

// OpenFile opens the results of the sweep at path, or begins them.
func (s *Sweep) OpenFile(path, version string) (*SweepFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	file := &SweepFile{f: f}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("scenario: %s %w", path, ErrInUse)
	}
	if err := file.read(s, path, version); err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// read takes over what the file has, cuts off what was torn, and writes the head of a new one.
func (file *SweepFile) read(s *Sweep, path, version string) error {
	want := s.head(version)
	in := bufio.NewReaderSize(file.f, 1<<16)
	var good int64 // bytes of whole lines
	have := make([]bool, len(s.points))
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF { // without its end of line a line is not whole, even if it reads as if it were
			break
		} else if err != nil {
			return fmt.Errorf("scenario: %s: %w", path, err)
		}
		if n == 1 {
			var head sweepHead
			if err := json.Unmarshal(line, &head); err != nil || head.Schema == "" {
				return fmt.Errorf("scenario: %s:1: %w: it has no head", path, ErrOtherSweep)
			}
			if !head.same(want) {
				return fmt.Errorf("scenario: %s %w: %s", path, ErrOtherSweep, head.differs(want))
			}
		} else {
			var r Result
			err := json.Unmarshal(line, &r)
			if err == nil && (r.Index < 0 || r.Index >= len(have)) {
				err = fmt.Errorf("there is no point %d", r.Index)
			}
			if err != nil {
				// After a crash of the machine the end of a file may hold anything, but nothing follows it.
				if rest, _ := io.ReadAll(in); len(bytes.TrimSpace(rest)) == 0 {
					break
				}
				return fmt.Errorf("scenario: %s:%d: %w", path, n, err)
			}
			if !have[r.Index] {
				have[r.Index] = true
				file.Results = append(file.Results, r)
			}
		}
		good += int64(len(line))
	}
	if err := file.f.Truncate(good); err != nil {
		return fmt.Errorf("scenario: %s: %w", path, err)
	}
	if _, err := file.f.Seek(good, io.SeekStart); err != nil {
		return fmt.Errorf("scenario: %s: %w", path, err)
	}
	if good > 0 {
		return nil
	}
	head, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	if _, err := file.f.Write(append(head, '\n')); err != nil {
		return fmt.Errorf("scenario: %s: %w", path, err)
	}
	return file.sync()
}

// differs says in what two heads differ first.
func (h sweepHead) differs(want sweepHead) string {
	switch {
	case h.Schema != want.Schema:
		return fmt.Sprintf("it is %s, this is %s", h.Schema, want.Schema)
	case h.Scenario != want.Scenario:
		return "the scenario has changed since"
	case h.Engine != want.Engine:
		return fmt.Sprintf("it was run on the %s engine", h.Engine)
	}
	return fmt.Sprintf("it was over %v, %d points", h.Over, h.Points)
}

// append adds a result.
func (file *SweepFile) append(r Result) error {
	line, err := r.marshalLine()
	if err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	if _, err := file.f.Write(line); err != nil {
		return fmt.Errorf("scenario: %s: %w", file.f.Name(), err)
	}
	file.dirty = true
	if time.Since(file.synced) >= syncEvery {
		return file.sync()
	}
	return nil
}

func (file *SweepFile) sync() error {
	if err := file.f.Sync(); err != nil {
		return fmt.Errorf("scenario: %s: %w", file.f.Name(), err)
	}
	file.synced, file.dirty = time.Now(), false
	return nil
}

// Close brings everything to disk and lets others at the file.
func (file *SweepFile) Close() error {
	return errors.Join(file.sync(), file.f.Close())
}
