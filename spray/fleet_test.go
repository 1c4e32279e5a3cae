package spray

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fleet makes NICs of lines "host firmware layout"; - is not known.
func fleet(lines ...string) (nics []FleetNIC) {
	for _, l := range lines {
		f := strings.Fields(strings.ReplaceAll(l, "-", "?"))
		n := FleetNIC{Host: f[0], Device: "mlx5_0", Firmware: f[1], Layout: Layout(strings.ReplaceAll(f[2], "?", "-"))}
		if n.Firmware == "?" {
			n.Firmware = ""
		}
		if f[2] == "?" {
			n.Layout = ""
		}
		nics = append(nics, n)
	}
	return nics
}

func TestCheckFleet(t *testing.T) {
	for _, c := range []struct {
		name    string
		nics    []FleetNIC
		status  FleetStatus
		pairs   []string // "a b outcome pairs"
		changes []string // "group text"
	}{
		{"one layout", fleet("node1 28.39.1002 v2", "node2 28.39.1002 v2", "node3 28.43.1014 v2"), FleetAgrees, nil, nil},
		{"one firmware, layout not known", fleet("node1 28.39.1002 -", "node2 28.39.1002 -"), FleetAgrees, nil, nil},
		{"the board is no part of the version", []FleetNIC{{Host: "node1", Firmware: "28.39.1002 (MT_0000000838)"}, {Host: "node2", Firmware: "28.39.1002"}}, FleetAgrees, nil, nil},
		// S0.12: two vendors, bits 15 to 8.
		{"two vendors", fleet("node1 28.39.1002 time-high", "node2 28.39.1002 time-high", "node3 1.2.3.4 path-high"), FleetDisagrees,
			[]string{"0 1 misread 2"}, []string{"1 no firmware of this model"}},
		{"two versions", fleet("node1 28.39.1002 v1", "node2 28.43.1014 v2", "node3 28.43.1014 v2"), FleetDisagrees,
			[]string{"0 1 rejected 2"}, []string{"1 bring to 28.43.1014, which has layout v2"}},
		{"versions beside none", fleet("node1 28.39.1002 v2", "node2 28.39.1002 path-high"), FleetDisagrees, []string{"0 1 misread 1"}, []string{"1 set layout path-high"}},
		{"no ids at one end", fleet("node1 28.39.1002 v2", "node2 28.39.1002 none"), FleetAgrees, []string{"0 1 no ids 1"}, []string{"0 set layout v2"}},
		{"layouts of vendors", fleet("node1 28.39.1002 acme-a", "node2 28.39.1002 acme-b"), FleetDisagrees, []string{"0 1 misread 1"}, []string{"1 set layout acme-a"}},
		// Unknown is not well.
		{"two firmwares, layouts not known", fleet("node1 28.39.1002 -", "node2 28.43.1014 -", "node3 28.43.1014 -"), FleetUndecided,
			[]string{"0 1 unknown 2"}, []string{"1 bring to 28.43.1014, the newest"}},
		{"nothing known", fleet("node1 - -", "node2 - -"), FleetUndecided, []string{"0 0 unknown 1"}, nil},
		{"one NIC, nothing known", fleet("node1 - -"), FleetUndecided, nil, nil},
		{"one known", fleet("node1 28.39.1002 v2", "node2 28.43.1014 -"), FleetUndecided, []string{"0 1 unknown 1"}, nil},
		{"two models", fleet("node1 28.39.1002 -", "node2 22.39.1002 -"), FleetUndecided, []string{"0 1 unknown 1"}, nil},
		{"nothing", nil, FleetUndecided, nil, nil},
	} {
		v := CheckFleet(c.nics, nil)
		var pairs, changes []string
		for _, p := range v.Pairs {
			pairs = append(pairs, fmt.Sprintf("%d %d %s %d", p.A, p.B, p.Outcome, p.NICPairs))
			if p.Why == "" {
				t.Errorf("%s: no reason for %+v", c.name, p)
			}
		}
		for i, ch := range v.Changes {
			changes = append(changes, fmt.Sprintf("%d %s", ch.Group, ch.Do))
			if i < len(c.changes) && strings.HasPrefix(changes[i], c.changes[i]) {
				changes[i] = c.changes[i]
			}
		}
		if v.Status != c.status || !cmp.Equal(pairs, c.pairs) || !cmp.Equal(changes, c.changes) {
			t.Errorf("%s: %s, %v, %v; want %s, %v, %v", c.name, v.Status, pairs, changes, c.status, c.pairs, c.changes)
		}
	}
}

// More kinds of NIC than any site has are cut, and the verdict says so and does not call them well.
func TestFleetOfManyKinds(t *testing.T) {
	var nics []FleetNIC
	for i := range maxGroups + 3 {
		nics = append(nics, FleetNIC{Host: "node1", Firmware: fmt.Sprintf("28.39.%d", i), Layout: "v2"})
	}
	if v := CheckFleet(nics, nil); v.Status != FleetUndecided || len(v.Groups) != maxGroups || !strings.Contains(v.Notes[0], "3 rarest") {
		t.Errorf("%s, %d groups, %v", v.Status, len(v.Groups), v.Notes)
	}
}

// The minimum of the article is a number of another family than the NIC's it names: it bounds none of them, and the verdict says so. A minimum
// of the right family does.
func TestFleetMinimum(t *testing.T) {
	article, ok := ParseFirmware(ArticleMinimum)
	if !ok || article.Model() != "BlueField-2" {
		t.Fatalf("%s is %q", ArticleMinimum, article.Model())
	}
	v := CheckFleet(fleet("node1 28.31.1014 -", "node2 28.31.1014 -"), []Firmware{article})
	if v.Status != FleetAgrees || len(v.Changes) > 0 || !strings.Contains(strings.Join(v.Notes, "\n"), "BlueField-2") {
		t.Errorf("%+v", v)
	}
	if v := CheckFleet(fleet("node1 24.31.1014 -"), []Firmware{article}); v.Status != FleetDisagrees || len(v.Changes) != 1 {
		t.Errorf("an old BlueField-2: %+v", v)
	}
	if v := CheckFleet(fleet("node1 24.32.2006 -"), []Firmware{article}); v.Status != FleetAgrees {
		t.Errorf("the minimum itself: %+v", v)
	}
	own, _ := ParseFirmware("28.39.1002")
	if v := CheckFleet(fleet("node1 28.38.1002 v2", "node2 28.39.1002 v2"), []Firmware{article, own}); v.Status != FleetDisagrees || v.Changes[0].Do != "upgrade: older than the minimum 28.39.1002" {
		t.Errorf("%+v", v)
	}
}

// A layout that is set on a firmware too old for it.
func TestFleetSince(t *testing.T) {
	nics := fleet("node1 28.38.1002 v2", "node2 28.43.1014 v2")
	nics[0].Since, nics[1].Since = "28.39.1002", "28.39.1002"
	v := CheckFleet(nics, nil)
	if v.Status != FleetDisagrees || len(v.Changes) != 1 || v.Changes[0].Do != "upgrade: 28.39.1002 understands layout v2, this one is older" {
		t.Errorf("%s %+v", v.Status, v.Changes)
	}
}

func TestParseFirmware(t *testing.T) {
	for text, want := range map[string]string{
		"28.39.1002": "28.39.1002", "28.39.1002 (MT_0000000838)": "28.39.1002", " 16.35.4030\n": "16.35.4030", "229.2.52.0/pkg 229.2.52.0": "229.2.52.0", "1.70": "1.70",
		"": "", "N/A": "", "28": "", "28..1": "", "28.39.1002.1.1": "", "-1.2.3": "", "1.2.4294967296": "", "a.b.c": "",
	} {
		f, ok := ParseFirmware(text)
		if ok != (want != "") || ok && f.String() != want {
			t.Errorf("%q is %s, %t", text, f, ok)
		}
	}
	older, _ := ParseFirmware("28.9.2000")
	newer, _ := ParseFirmware("28.10.1000")
	if older.Compare(newer) >= 0 || newer.Compare(older) <= 0 || newer.Compare(newer) != 0 {
		t.Error("versions are numbers, not texts")
	}
	if broadcom, _ := ParseFirmware("28.2.52.0"); newer.Model() != "ConnectX-7" || broadcom.Model() != "" {
		t.Error("models")
	}
}

func TestParseFleet(t *testing.T) {
	got, err := ParseFleet("fleet.csv", strings.NewReader("\xef\xbb\xbfHost, firmware,layout,device\n# a remark\nnode1,28.39.1002,v2,mlx5_0\n\n\"node2\", 28.39.1002 ,,\nnode3,28.39.1002\n"))
	want := []FleetNIC{
		{Host: "node1", Device: "mlx5_0", Firmware: "28.39.1002", Layout: "v2", From: "fleet.csv:3"},
		{Host: "node2", Firmware: "28.39.1002", From: "fleet.csv:5"},
		{Host: "node3", Firmware: "28.39.1002", From: "fleet.csv:6"},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for text, wants := range map[string][]string{
		"":                                   {"fleet.csv: no line names the columns"},
		"host\nnode1\n":                      {"fleet.csv:1: host, and firmware or layout"},
		"host,firmware,colour\n":             {`fleet.csv:1: no column is called "colour"`},
		"host,firmware,host\n":               {`fleet.csv:1: column "host" twice`},
		"host,layout\n,v2\nnode2,v2,x\n\"\"": {"fleet.csv:2: no host", "fleet.csv:3: 3 values for 2 columns", "fleet.csv:4: no host"},
		"host,layout\nno\"de,v2\n,v2\n":      {"fleet.csv:2: bare", "fleet.csv:3: no host"},
	} {
		_, err := ParseFleet("fleet.csv", strings.NewReader(text))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
		}
	}
	for head, want := range map[string]bool{"host,firmware\n": true, "\xef\xbb\xbfHost, Layout": true, "host\n": false, "CA 'mlx5_0'\n": false, "": false, "ghost,firmware": false} {
		if IsFleetTable([]byte(head)) != want {
			t.Errorf("%q", head)
		}
	}
}

func FuzzParseFleet(f *testing.F) {
	f.Add("host,device,model,firmware,layout\nnode1,mlx5_0,,28.39.1002,v2\n")
	f.Add("\xef\xbb\xbfhost,firmware\n\"a\nb\",1.2.3\n#x\n")
	f.Add("layout,host\nv1,\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		nics, err := ParseFleet("f", strings.NewReader(text))
		if err == nil && len(nics) > strings.Count(text, "\n")+strings.Count(text, "\r") {
			t.Errorf("%d NICs of %q", len(nics), text)
		}
		v := CheckFleet(nics, nil)
		n := 0
		for _, g := range v.Groups {
			n += len(g.NICs)
		}
		if n != len(nics) && len(v.Groups) < maxGroups {
			t.Errorf("%d of %d NICs are in groups", n, len(nics))
		}
	})
}
