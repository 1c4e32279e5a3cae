package collect

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/evidence"
)

// Where a folder is a copy of a host, or what a tool collected of one, some file in it names the host: the file of
// the system (hostname(5)), the copy sosreport makes of the command (sos_commands/host, older ones general), or the
// answer of uname -a.
//
// A name found in this way goes before what the names of folders tell, and need not look like a host's.
var hostFiles = []string{
	"sos_commands/host/hostname", "sos_commands/general/hostname", "sos_commands/host/hostname_-f", "etc/hostname", "proc/sys/kernel/hostname",
	"hostname", "hostname.txt", "sos_commands/kernel/uname_-a", "uname", "uname.txt", "uname_-a", "uname_-a.txt", "uname_a.txt", "uname-a.txt",
}

// hostFile tells whether a path below a host's folder is one that names it.
func hostFile(name string) bool { return slices.Contains(hostFiles, name) }

// maxHostFile is how much of such a file is read: a name has at most 253 bytes, the rest of uname some hundred.
const maxHostFile = 1024

// hostIn reads the host from such a file, "" where it holds none: "node1.example.org", or
// "Linux node1 5.15.0-105-generic #115-Ubuntu SMP ... x86_64 GNU/Linux".
func hostIn(r io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(r, maxHostFile))
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	words := strings.Fields(line)
	if len(words) > 3 && words[0] == "Linux" {
		words = words[1:2]
	}
	if len(words) != 1 {
		return ""
	}
	host := short(words[0])
	for _, c := range []byte(host) {
		if !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' {
			return ""
		}
	}
	if host == "localhost" || host == "none" {
		return "" // names every host, and so none
	}
	return host
}

// hostFolders maps a folder to the host it is of, and how good the file was that told it.
type hostFolders map[string]hostFolder

type hostFolder struct {
	host string
	rank int // index into hostFiles
}

// add reads a file of an archive, where it is one that names a host.
func (h hostFolders) add(name string, r io.Reader) {
	for rank, file := range hostFiles {
		folder, ok := strings.CutSuffix("/"+name, "/"+file)
		if !ok {
			continue
		}
		folder = strings.TrimPrefix(folder, "/")
		if have, ok := h[folder]; ok && have.rank <= rank {
			return
		}
		if host := hostIn(r); host != "" {
			h[folder] = hostFolder{host, rank}
		}
		return
	}
}

// of finds the nearest folder above a file that is a host's.
func (h hostFolders) of(name string) (folder, host string) {
	if len(h) == 0 {
		return "", ""
	}
	for folder = path.Dir(name); ; folder = path.Dir(folder) {
		key := folder
		if key == "." {
			key = ""
		}
		if f, ok := h[key]; ok {
			return key, f.host
		}
		if folder == "." {
			return "", ""
		}
	}
}

// hostHere finds the host a folder is of, by the files in it.
func hostHere(fsys fs.FS, dir string, entries []fs.DirEntry) string {
	for _, file := range hostFiles {
		first, _, _ := strings.Cut(file, "/")
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == first }) {
			continue
		}
		r, err := fsys.Open(path.Join(dir, file))
		if err != nil {
			continue
		}
		host := hostIn(r)
		r.Close()
		if host != "" {
			return host
		}
	}
	return ""
}

// HostName is the format of a file that names the host its folder is of.
const HostName Format = "host name"

// named lists a file that was read for the name of its host.
func (s *session) named(in input) {
	s.opened++
	s.inv.Files = append(s.inv.Files, evidence.File{Path: in.show, Format: string(HostName), Host: in.host})
	s.inv.Host(in.host)
}

// sosHost reads the host from the folder of a sosreport: sosreport-HOST[-LABEL][-CASE]-2025-06-01-RANDOM (sos,
// policies/__init__.py, get_archive_name). "" for any other name.
func sosHost(folder string) string {
	rest, ok := strings.CutPrefix(folder, "sosreport-")
	if !ok {
		return ""
	}
	for i := 0; i+len("-2025-06-01-") <= len(rest); i++ {
		if d := rest[i:]; d[0] == '-' && d[5] == '-' && d[8] == '-' && d[11] == '-' && digits(d[1:5]) && digits(d[6:8]) && digits(d[9:11]) {
			rest = rest[:i]
			break
		}
	}
	if i := strings.LastIndexByte(rest, '-'); i > 0 && len(rest)-i > 6 && digits(rest[i+1:]) { // a case's number has seven or eight digits
		rest = rest[:i]
	}
	return short(rest)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
