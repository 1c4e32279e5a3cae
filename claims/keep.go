package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is where the values of finished trials are kept, so that an interrupted run goes on where it was. There is one file for each
// experiment and seed, with the key of what it was made by inside: the folder never grows beyond that.
type Folder struct {
	Path  string
	Build string // of the program: results of another one are not used (Q3)
}

// kept is a file of the folder.
type kept struct {
	Schema string `json:"schema"`
	Key    string `json:"key"`
	Values Values `json:"values"`
}

// keepSchema names the form of the files.
const keepSchema = "shunt/claims-trial/v1"

// maxKept bounds what is read of a file; a trial has some dozens of values.
const maxKept = 1 << 20

// key is the hash of everything that a trial's values depend on.
func (f Folder) key(e Experiment, seed uint64, reduced bool) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%d\x00%t", keepSchema, f.Build, e.Name, e.Version, seed, reduced))
	return hex.EncodeToString(sum[:])
}

func (f Folder) file(e Experiment, seed uint64) string {
	return filepath.Join(f.Path, fmt.Sprintf("%s-%d.json", e.Name, seed))
}

// get returns what was kept of a trial. A file that is missing, damaged or of something else is as good as none: the trial is carried out
// again.
func (f Folder) get(e Experiment, seed uint64, reduced bool) (Values, bool) {
	path := f.file(e, seed)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxKept {
		return nil, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	var k kept
	if json.Unmarshal(b, &k) != nil || k.Schema != keepSchema || k.Key != f.key(e, seed, reduced) {
		return nil, false
	}
	return k.Values, true
}

// put keeps the values of a trial: into a file beside it that takes its name when it is whole.
func (f Folder) put(e Experiment, seed uint64, reduced bool, v Values) (err error) {
	b, err := json.Marshal(kept{keepSchema, f.key(e, seed, reduced), v})
	if err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	tmp, err := os.CreateTemp(f.Path, ".trial-*")
	if err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
			err = fmt.Errorf("claims: keeping %s: %w", e.Name, err)
		}
	}()
	_, err = tmp.Write(append(b, '\n'))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil { // a name must not lead to bytes that a crash can take
		return err
	}
	return os.Rename(tmp.Name(), f.file(e, seed))
}

// Writable tells early whether results can be kept at all.
func (f Folder) Writable() error {
	if err := os.MkdirAll(f.Path, 0o755); err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	tmp, err := os.CreateTemp(f.Path, ".trial-*")
	if err != nil {
		return fmt.Errorf("claims: %w", err)
	}
	err = errors.Join(tmp.Close(), os.Remove(tmp.Name()))
	if errors.Is(err, fs.ErrNotExist) { // somebody cleans up here: nothing to worry about
		return nil
	}
	return err
}
