package gather

import (
	"encoding/json"
	"time"
)

// Schema names the form of the manifest. A field may be added under the same name.
const Schema = "shunt/bundle/v1"

// ManifestName is the manifest's name inside the folder of its host.
const ManifestName = "manifest.json"

// Manifest is what was run and read on a host and what could not be: without it a missing file of a bundle could mean
// that there was nothing to tell, or that the tool was not there.
type Manifest struct {
	Schema   string    `json:"schema"`
	Host     string    `json:"host"`
	Made     time.Time `json:"made"`
	Shunt    string    `json:"shunt,omitempty"` // version of the program
	Root     bool      `json:"root"`            // it ran as root
	Versions []Version `json:"versions"`
	// Elapsed is the time between the two readings of counters, in milliseconds; 0 where there was one.
	Elapsed int64     `json:"elapsed_ms"`
	Files   []Entry   `json:"files"`
	Missing []Missing `json:"missing"`
}

// Version is a version of something on the host.
type Version struct {
	Of    string `json:"of"` // "kernel", "mlx5_core", "firmware of mlx5_0"
	Value string `json:"value"`
}

// Entry is one file of the bundle.
type Entry struct {
	Path    string `json:"path"`
	Command string `json:"command,omitempty"` // "" for a file that was read
	// Exit is the exit code of the command, -1 where it was ended from outside.
	Exit    int    `json:"exit"`
	Millis  int64  `json:"ms"`
	Bytes   int64  `json:"bytes"`
	Trouble string `json:"trouble,omitempty"` // "cut at 8 MiB", "no answer within 30s"
}

// Missing is something that could not be had at all.
type Missing struct {
	What string `json:"what"` // "ibstat", "/etc/nccl.conf"
	Why  string `json:"why"`  // "not installed", "permission denied"
}

// encode writes the manifest as it stands in the bundle.
func (m *Manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}
