package diagnose

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever is told that a cause could not be checked is told what to run next.
func TestEveryCauseAsks(t *testing.T) {
	known := map[string]bool{}
	for _, c := range Causes() {
		known[c.Code] = true
		if len(Asks(c.Code)) == 0 {
			t.Errorf("%s (%s) asks for nothing: name in ask.go what would decide it (%s)", c.Code, c.Title, c.Needs)
		}
	}
	for code := range asks {
		if !known[code] {
			t.Errorf("ask.go has %s, which is no cause", code)
		}
	}
}

// readers are the programs that asks may run: each only reads as it is called there.
var readers = map[string]*regexp.Regexp{
	"show_gids": nil, "ibstat": nil, "ibstatus": nil, "ibdev2netdev": nil, "hostname": regexp.MustCompile(`^hostname$`), "nvidia-smi": regexp.MustCompile(`^nvidia-smi (-q|topo -m)$`),
	"ibv_devinfo": nil, "ip": regexp.MustCompile(`^ip (addr|rule|neigh|route show table all)$`), "iptables": regexp.MustCompile(`^iptables -L -n$`),
	"sysctl": regexp.MustCompile(`^sysctl -a `), "ethtool": regexp.MustCompile(`^ethtool (-S |-a |-m |-c |-i |--show-fec )?\{netdev\}$`), "lspci": nil, "dmesg": regexp.MustCompile(`^dmesg -T$`),
	"mlxconfig": regexp.MustCompile(`^mlxconfig query$`), "ulimit": regexp.MustCompile(`^ulimit -l$`), "df": nil, "ls": nil, "cat": nil, "grep": nil, "env": regexp.MustCompile(`^env$`),
	"lscpu": nil, "dcgmi": regexp.MustCompile(`^dcgmi health -g 0 -c$`), "mlnx_qos": regexp.MustCompile(`^mlnx_qos -i \{netdev\}$`), "show": nil, "crm": regexp.MustCompile(`^crm show resources all$`), "fi_info": nil, "sonic-cfggen": regexp.MustCompile(`^sonic-cfggen -d --var-json `),
}

func TestAsksOnlyRead(t *testing.T) {
	for _, a := range AllAsks() {
		if a.On == NextRun || a.On == FromJob {
			continue
		}
		if strings.ContainsAny(a.Command, "><`") || strings.Contains(a.Command, "$(") || strings.Contains(a.Command, "sudo") {
			t.Errorf("%q writes somewhere, or runs what cannot be seen here", a.Command)
		}
		outside := regexp.MustCompile(`'[^']*'`).ReplaceAllStringFunc(a.Command, func(q string) string { return strings.Map(keep, q) })
		for _, part := range regexp.MustCompile(`[;|&]+`).Split(outside, -1) {
			part = strings.TrimSpace(part)
			program, _, _ := strings.Cut(part, " ")
			form, ok := readers[program]
			if !ok {
				t.Errorf("%q: %s is not among the programs that are known to read only", a.Command, program)
			} else if form != nil && !form.MatchString(part) {
				t.Errorf("%q: %q is not a form that is known to read only", a.Command, part)
			}
		}
	}
}

// keep takes the separators out of what stands in quotes.
func keep(r rune) rune {
	if strings.ContainsRune(";|&", r) {
		return '.'
	}
	return r
}

// The name of a file is given once, has no blank or slash, and is of one command.
func TestAsksHaveFilesOfTheirOwn(t *testing.T) {
	names := map[string]string{}
	for _, a := range AllAsks() {
		if !regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z])?$`).MatchString(a.Name) {
			t.Errorf("%q is no name for a file; digits at the end would be read as a host's", a.Name)
		}
		if other, ok := names[a.Name]; ok {
			t.Errorf("%q and %q both go into %s", a.Command, other, a.Name)
		}
		names[a.Name] = a.Command
	}
}

func TestOpen(t *testing.T) {
	open := Open(
		[]Finding{{Code: "P001", Confidence: 0.5}, {Code: "H006", Confidence: 1}, {Code: "H006", Confidence: 1, Settle: "lspci"}},
		Checked{Could: []Check{{Code: "H002"}, {Code: "Z999"}}})
	var got []string
	for _, o := range open {
		got = append(got, o.Name+" "+strings.Join(o.For, ","))
	}
	if diff := cmp.Diff([]string{"ethtool P001", "ibstat P001", "interfaces_status P001", "lspci H006,H002", "nccl H002"}, got); diff != "" {
		t.Error(diff)
	}
	if open := Open([]Finding{{Code: "P001", Confidence: 1}}, Checked{}); len(open) != 0 {
		t.Errorf("nothing is in doubt, yet it asks for %v", open)
	}
	a := Asks("P001")
	a[0].Name = "changed"
	if slices.Contains(Asks("P001"), a[0]) {
		t.Error("the table can be changed from outside")
	}
}
