package gather

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shunt-network/shunt/diagnose"
)

// Options say what is read and how long it may take.
type Options struct {
	Host     string
	Root     fs.FS         // the file system, from its root
	Home     string        // of the user, for ~/.nccl.conf; "" for none
	Env      []string      // the environment of this process
	IsRoot   bool          // this process may read everything
	PIDs     []int         // processes of the job: their variables and limits
	Interval time.Duration // between two readings of counters; 0 reads once
	Timeout  time.Duration // of one command
	Version  string        // of the program
	Progress func(what string)
}

// more are commands that no cause asks for by itself but that place what others tell.
var more = []diagnose.Ask{
	{Name: "lscpu", Command: "lscpu"},
	{Name: "interrupts", Command: "cat /proc/interrupts", Twice: true},
	{Name: "numactl", Command: "numactl -H"},
	{Name: "rdma_link", Command: "rdma link"},
	{Name: "ethtool_i", Command: "ethtool -i {netdev}"},
	{Name: "ofed_info", Command: "ofed_info -s"},
	{Name: "journal", Command: "journalctl -k -b --no-pager -n 20000"}, // dmesg is for root on many systems
}

// direct are the names of asks whose command only prints files: these are read without it.
var direct = []string{"gids", "hw_counters", "port_counters", "env", "nccl_conf", "sysctl", "ulimit", "boot_id", "irq_affinity"}

// gathering is one bundle in the making.
type gathering struct {
	o       Options
	b       *bundle
	m       *Manifest
	netdevs []string
	env     []string // that commands run with
}

// Write reads the host and writes its bundle to w, a gzipped tar with one folder. The manifest is in the bundle as well.
// The error is one of writing, or the context's.
func Write(ctx context.Context, w io.Writer, o Options) (*Manifest, error) {
	made := time.Now().UTC().Truncate(time.Second)
	g := &gathering{
		o: o, b: newBundle(w, o.Host, made), netdevs: netdevs(o.Root),
		m: &Manifest{Schema: Schema, Host: o.Host, Made: made, Shunt: o.Version, Root: o.IsRoot, Versions: versions(o.Root), Files: []Entry{}, Missing: []Missing{}},
	}
	if g.m.Versions == nil {
		g.m.Versions = []Version{}
	}
	for _, v := range o.Env { // the language of the outputs is that of the parsers
		if name, _, _ := strings.Cut(v, "="); name != "LANG" && !strings.HasPrefix(name, "LC_") {
			g.env = append(g.env, v)
		}
	}
	g.env = append(g.env, "LC_ALL=C")
	err := g.b.file("hostname", []byte(o.Host+"\n")) // whose the rest is, in a form that needs no manifest
	if err == nil {
		err = g.all(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	text, err := g.m.encode()
	if err == nil {
		err = g.b.file(ManifestName, text)
	}
	if err == nil {
		err = g.b.close()
	}
	if err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	return g.m, nil
}

// all reads the counters, everything else, and the counters again: what takes long is done while they grow.
func (g *gathering) all(ctx context.Context) error {
	asks := g.asks()
	first := time.Now()
	if err := g.counters(ctx, asks, "before/"); err != nil {
		return err
	}
	if err := g.files(); err != nil {
		return err
	}
	for _, a := range asks {
		if a.Twice {
			continue
		}
		if err := g.ask(ctx, a, ""); err != nil {
			return err
		}
	}
	if g.o.Interval <= 0 {
		return nil
	}
	g.progress("waiting for the second reading of the counters")
	if err := sleep(ctx, g.o.Interval-time.Since(first)); err != nil {
		return err
	}
	elapsed := time.Since(first).Milliseconds()
	g.m.Elapsed = elapsed
	return g.counters(ctx, asks, fmt.Sprintf("after_%dms/", elapsed))
}

// asks lists what is run on this host.
func (g *gathering) asks() []diagnose.Ask {
	_, err := fs.Stat(g.o.Root, "etc/sonic")
	var list []diagnose.Ask
	for _, a := range slices.Concat(diagnose.AllAsks(), more) {
		onSwitch := a.On == diagnose.OnSwitch
		there := slices.ContainsFunc(list, func(b diagnose.Ask) bool { return b.Name == a.Name }) // more may have become a cause's
		if there || a.On > diagnose.OnSwitch || onSwitch && err != nil || slices.Contains(direct, a.Name) || strings.ContainsAny(a.Command, "'|;*") {
			continue
		}
		list = append(list, a)
	}
	return list
}

// counters reads every counter once, into a folder.
func (g *gathering) counters(ctx context.Context, asks []diagnose.Ask, folder string) error {
	g.progress("counters")
	for _, a := range asks {
		if a.Twice {
			if err := g.ask(ctx, a, folder); err != nil {
				return err
			}
		}
	}
	return g.text(folder+"infiniband_counters", "grep . counters hw_counters", counters(g.o.Root), "/sys/class/infiniband")
}

// ask runs one command, for each interface where it is about one.
func (g *gathering) ask(ctx context.Context, a diagnose.Ask, folder string) error {
	if !strings.Contains(a.Command, "{netdev}") {
		return g.run(ctx, folder+a.Name, a.Command)
	}
	for _, dev := range g.netdevs {
		if err := g.run(ctx, folder+a.Name+"_"+dev, strings.ReplaceAll(a.Command, "{netdev}", dev)); err != nil {
			return err
		}
	}
	return nil
}

// run runs one command and adds what it printed, behind a prompt that tells whose it is.
func (g *gathering) run(ctx context.Context, name, line string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.progress(line)
	out, e, ok := command(ctx, line, g.o.Timeout, g.env)
	if err := ctx.Err(); err != nil {
		return err
	}
	program, _, _ := strings.Cut(line, " ")
	if !ok {
		g.missing(program, "not installed")
		return nil
	}
	return g.add(name, line, out, e)
}

// text adds the content of files of the kernel, under the command that would have printed it.
func (g *gathering) text(name, line, content, what string) error {
	if content == "" {
		g.missing(what, "nothing there")
		return nil
	}
	return g.add(name, line, []byte(content), Entry{})
}

func (g *gathering) add(name, line string, out []byte, e Entry) error {
	e.Path = name + ".txt"
	content := append([]byte(fmt.Sprintf("[shunt@%s ~]$ %s\n", g.o.Host, line)), out...)
	e.Bytes = int64(len(content))
	g.m.Files = append(g.m.Files, e)
	return g.b.file(e.Path, content)
}

// missing notes, once, what could not be had.
func (g *gathering) missing(what, why string) {
	if m := (Missing{what, why}); !slices.Contains(g.m.Missing, m) {
		g.m.Missing = append(g.m.Missing, m)
	}
}

// files reads what needs no command.
func (g *gathering) files() error {
	g.progress("/sys and /proc")
	for _, f := range []struct{ name, line, content, what string }{
		{"infiniband", "grep . infiniband", infiniband(g.o.Root), "/sys/class/infiniband"},
		{"sysctl", "sysctl -a", sysctls(g.o.Root), "/proc/sys/net/ipv4/conf"},
		{"irq_affinity", "grep . smp_affinity_list", affinities(g.o.Root), "/proc/irq"},
		{"env", "env", lines(variables(g.o.Env)), "variables of NCCL, UCX and the like in this environment"},
	} {
		if err := g.text(f.name, f.line, f.content, f.what); err != nil {
			return err
		}
	}
	type file struct{ path, name, line string }
	list := []file{
		{"proc/self/limits", "limits", "cat /proc/self/limits"},
		{"etc/nccl.conf", "nccl_conf", "cat /etc/nccl.conf"},
	}
	if g.o.Home != "" {
		list = append(list, file{strings.TrimPrefix(path.Join(g.o.Home, ".nccl.conf"), "/"), "nccl_conf_home", "cat ~/.nccl.conf"})
	}
	for _, pid := range g.o.PIDs {
		dir, folder := path.Join("proc", strconv.Itoa(pid)), fmt.Sprintf("pid/%d/", pid)
		list = append(list, file{path.Join(dir, "limits"), folder + "limits", "cat /" + path.Join(dir, "limits")},
			file{path.Join(dir, "root/etc/nccl.conf"), folder + "nccl_conf", "cat /etc/nccl.conf"})
		env, err := whole(g.o.Root, path.Join(dir, "environ"))
		if err != nil {
			g.missing("/"+path.Join(dir, "environ"), reason(err))
			continue
		}
		what := fmt.Sprintf("variables of NCCL, UCX and the like of process %d", pid)
		if err := g.text(folder+"env", "env", lines(variables(strings.Split(string(env), "\x00"))), what); err != nil {
			return err
		}
	}
	for _, f := range list {
		content, err := whole(g.o.Root, f.path)
		if err != nil {
			g.missing("/"+f.path, reason(err))
			continue
		}
		if err := g.add(f.name, f.line, content, Entry{}); err != nil {
			return err
		}
	}
	return nil
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func (g *gathering) progress(what string) {
	if g.o.Progress != nil {
		g.o.Progress(what)
	}
}

// sleep waits for d, or for the context's end.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
