package limits

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

type reader interface{ Line([]byte, int) bool }

func read(file string, open func(*fragment.Fragment) reader, text string) *evidence.Host {
	inv := &evidence.Inventory{}
	p := open(fragment.New(inv, file))
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		p.Line([]byte(line), n)
	}
	return inv.Host("")
}

func TestMemlock(t *testing.T) {
	for _, tc := range []struct{ file, text, want string }{
		{"f", "$ ulimit -l\n8192", "8192"},
		{"f", "user@node1:~$ ulimit -l\nunlimited", "unlimited"},
		{"ulimit.txt", "65536", "65536"},
		{"f", "max locked memory       (kbytes, -l) 65536", "65536"},
		{"f", "Max locked memory         8388608              8388608              bytes", "8192"},
		{"f", "Max locked memory         unlimited            unlimited            bytes", "unlimited"},
		{"f", "8192", "unknown"}, // nothing says what the number is
		{"f", "$ ulimit -l\nbash: no such limit", "unknown"},
	} {
		if got := read(tc.file, func(f *fragment.Fragment) reader { return NewMemlock(f) }, tc.text).Memlock.String(); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestUlimitAll(t *testing.T) {
	h := read("f", func(f *fragment.Fragment) reader { return NewMemlock(f) }, "real-time non-blocking time  (microseconds, -R) unlimited\ncore file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) 8192\nopen files                          (-n) 1024\nother (x) 5")
	if h.Memlock.Or("") != "8192" || h.Limits["open files"].Or("") != "1024" || h.Limits["real-time non-blocking time"].Or("") != "unlimited" || len(h.Limits) != 4 {
		t.Errorf("%v, %v", h.Memlock, h.Limits)
	}
}

func TestLocateSysctl(t *testing.T) {
	for p, want := range map[string]string{"proc/sys/net/core/rmem_max": "net.core.rmem_max", "a/proc/sys/vm/zone": "vm.zone", "sys/net/core/x": "", "proc/sys/": ""} {
		if got, ok := LocateSysctl(p); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", p, got, ok)
		}
	}
}

func TestDF(t *testing.T) {
	for text, want := range map[string]string{
		"Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       100G   50G   50G  50% /\nshm              64M   64M     0 100% /dev/shm": "64MiB",
		"Filesystem     1K-blocks  Used Available Use% Mounted on\ntmpfs            65536     0     65536   0% /dev/shm":                            "64MiB",
		"Filesystem     1M-blocks  Used Available Use% Mounted on\ntmpfs            64     0     64   0% /dev/shm":                                  "64MiB",
		"Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       100G   50G   50G  50% /":                                                 "unknown",
	} {
		if got := read("f", func(f *fragment.Fragment) reader { return NewDF(f) }, text).Shm.String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestSysctl(t *testing.T) {
	h := read("f", func(f *fragment.Fragment) reader { return NewSysctl(f) }, "net.ipv4.conf.all.arp_ignore = 0\nnet.ipv4.ip_local_port_range=32768\t60999\nnot one = 3")
	if got := fmt.Sprint(h.Sysctl); got != "map[net.ipv4.conf.all.arp_ignore:0 net.ipv4.ip_local_port_range:32768\t60999]" {
		t.Error(got)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("ulimit -l\n8192\nmax locked memory\nMax locked memory 1 2 3"))
	f.Add([]byte("Filesystem Size\na 9999999999T b c d /dev/shm\nnet.a=b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		fr := fragment.New(inv, "ulimit")
		ps := []reader{NewMemlock(fr), NewDF(fr), NewSysctl(fr)}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			for _, p := range ps {
				p.Line(line, 1)
			}
			StartsMemlock(line)
			StartsDF(line)
			StartsSysctl(line)
		}
		if b, ok := inv.Host("").Shm.Get(); ok && b < 0 {
			t.Fatalf("a negative size: %v", b)
		}
	})
}
