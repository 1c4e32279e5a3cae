package gather

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits on what is read of /sys. The largest GID tables have 256 entries, and a port has under 100 counters.
const (
	maxValue   = 4096 // a page: sysfs hands out no more of a file (Documentation/filesystems/sysfs.rst)
	maxEntries = 4096 // of one folder; a host has up to some thousand interrupts
	maxDevices = 64
)

// infiniband reads the tree of RDMA devices as lines of "path:value", which is what grep -r prints of it. What cannot
// be read is a line too, as cat says it: that a counter is not there is not the same as a counter that is zero.
func infiniband(sys fs.FS) string {
	var b strings.Builder
	const class = "sys/class/infiniband"
	for _, device := range names(sys, class) {
		dir := path.Join(class, device)
		for _, name := range []string{"fw_ver", "hw_rev", "board_id", "hca_type", "node_guid", "sys_image_guid", "node_desc"} {
			value(&b, sys, path.Join(dir, name))
		}
		for _, port := range names(sys, path.Join(dir, "ports")) {
			dir := path.Join(dir, "ports", port)
			for _, name := range []string{"link_layer", "state", "phys_state", "rate", "lid", "sm_lid", "cap_mask"} {
				value(&b, sys, path.Join(dir, name))
			}
			for _, folder := range []string{"gids", "gid_attrs/types", "gid_attrs/ndevs"} {
				for _, name := range names(sys, path.Join(dir, folder)) {
					// An index without a GID has no type: reading it fails, which says nothing.
					if text, err := read(sys, path.Join(dir, folder, name)); err == nil {
						fmt.Fprintf(&b, "/%s:%s\n", path.Join(dir, folder, name), text)
					}
				}
			}
		}
	}
	return b.String()
}

// counters reads the counters of all ports.
func counters(sys fs.FS) string {
	var b strings.Builder
	const class = "sys/class/infiniband"
	for _, device := range names(sys, class) {
		for _, port := range names(sys, path.Join(class, device, "ports")) {
			for _, folder := range []string{"counters", "hw_counters"} {
				dir := path.Join(class, device, "ports", port, folder)
				if _, err := fs.Stat(sys, dir); err != nil {
					fmt.Fprintf(&b, "cat: '/%s': %s\n", dir, reason(err))
					continue
				}
				for _, name := range names(sys, dir) {
					if name != "lifespan" { // how long values are cached, in ms: no counter
						value(&b, sys, path.Join(dir, name))
					}
				}
			}
		}
	}
	return b.String()
}

// netdevs lists the interfaces of RDMA devices; where there are none, those of every device.
func netdevs(sys fs.FS) []string {
	var list []string
	add := func(name string) {
		if !slices.Contains(list, name) && len(list) < maxDevices {
			list = append(list, name)
		}
	}
	for _, device := range names(sys, "sys/class/infiniband") {
		for _, name := range names(sys, path.Join("sys/class/infiniband", device, "device/net")) {
			add(name)
		}
	}
	if len(list) == 0 {
		for _, name := range names(sys, "sys/class/net") {
			if _, err := fs.Stat(sys, path.Join("sys/class/net", name, "device")); err == nil {
				add(name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// value writes a line for one file.
func value(b *strings.Builder, sys fs.FS, name string) {
	text, err := read(sys, name)
	switch {
	case err == nil:
		fmt.Fprintf(b, "/%s:%s\n", name, text)
	case !errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(b, "cat: '/%s': %s\n", name, reason(err))
	}
}

// read reads a small file of one line.
func read(sys fs.FS, name string) (string, error) {
	f, err := sys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxValue))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\n", " ")), err
}

// names lists a folder, in order; nothing where it cannot be read.
func names(sys fs.FS, dir string) []string {
	entries, err := fs.ReadDir(sys, dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries[:min(len(entries), maxEntries)] {
		list = append(list, e.Name())
	}
	return list
}

// reason says what went wrong without the path, which stands beside it.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}
