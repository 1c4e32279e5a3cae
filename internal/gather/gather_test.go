package gather

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
)

// host is the file system of a host with one RDMA device.
func host() fstest.MapFS {
	sys := fstest.MapFS{}
	for name, text := range map[string]string{
		"sys/class/infiniband/mlx5_0/fw_ver":                              "28.41.1000",
		"sys/class/infiniband/mlx5_0/ports/1/link_layer":                  "Ethernet",
		"sys/class/infiniband/mlx5_0/ports/1/rate":                        "400 Gb/sec (4X NDR)",
		"sys/class/infiniband/mlx5_0/ports/1/gids/0":                      "fe80:0000:0000:0000:0200:5eff:fe00:5301",
		"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0":           "IB/RoCE v1",
		"sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0":           "eth1",
		"sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "17",
		"sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan":        "10",
		"sys/class/infiniband/mlx5_0/device/net/eth1/speed":               "400000",
		"sys/class/net/eth0/device/vendor":                                "0x1",
		"proc/sys/net/ipv4/conf/eth1/arp_ignore":                          "1",
		"proc/sys/net/ipv4/conf/eth1.100/rp_filter":                       "2",
		"proc/sys/kernel/osrelease":                                       "6.8.0-48-generic",
		"proc/self/limits":                                                "Max locked memory         8388608      8388608      bytes",
		"proc/interrupts":                                                 "CPU0",
		"proc/4711/environ":                                               "NCCL_IB_HCA=mlx5\x00HOME=/root\x00NCCL_API_KEY=abc\x00",
		"proc/4711/limits":                                                "Max locked memory         unlimited            unlimited            bytes",
		"etc/os-release":                                                  "NAME=x\nPRETTY_NAME=\"Some Linux 12\"\n",
		"home/u/.nccl.conf":                                               "NCCL_DEBUG=WARN",
	} {
		sys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return sys
}

// tools makes PATH a folder of scripts, and nothing else.
func tools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	before := places
	places = nil
	t.Cleanup(func() { places = before })
}

func gathered(t *testing.T, o Options) (*Manifest, map[string]string) {
	t.Helper()
	var b bytes.Buffer
	m, err := Write(t.Context(), &b, o)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return m, files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Mode != 0o600 {
			t.Fatal(err, h.Mode)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		files[h.Name] = string(text)
	}
}

func options() Options {
	return Options{
		Host: "alpha", Root: host(), Home: "/home/u", Timeout: 10 * time.Second, PIDs: []int{4711, 4712},
		Env: []string{"NCCL_SOCKET_IFNAME=eth0", "NCCL_AUTH=x", "UCX_TLS=rc", "AWS_SECRET_ACCESS_KEY=x", "PATH=/", "MY_NCCL_X=1", "LANG=de_DE"},
	}
}

func TestBundle(t *testing.T) {
	tools(t, map[string]string{"ethtool": `echo "$@ in $LC_ALL$LANG"`, "ibstat": "echo CA; echo no >&2; exit 3", "show_gids": "echo never asked twice"})
	m, files := gathered(t, options())
	for name, want := range map[string]string{
		"alpha/hostname":                  "alpha\n",
		"alpha/env.txt":                   "[shunt@alpha ~]$ env\nNCCL_SOCKET_IFNAME=eth0\nUCX_TLS=rc\n",
		"alpha/pid/4711/env.txt":          "[shunt@alpha ~]$ env\nNCCL_IB_HCA=mlx5\n",
		"alpha/sysctl.txt":                "[shunt@alpha ~]$ sysctl -a\nnet.ipv4.conf.eth1.arp_ignore = 1\nnet.ipv4.conf.eth1/100.rp_filter = 2\n",
		"alpha/before/ethtool_S_eth1.txt": "[shunt@alpha ~]$ ethtool -S eth1\n-S eth1 in C\n",
		"alpha/ibstat.txt":                "[shunt@alpha ~]$ ibstat\nCA\nno\n",
		"alpha/nccl_conf_home.txt":        "[shunt@alpha ~]$ cat ~/.nccl.conf\nNCCL_DEBUG=WARN\n",
		"alpha/before/infiniband_counters.txt": "[shunt@alpha ~]$ grep . counters hw_counters\ncat: '/sys/class/infiniband/mlx5_0/ports/1/counters': No such file or directory\n" +
			"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:17\n",
	} {
		if diff := cmp.Diff(want, files[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if text := files["alpha/infiniband.txt"]; !strings.Contains(text, "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0:IB/RoCE v1\n") || !strings.Contains(text, "/fw_ver:28.41.1000\n") {
		t.Errorf("the tree of devices is\n%s", text)
	}
	all := ""
	for name, text := range files {
		all += text
		if strings.Contains(name, "eth0") {
			t.Errorf("%s: an interface that is no RDMA device's was read while there is one that is", name)
		}
	}
	for _, s := range []string{"SECRET", "NCCL_AUTH", "API_KEY", "HOME=", "MY_NCCL"} {
		if strings.Contains(all, s) {
			t.Errorf("%s got out", s)
		}
	}
	var written Manifest
	if err := json.Unmarshal([]byte(files["alpha/manifest.json"]), &written); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*m, written); diff != "" {
		t.Errorf("the manifest in the bundle is another\n%s", diff)
	}
	want := map[string]string{"lspci": "not installed", "/etc/nccl.conf": "No such file or directory", "/proc/4712/environ": "No such file or directory"}
	for _, x := range m.Missing {
		if want[x.What] == x.Why {
			delete(want, x.What)
		}
	}
	if len(want) > 0 {
		t.Errorf("not said to be missing: %v; the list is %v", want, m.Missing)
	}
	for _, e := range m.Files {
		if e.Path == "ibstat.txt" && e.Exit != 3 {
			t.Errorf("%+v", e)
		}
	}
	if diff := cmp.Diff([]Version{{"kernel", "6.8.0-48-generic"}, {"system", "Some Linux 12"}, {"firmware of mlx5_0", "28.41.1000"}}, m.Versions); diff != "" {
		t.Error(diff)
	}
}

// Counters are read twice, and the folder of the second reading tells how much later it was.
func TestTwoReadings(t *testing.T) {
	tools(t, nil)
	o := options()
	o.Interval = 30 * time.Millisecond
	m, files := gathered(t, o)
	if m.Elapsed < 30 {
		t.Errorf("%d ms between readings, asked for 30", m.Elapsed)
	}
	after := 0
	for name := range files {
		if strings.HasPrefix(name, "alpha/after_") {
			after++
			if !strings.HasPrefix(name, "alpha/after_"+json.Number(jsonInt(m.Elapsed)).String()+"ms/") {
				t.Errorf("%s does not tell %d ms", name, m.Elapsed)
			}
		}
	}
	if after != 1 {
		t.Errorf("%d files of the second reading", after)
	}
}

func jsonInt(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// A tool that hangs, even one that leaves a child behind, and one that prints without end cost their limits only.
func TestLimits(t *testing.T) {
	sleep, err := filepath.Abs("/bin/sleep")
	if _, missing := os.Stat(sleep); err != nil || missing != nil {
		t.Skip("no sleep")
	}
	tools(t, map[string]string{"ibstat": "echo before; " + sleep + " 60 & exec " + sleep + " 60", "lspci": "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done"})
	started := time.Now()
	_, e, ok := command(t.Context(), "ibstat", 100*time.Millisecond, os.Environ())
	if !ok || e.Exit != -1 || e.Trouble != "no answer within 100ms" || time.Since(started) > 20*time.Second {
		t.Errorf("%+v after %v", e, time.Since(started))
	}
	out, e, _ := command(t.Context(), "lspci", time.Second, os.Environ())
	if len(out) > MaxOutput || !strings.Contains(e.Trouble, "no answer") || len(out) == MaxOutput && !strings.Contains(e.Trouble, "cut at 8 MiB") {
		t.Errorf("%d bytes, %+v", len(out), e)
	}
	l := &limited{limit: 4}
	for range 3 {
		if n, err := l.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if l.kept.String() != "abca" || !l.cut {
		t.Errorf("%q, cut %v", l.kept.String(), l.cut)
	}
}

func TestInterrupted(t *testing.T) {
	tools(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options()
	o.Interval = time.Hour
	if _, err := Write(ctx, io.Discard, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Every ask that can be run here is, or its files are read without it; none is lost on the way.
func TestEveryAskIsMet(t *testing.T) {
	g := &gathering{o: Options{Root: fstest.MapFS{"etc/sonic/x": &fstest.MapFile{}}}}
	run := map[string]bool{}
	for _, a := range g.asks() {
		run[a.Name] = true
	}
	for _, a := range diagnose.AllAsks() {
		if a.On > diagnose.OnSwitch || run[a.Name] {
			continue
		}
		met := false
		for _, d := range direct {
			met = met || d == a.Name
		}
		if !met {
			t.Errorf("%s (%s) is neither run nor read", a.Name, a.Command)
		}
	}
	g.o.Root = fstest.MapFS{}
	for _, a := range g.asks() {
		if a.On == diagnose.OnSwitch {
			t.Errorf("%s would be run on a host", a.Command)
		}
	}
}
