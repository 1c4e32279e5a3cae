package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// private is a report in which every kind of name stands in every kind of place.
func private() (*Report, *evidence.Inventory, *telemetry.Window) {
	inv := &evidence.Inventory{
		Hosts:    []*evidence.Host{{Name: "trn-a12"}, {Name: "trn-a1"}},
		Switches: []*evidence.Switch{{Name: "fab-lf07", Ports: []evidence.SwitchPort{{Name: "Ethernet8", Peer: "fab-sp2/Ethernet0"}}}, {Name: "fab-sp2"}},
		Files: []evidence.File{
			{Path: "/home/jdoe/zeta-9/trn-a12_nccl.log", Format: "nccl log", Host: "trn-a12"}, {Path: "zeta-9/out/trn-a1.txt", Format: "ethtool -S", Host: "trn-a1"}, {Path: "log", Format: "dmesg"},
		},
		Unreadable: []evidence.Unreadable{{From: evidence.Source{File: "zeta-9/core.bin"}, Why: "binary"}},
		Settings:   []evidence.Setting{{Name: "x", Object: "trn-b3"}},
		NCCL: evidence.NCCL{Events: []evidence.Event{
			{Kind: evidence.ConnectFailed, Host: "trn-a12", Peer: "trn-c9.dc4.zeta.internal"}, {Host: "trn-a1", Peer: "10.20.30.40<4791>"},
		}},
	}
	win := telemetry.NewWindow(units.At(0), units.At(1))
	win.Add(telemetry.Key{Series: telemetry.NICTxBytes, Object: "trn-d4/mlx5_0"}, telemetry.Sample{}, 1, "x", true)
	text := "TRN-A12 and trn-a1 (trn-c9.dc4.zeta.internal, trn-b3, trn-d4): peer 10.20.30.40<4791>, gid ::ffff:10.20.30.40, localGidfe80::a2b:3c4d, 2001:4:5:6::7/64, " +
		"fe80:0000:0000:0000:0c42:a103:0012:3456, node_guid 0c42:a103:0012:3456 or 0x0c42a10300123456, mac 0c:42:a1:12:34:56, serial number: MT2043X01234, SN=QQ77-1234, " +
		"GPU-4f3c2b1a-1234-5678-9abc-def012345678, /data/zeta-9/venv/lib.so, /home/jdoe/x/y, user jdoe, ns.zeta.com, 10.20.30.41, via nccl_trn-a1_x.log"
	return New(diagnose.Result{
		Findings: []diagnose.Finding{{
			Code: "I001", Title: text, Severity: diagnose.Critical, Where: []string{"trn-a12/mlx5_0", "fab-lf07/Ethernet8"}, Because: text,
			Evidence:     []diagnose.Evidence{{Layer: "RDMA", What: text, Seen: text, Expected: text, Role: "cause", From: "/home/jdoe/zeta-9/trn-a12_nccl.log:12"}, {Layer: "host", What: "the log of it", From: "log:4", At: at(3)}},
			Not:          []string{text},
			WrongIf:      text,
			Fix:          diagnose.Fix{Text: text, Commands: []string{"ssh trn-a1 ip addr"}, Try: []diagnose.Change{{Setting: "X", Object: "trn-b3", Value: text}}},
			Settle:       text,
			Consequences: []diagnose.Consequence{{Code: "R004", Title: text}},
			Cost:         &diagnose.Cost{Of: "step", Extra: 5, How: text},
		}},
		Checked: diagnose.Checked{RuledOut: []diagnose.Check{{Code: "P001", Title: "x", Why: text}}, Could: []diagnose.Check{{Code: "P002", Title: "x", Why: "show_gids of trn-a12"}}},
	}, inv, &Run{Title: text, File: "/home/jdoe/zeta-9/scenario.yaml"}), inv, win
}

// secrets are parts of what must not get out, in lower case.
var secrets = []string{"trn", "zeta", "jdoe", "dc4", "fab-", "lf07", "sp2", "10.20", "30.4", "a2b:3c4d", "2001:4:", "a103", "a10300", "0012:3456", "42:a1", "mt2043", "qq77", "4f3c2b1a", "venv", "core.bin"}

func TestNothingOfTheInputIsLeft(t *testing.T) {
	r, inv, win := private()
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	red := NewRedactor(inv, win, r.Run.File).Redact(r)
	for _, f := range Formats {
		var b bytes.Buffer
		if err := f.Write(&b, red, Options{Text: TextOptions{Verbose: true}}); err != nil {
			t.Fatal(err)
		}
		lower := strings.ToLower(b.String())
		for _, s := range secrets {
			if i := strings.Index(lower, s); i >= 0 {
				t.Errorf("%s: %q is left in %q", f.Name, s, lower[max(0, i-30):min(len(lower), i+30)])
			}
		}
	}
	after, err := json.Marshal(r)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the report itself was changed")
	}
}

func TestRedactedText(t *testing.T) {
	_, inv, win := private()
	x := NewRedactor(inv, win)
	for _, c := range []struct{ in, want string }{
		{"trn-a12/mlx5_0 and TRN-A12 and trn-a1", "host-1/mlx5_0 and host-1 and host-2"},
		{"trn-a12.dc4.zeta.internal is trn-a12", "host-1 is host-1"},
		{"trn-a1.log, nccl_trn-a1.txt", "host-2.log, nccl_host-2.txt"},
		{"trn-a123 trn-a12x", "trn-a123 trn-a12x"}, // other words
		{"fab-lf07/Ethernet8 -> fab-sp2/Ethernet0", "switch-1/Ethernet8 -> switch-2/Ethernet0"},
		{"10.20.30.40<4791>, 10.20.30.41/24, ::ffff:10.20.30.40", "192.0.2.1<4791>, 192.0.2.2/24, ::ffff:192.0.2.1"},
		{"127.0.0.1 0.0.0.0/0 ::1 255.255.255.0 ::", "127.0.0.1 0.0.0.0/0 ::1 255.255.255.0 ::"},
		{"remoteGidsfe80::5:6", "remoteGidsfe80::3"},
		{"remoteGids::ffff:10.20.30.41", "remoteGids::ffff:192.0.2.2"},
		{"at 12:34:56 on 0000:81:00.0, NCCL 2.26.2, fw 28.39.1002", "at 12:34:56 on 0000:81:00.0, NCCL 2.26.2, fw 28.39.1002"},
		{"transport/net_ib.cc:1290 std::vector NET/IB/0/GDRDMA", "transport/net_ib.cc:1290 std::vector NET/IB/0/GDRDMA"},
		{"/sys/class/infiniband/mlx5_0 /etc/nccl.conf", "/sys/class/infiniband/mlx5_0 /etc/nccl.conf"},
		{"/home/jdoe/zeta-9/trn-a12_nccl.log:12", "input-1.log:12"},
		{"log:3", "input-2:3"},
		{"the NCCL log", "the NCCL log"},
		{"/scratch/zeta-9/a b", "/path-1 b"},
		{"trn-a12:2101:2101 [0] NCCL INFO", "host-1:2101:2101 [0] NCCL INFO"},
		{"ns1.zeta.com", "name-1.example"},
		{"localGidfe80::77, 0c42:a103:0012:3456", "localGidfe80::4, 0x0000000000000001"},
		{"", ""},
	} {
		if got := x.Text(c.in); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

// Placeholders do not change again, and the report keeps its form.
func TestRedactionKeepsTheForm(t *testing.T) {
	r, inv, win := private()
	red := NewRedactor(inv, win, r.Run.File).Redact(r)
	if red.Schema != r.Schema || red.Findings[0].Code != "I001" || red.Findings[0].Severity != diagnose.Critical || *red.Findings[0].Evidence[1].At != *r.Findings[0].Evidence[1].At {
		t.Errorf("words of our own were changed: %+v", red.Findings[0])
	}
	if diff := cmp.Diff([]string{"host-1/mlx5_0", "switch-1/Ethernet8"}, red.Findings[0].Where); diff != "" {
		t.Error(diff)
	}
}

func TestManyAddresses(t *testing.T) {
	x := NewRedactor(nil, nil)
	seen := map[string]bool{}
	for i := range 70000 {
		seen[x.Text(fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255))] = true
	}
	if len(seen) != 70000 {
		t.Errorf("70000 addresses have %d placeholders", len(seen))
	}
}

// BenchmarkRedactor is a report that names one of ten thousand hosts in every sentence.
func BenchmarkRedactor(b *testing.B) {
	inv := &evidence.Inventory{}
	for i := range 10000 {
		inv.Hosts = append(inv.Hosts, &evidence.Host{Name: fmt.Sprintf("rack%02d-gpu%04d", i/100, i)})
	}
	text := strings.Repeat("rack07-gpu0712 pauses its switch port for 12 % of the time; ", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NewRedactor(inv, nil).Text(text)
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"trn-a1 10.0.0.1", "a::b", "/a/b:3", "fe80::", "1.2.3.4.5"} {
		f.Add(s)
	}
	_, inv, win := private()
	f.Fuzz(func(t *testing.T, s string) {
		x := NewRedactor(inv, win)
		out := x.Text(s)
		if again := x.Text(s); again != out {
			t.Errorf("%q became %q, then %q", s, out, again)
		}
	})
}
