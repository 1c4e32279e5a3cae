package gather

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// sysctls prints the settings of interfaces that RoCE with several of them depends on, as sysctl -a would.
func sysctls(sys fs.FS) string {
	var b strings.Builder
	const conf = "proc/sys/net/ipv4/conf"
	for _, dev := range names(sys, conf) {
		for _, name := range []string{"arp_announce", "arp_filter", "arp_ignore", "rp_filter"} {
			if v, err := read(sys, path.Join(conf, dev, name)); err == nil {
				// sysctl writes a dot in the name of an interface as a slash, sysctl(8).
				fmt.Fprintf(&b, "net.ipv4.conf.%s.%s = %s\n", strings.ReplaceAll(dev, ".", "/"), name, v)
			}
		}
	}
	return b.String()
}

// affinities prints which processors each interrupt may go to, as grep prints many files.
func affinities(sys fs.FS) string {
	var b strings.Builder
	for _, irq := range names(sys, "proc/irq") {
		if v, err := read(sys, path.Join("proc/irq", irq, "smp_affinity_list")); err == nil {
			fmt.Fprintf(&b, "/proc/irq/%s/smp_affinity_list:%s\n", irq, v)
		}
	}
	return b.String()
}

// versions tells what runs on the host.
func versions(sys fs.FS) []Version {
	var list []Version
	add := func(of, value string) {
		if value != "" {
			list = append(list, Version{of, value})
		}
	}
	one := func(of, name string) {
		if v, err := read(sys, name); err == nil {
			add(of, v)
		}
	}
	one("kernel", "proc/sys/kernel/osrelease")
	if text, err := whole(sys, "etc/os-release"); err == nil {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				add("system", strings.Trim(v, `"`))
			}
		}
	}
	for _, module := range []string{"mlx5_core", "mlx5_ib", "bnxt_en", "bnxt_re", "ice", "irdma", "nvidia", "nvidia_peermem", "efa"} {
		one(module, path.Join("sys/module", module, "version"))
	}
	if text, err := whole(sys, "etc/sonic/sonic_version.yml"); err == nil {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, "build_version:"); ok {
				add("sonic", strings.Trim(strings.TrimSpace(v), `'"`))
			}
		}
	}
	for _, device := range names(sys, "sys/class/infiniband") {
		one("firmware of "+device, path.Join("sys/class/infiniband", device, "fw_ver"))
	}
	return list
}

// whole reads a file up to the limit of an output.
func whole(sys fs.FS, name string) ([]byte, error) {
	f, err := sys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxOutput))
}
