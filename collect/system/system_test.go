package system

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func TestFacts(t *testing.T) {
	inv := &evidence.Inventory{}
	r := New(fragment.New(inv, "f"))
	for i, line := range strings.Split(`Linux node1.example.org 5.15.0-105-generic #115-Ubuntu SMP Mon Apr 15 09:52:04 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux
BOOT_IMAGE=/vmlinuz-5.15.0-105-generic root=UUID=0a ro iommu=pt
MLNX_OFED_LINUX-24.04-0.6.6.0:
PRETTY_NAME="Ubuntu 22.04.4 LTS"
 10:13:20 up 41 days,  1:30,  2 users,  load average: 0.10, 0.20, 0.30`, "\n") {
		if !Starts([]byte(line)) || !r.Line([]byte(line), i+1) {
			t.Errorf("%q is not taken", line)
		}
	}
	h := inv.Host("node1")
	if got := fmt.Sprint(h.Versions["kernel"], "|", h.Versions["cmdline"], "|", h.Versions["MLNX_OFED"], "|", h.Versions["distribution"]); got != "5.15.0-105-generic|BOOT_IMAGE=/vmlinuz-5.15.0-105-generic root=UUID=0a ro iommu=pt|MLNX_OFED_LINUX-24.04-0.6.6.0|Ubuntu 22.04.4 LTS" {
		t.Error(got)
	}
	if d := h.Uptime.Or(0); d != 41*24*hour+hour+30*60 {
		t.Errorf("up for %v", d)
	}
}

func TestUptime(t *testing.T) {
	for text, want := range map[string]int64{
		"10:13:20 up 5 min,  1 user,  load average: 0": 300, "10:13:20 up  1:51,  0 user,  load average: 0": hour + 51*60,
		"10:13:20 up 1 day,  2 min,  1 user": 24*hour + 120, "10:13 up 3 days, 2 users": 72 * hour,
	} {
		if d, ok := uptime(text); !ok || d != want {
			t.Errorf("%q: %v, %v", text, d, ok)
		}
	}
	if _, ok := uptime("nothing up x"); ok {
		t.Error("an uptime out of nothing")
	}
}

func TestFiles(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	CmdlineFile(f, []byte("initrd=x root=y amd_iommu=on\n"), 0)
	UptimeFile(f, []byte("350735.47 234388.90\n"), 0)
	if h := inv.Host(""); h.Versions["cmdline"].Or("") != "initrd=x root=y amd_iommu=on" || h.Uptime.Or(0) != 350735 {
		t.Errorf("%+v, %v", h.Versions, h.Uptime)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte("Linux a b c GNU/Linux\nx up 65535 days, 99:99, load average: \nBOOT_IMAGE="))
	f.Fuzz(func(t *testing.T, text []byte) {
		fr := fragment.New(&evidence.Inventory{}, "f")
		r := New(fr)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			Starts(line)
			r.Line(line, 1)
		}
		CmdlineFile(fr, text, 0)
		UptimeFile(fr, text, 0)
	})
}
