package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const example = `{
  "schema": "shunt/bundle/v1",
  "host": "alpha",
  "files": [
    {"path": "ip_addr.txt", "command": "ip addr", "exit": 0},
    {"path": "dmesg.txt", "command": "dmesg -T", "exit": 1},
    {"path": "lspci.txt", "command": "lspci -vvv", "exit": -1, "trouble": "no answer within 30s"},
    {"path": "limits.txt", "trouble": "cut at 8 MiB"}
  ],
  "missing": [
    {"what": "ibstat", "why": "not installed"},
    {"what": "/etc/nccl.conf", "why": "Permission denied"},
    {"what": "show_gids", "why": "not installed"},
    {"what": "ibstat", "why": "not installed"},
    {"what": "", "why": "not installed"}
  ]
}`

func TestRead(t *testing.T) {
	f := fragment.New(&evidence.Inventory{}, "m.json")
	if err := Read(f, []byte(example), 3); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range f.Inv.Unreadable {
		got = append(got, u.From.String()+" "+u.Why)
	}
	want := []string{
		"m.json:3 not installed: ibstat, show_gids", "m.json:3 Permission denied: /etc/nccl.conf",
		"m.json:3 dmesg -T: failed with exit code 1", "m.json:3 lspci -vvv: no answer within 30s", "m.json:3 limits.txt: cut at 8 MiB",
	}
	if diff := cmp.Diff(want, got); diff != "" || f.Host != "alpha" {
		t.Errorf("host %q\n%s", f.Host, diff)
	}
	for _, bad := range []string{"", "{", `{"schema": "other"}`, `{"schema": "shunt/bundle/v1", "files": 3}`} {
		if err := Read(fragment.New(&evidence.Inventory{}, "x"), []byte(bad), 1); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv := &evidence.Inventory{}
		if err := Read(fragment.New(inv, "x"), text, 1); err != nil && len(inv.Unreadable) > 0 {
			t.Error("a manifest that is none was read")
		}
	})
}
