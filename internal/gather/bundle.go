package gather

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"time"
)

// Limits on a bundle. A host with 16 ports has about 6 MB of counters and listings; a kernel log can be as large as
// its ring buffer.
const (
	MaxOutput = 8 << 20   // bytes of one command or file
	MaxBundle = 256 << 20 // bytes of all, before packing
)

// bundle is the archive being written: HOST/... in a gzipped tar. Files are readable by their owner alone, since they
// tell much about a cluster.
type bundle struct {
	zip   *gzip.Writer
	tar   *tar.Writer
	host  string
	made  time.Time
	total int64
}

func newBundle(w io.Writer, host string, made time.Time) *bundle {
	z := gzip.NewWriter(w)
	return &bundle{zip: z, tar: tar.NewWriter(z), host: host, made: made}
}

// file adds a file below the host's folder.
func (b *bundle) file(name string, content []byte) error {
	if b.total += int64(len(content)); b.total > MaxBundle {
		return fmt.Errorf("the bundle would be larger than %d MiB", MaxBundle>>20)
	}
	err := b.tar.WriteHeader(&tar.Header{Name: b.host + "/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: b.made, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = b.tar.Write(content)
	return err
}

func (b *bundle) close() error {
	if err := b.tar.Close(); err != nil {
		return err
	}
	return b.zip.Close()
}
