package celrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/diagnose"
	"github.com/shunt-network/shunt/internal/spec"
	"github.com/shunt-network/shunt/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// one compiles a file of one rule.
func one(t *testing.T, fields string) (*Set, error) {
	t.Helper()
	f, err := rules.Parse("r.yaml", []byte("rules:\n  - code: U001\n    title: general\n    because: b\n"+fields))
	if err != nil {
		t.Fatal(err)
	}
	return Compile(f)
}

func judge(t *testing.T, fields string, c rules.Cluster) rules.Verdict {
	t.Helper()
	s, err := one(t, fields)
	if err != nil {
		t.Fatal(err)
	}
	return s.Judge(&c)[0]
}

func cluster() rules.Cluster {
	n := func(v int64) *int64 { return &v }
	x := func(v float64) *float64 { return &v }
	ethernet := "Ethernet"
	return rules.Cluster{
		Hosts: []rules.Host{
			{Name: "node1", Sysctl: map[string]string{"net.ipv4.conf.all.rp_filter": "1"}, NICs: []rules.NIC{{Device: "mlx5_0", MTU: n(1024), LinkLayer: &ethernet, From: "a.txt:3"}}},
			{Name: "node2", NICs: []rules.NIC{{Device: "mlx5_0", MTU: n(4096), LinkLayer: &ethernet}, {Device: "mlx5_1"}}},
		},
		Switches:  []rules.Switch{{Name: "leaf1", Ports: []rules.Port{{Name: "Ethernet8", Rate: n(400e9)}}}},
		Variables: []rules.Variable{{Name: "NCCL_IB_HCA", Value: "mlx5", Host: "node1", From: "env:2"}},
		Series: []rules.Stream{
			{Series: "nic_rx_pause_total", Object: "node1/mlx5_0", Priority: n(3), Growth: x(10), Seconds: x(5)},
			{Series: "nic_rx_pause_total", Object: "node1/mlx5_0", Priority: n(4), Growth: x(2)},
			{Series: "switch_queue_peak_bytes", Object: "leaf1/Ethernet8", Priority: n(3), Max: x(9000), Last: x(10)},
		},
	}
}

// The three values: true where it holds, false where it does not, unknown where what it needs is not there, unless the
// other side of && or || decides.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		subject, when string
		want          rules.Outcome
		why           string
	}{
		{"nic", "nic.mtu < 2000", rules.Found, ""},
		{"nic", "nic.mtu < 500", rules.Unknown, "the mtu of node2/mlx5_1 is not known"},
		{"nic", "nic.mtu < 500 && nic.device == 'mlx5_0'", rules.Clear, "it holds for none of 3 (nic)"},
		{"nic", "has(nic.mtu) && nic.mtu < 500", rules.Clear, "it holds for none of 3 (nic)"},
		{"nic", "nic.rate > 0", rules.Unknown, "the rate of node1/mlx5_0 is not known, and 2 more"},
		{"netdev", "netdev.mtu > 0", rules.Unknown, "no netdev is known"},
		{"cluster", "cluster.hosts.exists(h, h.name == 'node2')", rules.Found, ""},
		{"cluster", "cluster.hosts.exists(h, h.name == 'node3')", rules.Clear, "it does not hold"},
		{"cluster", "cluster.ranks > 8", rules.Unknown, "the ranks of the cluster is not known"},
		{"host", "host.sysctl['net.ipv4.conf.all.rp_filter'] == '1'", rules.Found, ""},
		{"host", "host.sysctl['x'] == '1'", rules.Unknown, "no such key: x, and 1 more"},
		{"port", "port.rate == 400000000000", rules.Found, ""},
		{"variable", "variable.name == 'NCCL_IB_HCA' && !variable.value.startsWith('=')", rules.Found, ""},
		{"nic", "growth('nic_rx_pause_total', nic.object) == 12.0", rules.Found, ""},
		{"nic", "growth('nic_rx_pause_total', nic.object, 4) == 2.0", rules.Found, ""},
		{"nic", "growth('nic_rx_pause_total', nic.object, 5) == 0.0", rules.Unknown, "the growth of nic_rx_pause_total of node1/mlx5_0 is not known, and 2 more"},
		{"nic", "rate('nic_rx_pause_total', nic.object, 3) == 2.0", rules.Found, ""},
		{"nic", "rate('nic_rx_pause_total', nic.object, 4) == 2.0", rules.Unknown, "the rate of nic_rx_pause_total of node1/mlx5_0 is not known, and 2 more"},
		{"port", "level('switch_queue_peak_bytes', port.object) == 9000.0 && last('switch_queue_peak_bytes', port.object, 3) == 10.0", rules.Found, ""},
		{"cluster", "objects('nic_rx_pause_total') == ['node1/mlx5_0']", rules.Found, ""},
		{"cluster", "cluster.hosts.all(h, h.nics.all(n, n.host == h.name && n == n))", rules.Found, ""},
		// A rule that would run for ever ends, and does not pass for one that was checked.
		{"cluster", "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [0,1,2,3,4,5,6,7,8,9].all(f, [0,1,2,3,4,5,6,7,8,9].all(g, [0,1,2,3,4,5,6,7,8,9].all(h, a+b+c+d+e+f+g+h >= 0))))))))", rules.Unknown, "operation cancelled: actual cost limit exceeded"},
	} {
		v := judge(t, "    for: "+c.subject+"\n    when: \""+c.when+"\"\n", cluster())
		if v.Outcome != c.want || v.Why != c.why {
			t.Errorf("%s: %s: %s (%s), want %s (%s)", c.subject, c.when, v.Outcome, v.Why, c.want, c.why)
		}
	}
}

func TestFinding(t *testing.T) {
	got := judge(t, `    for: nic
    when: nic.mtu < 2000
    severity: critical
    confidence: 0.4
    explains: [R001]
    finding: "{nic.object} has {nic.mtu}, {nic.rate} {{braces}} {gbps(400000000000)} {percent(0.125)} {[1, 2]} {1.5} {nic} {true}"
    evidence: [{layer: NIC, what: "MTU of {nic.device}", seen: "{nic.mtu}", expected: "4096", role: cause, from: "{nic.from}"}]
    not: ["another {nic.device}"]
    wrong_if: w
    fix: {text: "set {nic.device}", commands: ["ip link set {nic.device}"]}
    settle: s
`, cluster())
	want := diagnose.Finding{
		Title: "node1/mlx5_0 has 1024, unknown {braces} 400Gbps 12.5 % 1, 2 1.5 node1/mlx5_0 true", Severity: diagnose.Critical, Confidence: 0.4,
		Where: []string{"node1/mlx5_0"}, Because: "b",
		Evidence: []diagnose.Evidence{{Layer: "NIC", What: "MTU of mlx5_0", Seen: "1024", Expected: "4096", Role: "cause", From: "a.txt:3"}},
		Not:      []string{"another mlx5_0"}, WrongIf: "w", Fix: diagnose.Fix{Text: "set mlx5_0", Commands: []string{"ip link set mlx5_0"}}, Settle: "s",
	}
	if diff := cmp.Diff([]diagnose.Finding{want}, got.Findings); diff != "" {
		t.Error(diff)
	}
	// Without texts of its own a rule shows what was evaluated, and where.
	for fields, where := range map[string]string{
		"    for: variable\n    when: variable.value == 'mlx5'\n": "node1/NCCL_IB_HCA", "    for: host\n    when: host.name == 'node2'\n": "node2", "    when: cluster.hosts.size() == 2\n": "",
	} {
		f := judge(t, fields, cluster()).Findings[0]
		if f.Title != "general" || strings.Join(f.Where, ",") != where || len(f.Evidence) != 1 || f.Evidence[0].Seen == "" {
			t.Errorf("%s: %+v", fields, f)
		}
	}
}

// A fleet-wide fault is cut at the limit of a cause, and no finding is lost before it.
func TestManyFindings(t *testing.T) {
	var c rules.Cluster
	for range diagnose.MaxFindings + 50 {
		c.Hosts = append(c.Hosts, rules.Host{Name: "node"})
	}
	if n := len(judge(t, "    for: host\n    when: \"true\"\n", c).Findings); n != diagnose.MaxFindings+1 {
		t.Errorf("%d findings", n)
	}
}

// Every mistake of a file is told, with its place.
func TestMistakes(t *testing.T) {
	_, err := load([]string{"testdata/mistakes.yaml", "testdata/nowhere.yaml"})
	var problems spec.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	const golden = "testdata/mistakes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, readErr := os.ReadFile(golden)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" {
		t.Error(diff)
	}
}

// The rules of the example pass their tests, and the tests can fail.
func TestExample(t *testing.T) {
	s, err := load([]string{"../../examples/rules/site.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if failed, err := s.Test(&out); failed != 0 || err != nil {
		t.Errorf("%d failed, %v\n%s", failed, err, out.String())
	}
	src, err := os.ReadFile("../../examples/rules/site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.yaml")
	changed := strings.NewReplacer("nic.mtu != 4096", "nic.mtu == 4096", "where: [node1]", "where: [node9]", "says: \"pauses priority 4", "says: \"pauses priority 5").Replace(string(src))
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = load([]string{path}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	failed, err := s.Test(&out)
	if failed != 4 || err != nil || strings.Count(out.String(), "FAIL") != 4 || !strings.Contains(out.String(), "changed.yaml:21:17: expected found, got clear") {
		t.Errorf("%d failed, %v\n%s", failed, err, out.String())
	}
}

// A test may take the files of a cluster, read as explain reads them.
func TestFilesOfATest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"node1.txt": "[root@node1 ~]# ulimit -l\n64\n",
		"r.yaml":    "rules:\n  - code: U001\n    title: t\n    for: host\n    when: host.memlock != 'unlimited'\n    because: b\n    tests:\n      - {name: a, files: [node1.txt], expect: found, where: [node1]}\n      - {name: b, files: [nowhere.txt], expect: found}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := load([]string{filepath.Join(dir, "r.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if failed, err := s.Test(&out); failed != 1 || err != nil || !strings.HasPrefix(out.String(), "ok    U001  a\nFAIL  U001  b\n") {
		t.Errorf("%d failed, %v\n%s", failed, err, out.String())
	}
}

func TestProgram(t *testing.T) {
	run := func(in string, args ...string) (code int, out, complaints string) {
		var o, c bytes.Buffer
		code = Main(args, strings.NewReader(in), &o, &c)
		return code, o.String(), c.String()
	}
	question, err := json.Marshal(rules.Question{Schema: rules.Schema, Files: []string{"../../examples/rules/site.yaml"}, Cluster: new(cluster())})
	if err != nil {
		t.Fatal(err)
	}
	code, out, complaints := run(string(question), "run")
	var a rules.Answer
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 || complaints != "" || len(a.Verdicts) != 8 || a.Verdicts[0].Outcome != rules.Found {
		t.Errorf("%d %v %s %+v", code, err, complaints, a)
	}
	for _, c := range []struct {
		in   string
		args []string
		code int
	}{
		{"", nil, 0}, {"", []string{"--help"}, 0}, {"", []string{"check"}, 2}, {"", []string{"run", "x"}, 2}, {"", []string{"dance", "x"}, 2}, {"", []string{"run"}, 5}, {"{}", []string{"run"}, 5},
		{"", []string{"check", "../../examples/rules/site.yaml"}, 0}, {"", []string{"test", "../../examples/rules/site.yaml"}, 0}, {"", []string{"check", "testdata/mistakes.yaml"}, 2},
	} {
		if code, out, complaints := run(c.in, c.args...); code != c.code {
			t.Errorf("%v: %d, want %d\n%s%s", c.args, code, c.code, out, complaints)
		}
	}
}

// FuzzRules: a file of rules is foreign too. Whatever stands in it is told or runs; nothing panics.
func FuzzRules(f *testing.F) {
	src, err := os.ReadFile("testdata/mistakes.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	f.Add([]byte("rules:\n  - {code: U001, title: t, when: \"cluster.hosts[0].nics[0].gids[0].index > 1\", because: '{cluster}'}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		file, err := rules.Parse("f.yaml", text)
		if err != nil && file == nil {
			return
		}
		if s, err := Compile(file); err == nil {
			c := cluster()
			s.Judge(&c)
		}
	})
}
