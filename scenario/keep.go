package scenario

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/fabric"
	"github.com/shunt-network/shunt/units"
	"github.com/shunt-network/shunt/workload"
)

// RunSchema names the form of summary.json. A field may be added under the same name; one that changes its meaning or goes away
// takes the next number.
const RunSchema = "shunt/run/v1"

// Files of a kept run.
const (
	SummaryFile  = "summary.json"
	SeriesFile   = "series.parquet"
	FlowsFile    = "flows.parquet"
	EventsFile   = "events.jsonl"
	ScenarioFile = FileName
)

// Kept is summary.json: what was run, what it came to, and which files lie beside it.
type Kept struct {
	Schema  string   `json:"schema"`
	Title   string   `json:"title"`
	Version string   `json:"version"`       // of the program that ran it
	Set     []string `json:"set,omitempty"` // fields that were changed before the run, "path=value"
	Fabric  Size     `json:"fabric"`
	Figures Figures  `json:"figures"`
	// LeftOut names what the scenario asks for and the engine does not know.
	LeftOut []string   `json:"left_out,omitempty"`
	Files   []KeptFile `json:"files"`
}

// Size is how large a fabric is.
type Size struct {
	GPUs     int `json:"gpus"`
	Hosts    int `json:"hosts"`
	Switches int `json:"switches"`
	Links    int `json:"links"`
}

// KeptFile is one file of a kept run. Rows counts lines or table rows, but not the lines of the scenario.
type KeptFile struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Extra is a further file of a kept run: a picture of it.
type Extra struct {
	Name  string
	Bytes []byte
}

// ErrExists refuses to write a run over something else.
var ErrExists = errors.New("exists already")

// Keep writes the run to a folder that does not exist yet, or is empty, or holds a kept run and replace is set. The folder appears
// whole or not at all: it is written beside its place and renamed when everything is on disk. meta holds title, version and
// set; source is the file the scenario was read from.
func (r *Run) Keep(dir string, meta Kept, source []byte, log *Log, replace bool, extra ...Extra) (Kept, error) {
	if err := Vacant(dir, replace); err != nil {
		return Kept{}, err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	part, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return Kept{}, fmt.Errorf("scenario: %w", err)
	}
	defer os.RemoveAll(part) // gone after the rename
	k := r.Describe(meta)
	for _, f := range []struct {
		name  string
		write func(w io.Writer) (int64, error)
	}{
		{ScenarioFile, func(w io.Writer) (int64, error) { _, err := w.Write(source); return 0, err }},
		{SeriesFile, r.writeSeries},
		{FlowsFile, r.writeFlows},
		{EventsFile, func(w io.Writer) (int64, error) { return r.writeEvents(w, log) }},
	} {
		if r.Estimate != nil && (f.name == SeriesFile || f.name == FlowsFile) {
			continue // it has neither
		}
		file, err := writeFile(filepath.Join(part, f.name), f.write)
		if err != nil {
			return Kept{}, err
		}
		k.Files = append(k.Files, file)
	}
	for _, x := range extra {
		file, err := writeFile(filepath.Join(part, x.Name), func(w io.Writer) (int64, error) { _, err := w.Write(x.Bytes); return 0, err })
		if err != nil {
			return Kept{}, err
		}
		k.Files = append(k.Files, file)
	}
	if _, err := writeFile(filepath.Join(part, SummaryFile), func(w io.Writer) (int64, error) { return 0, encode(w, k) }); err != nil {
		return Kept{}, err
	}
	return k, moveInto(part, dir)
}

// Describe is the summary of a run that is not kept: meta with all that the run itself tells.
func (r *Run) Describe(meta Kept) Kept {
	k := meta
	k.Schema, k.Figures, k.LeftOut, k.Files = RunSchema, r.Figures(), r.LeftOut(), []KeptFile{}
	k.Fabric = Size{GPUs: len(r.Fabric.GPUs), Hosts: len(r.Fabric.Hosts()), Switches: len(r.Fabric.Switches()), Links: len(r.Fabric.Ports) / 2}
	return k
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Vacant tells whether a run may be written to dir: it is not there, or empty, or holds a run that may be replaced. The error is
// an ErrExists when it may not.
func Vacant(dir string, replace bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("scenario: %w", err)
	}
	_, err = os.Stat(filepath.Join(dir, SummaryFile))
	switch {
	case err == nil && replace:
		return nil
	case err == nil:
		return fmt.Errorf("scenario: %s %w and holds a run", dir, ErrExists)
	}
	return fmt.Errorf("scenario: %s %w and holds no run", dir, ErrExists)
}

// moveInto puts a finished folder in its place. A run that is replaced stays whole until the new one is there.
func moveInto(part, dir string) error {
	if err := os.Chmod(part, 0o755); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	if err := syncPath(part); err != nil {
		return err
	}
	old := part + ".old"
	switch err := os.Rename(dir, old); {
	case err == nil:
		defer os.RemoveAll(old)
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("scenario: %w", err)
	}
	if err := os.Rename(part, dir); err != nil {
		return errors.Join(fmt.Errorf("scenario: %w", err), ignoreMissing(os.Rename(old, dir)))
	}
	return syncPath(filepath.Dir(filepath.Clean(dir)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// syncPath brings a file or folder to disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	return nil
}

// counting passes bytes on, counts them and takes their hash.
type counting struct {
	w io.Writer
	n int64
	h hash.Hash
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.h.Write(b[:n])
	return n, err
}

// writeFile writes one file and brings it to disk.
func writeFile(path string, write func(w io.Writer) (int64, error)) (k KeptFile, err error) {
	f, err := os.Create(path)
	if err != nil {
		return k, fmt.Errorf("scenario: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("scenario: %w", closed)
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	c := &counting{w: buffered, h: sha256.New()}
	rows, err := write(c)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return k, fmt.Errorf("scenario: %s: %w", path, err)
	}
	return KeptFile{Name: filepath.Base(path), Rows: rows, Bytes: c.n, SHA256: hex.EncodeToString(c.h.Sum(nil))}, nil
}

// WriteFile writes a file whole or not at all.
func WriteFile(path string, src []byte) error {
	return replaceFile(path, func(w io.Writer) error { _, err := w.Write(src); return err })
}

// replaceFile writes a file beside its place and renames it, so that it is never there in part.
func replaceFile(path string, write func(w io.Writer) error) error {
	part := path + ".partial"
	if _, err := writeFile(part, func(w io.Writer) (int64, error) { return 0, write(w) }); err != nil {
		os.Remove(part)
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("scenario: %w", err)
	}
	return syncPath(filepath.Dir(path))
}

// eventLine is one line of events.jsonl. Fields without a meaning for the kind are left out.
type eventLine struct {
	TimePS   int64  `json:"time_ps"`
	Kind     string `json:"kind"` // those of Entry, and: span, step, fault, dropped
	Object   string `json:"object,omitempty"`
	Peer     string `json:"peer,omitempty"`
	Priority *int8  `json:"priority,omitempty"`
	Why      string `json:"why,omitempty"`
	EndPS    *int64 `json:"end_ps,omitempty"` // span, step, fault: when it was over
	Name     string `json:"name,omitempty"`   // of a span
	Step     *int   `json:"step,omitempty"`
	Count    uint64 `json:"count,omitempty"` // dropped: entries that the limit kept out; span: groups that made the call
}

// writeEvents writes what happened, in the order of time; what began at one moment comes as: faults, steps, spans, the network.
func (r *Run) writeEvents(w io.Writer, log *Log) (rows int64, err error) {
	lines := r.happenings()
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	put := func(l eventLine) {
		if err == nil {
			err = e.Encode(l)
			rows++
		}
	}
	if log != nil {
		for _, x := range log.Entries {
			for len(lines) > 0 && lines[0].TimePS <= x.At.PS() {
				put(lines[0])
				lines = lines[1:]
			}
			l := eventLine{TimePS: x.At.PS(), Kind: x.Kind, Object: x.Object, Peer: x.Peer, Why: x.Why}
			if x.Priority >= 0 {
				l.Priority = &x.Priority
			}
			put(l)
		}
	}
	for _, l := range lines {
		put(l)
	}
	if log != nil && log.Dropped > 0 {
		put(eventLine{TimePS: r.Summary.End.PS(), Kind: "dropped", Count: log.Dropped, Why: fmt.Sprintf("a log holds at most %d entries", MaxLog)})
	}
	return rows, err
}

// happenings lists faults, steps and spans by their beginning.
func (r *Run) happenings() []eventLine {
	var out []eventLine
	for _, f := range r.Config.Faults {
		end := r.Summary.End.PS()
		every := int64(f.Every)
		for at := int64(f.At); at <= end; at += every {
			l := eventLine{TimePS: at, Kind: "fault", Why: string(f.Kind), Object: r.Fabric.PortName(fabric.PortID(f.Port))}
			if f.For > 0 {
				l.EndPS = pointer(at + int64(f.For))
			}
			out = append(out, l)
			if every == 0 {
				break
			}
		}
	}
	if r.Estimate != nil {
		return append(out, r.estimatedCalls()...)
	}
	start, stop := make([]units.Instant, len(r.Times)), make([]units.Instant, len(r.Times))
	for i, t := range r.Times {
		start[i], stop[i] = t.Start, t.End
	}
	m := r.Plan.Measure(start, stop)
	for i, s := range m.Steps {
		if s.Done {
			out = append(out, eventLine{TimePS: s.Start.PS(), Kind: "step", EndPS: pointer(s.End.PS()), Step: pointer(i)})
		}
	}
	for i, s := range m.Spans {
		if span := &r.Plan.Spans[i]; s.Done && (span.Collective != workload.NoCollective || span.Background || span.Step < 0) {
			l := eventLine{TimePS: s.Start.PS(), Kind: "span", EndPS: pointer(s.End.PS()), Name: span.Name}
			if span.Step >= 0 {
				l.Step = pointer(span.Step)
			}
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b eventLine) int { return cmp.Compare(a.TimePS, b.TimePS) })
	return out
}

// LoadKept reads the summary of a kept run.
func LoadKept(dir string) (*Kept, error) {
	path := filepath.Join(dir, SummaryFile)
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	k := &Kept{}
	if err := json.Unmarshal(src, k); err != nil {
		return nil, fmt.Errorf("scenario: %s: %w", path, err)
	}
	if k.Schema != RunSchema {
		return nil, fmt.Errorf("scenario: %s is %q and not %q; it was kept by another version", path, k.Schema, RunSchema)
	}
	return k, nil
}

// IsKept tells whether path is the folder of a kept run.
func IsKept(path string) bool {
	src, err := os.ReadFile(filepath.Join(path, SummaryFile))
	return err == nil && strings.Contains(string(src[:min(len(src), 200)]), RunSchema)
}
