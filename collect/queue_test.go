package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/telemetry"
	"github.com/shunt-network/shunt/units"
)

// whole compares inventories and windows by everything in them.
var whole = cmp.Options{
	cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "github.com/shunt-network/shunt") }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b units.Instant) bool { return a == b }),
}

// filed is a queue of everything in a file system.
func filed(fsys fs.FS, parallel int) *queue {
	q := newQueue(Options{Parallel: parallel, Connections: true})
	q.walker().walk(fsys, ".", root{}, 0)
	return q
}

// alone reads everything by one session, as files that name no host are.
func alone(t *testing.T, fsys fs.FS) (*evidence.Inventory, *telemetry.Window) {
	t.Helper()
	q := filed(fsys, 1)
	groups := q.together()
	sessions := []*session{nil}
	q.read(context.Background(), groups, sessions)
	inv, w, err := q.merge(groups, sessions).result()
	if err != nil {
		t.Fatal(err)
	}
	return inv, w
}

// cluster is a file system of some hosts with ten files each, laid out by host, by tool, or flat.
func cluster(hosts int, layout string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for h := range hosts {
		for name, data := range hostFiles10(h) {
			var at string
			switch layout {
			case "by host":
				at = fmt.Sprintf("node%d/%s", h, name)
			case "by tool":
				at = fmt.Sprintf("%s/node%d_%s", strings.TrimSuffix(name, ".txt"), h, name)
			default:
				at = fmt.Sprintf("node%d_%s", h, name)
			}
			fsys[at] = &fstest.MapFile{Data: data}
		}
	}
	return fsys
}

// The findings rest on what is the same however many files are read at a time, and as if they had been read one after
// another.
func TestReadSideBySide(t *testing.T) {
	job := func(hosts int) *fstest.MapFile {
		var b strings.Builder
		for h := range hosts {
			fmt.Fprintf(&b, "node%[1]d:1000:2000 [0] NCCL INFO comm 0x1 rank %[1]d nranks 8 cudaDev 0 busId 8d000 - Init COMPLETE\n", h)
			fmt.Fprintf(&b, "node%d:1000:2000 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n", h)
			fmt.Fprintf(&b, "node%d:1000:2000 [0] NCCL INFO NCCL_IB_TC set by environment to 106.\n", h)
			fmt.Fprintf(&b, "node%d:1000:2000 [0] transport/net_ib.cc:100 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n", h)
		}
		return &fstest.MapFile{Data: []byte(b.String())}
	}
	withLog := cluster(3, "by tool")
	withLog["a_job.log"] = job(3)
	transcript := cluster(4, "by host")
	transcript["session.txt"] = &fstest.MapFile{Data: []byte("root@node2:~# ethtool -a ens3np0\nPause parameters for ens3np0:\nRX:\t\ton\nTX:\t\ton\n")}
	moved := cluster(4, "by host") // the folder of one host speaks of another, which speaks of a third
	moved["node1/ulimit.txt"] = &fstest.MapFile{Data: []byte("root@node2:~# ulimit -l\n65536\n")}
	moved["node2/ulimit.txt"] = &fstest.MapFile{Data: []byte("root@node3:~# ulimit -l\n65536\n")}
	archives := fstest.MapFS{}
	for h := range 3 {
		archives[fmt.Sprintf("bundle%c.tar.gz", 'a'+h)] = &fstest.MapFile{Data: gzipOf(tarOf(t, cluster(h+1, "by host")))}
	}
	for _, tc := range []struct {
		name   string
		fsys   fstest.MapFS
		groups int // before the files are read, and after
		after  int
	}{
		{"by host", cluster(3, "by host"), 3, 3},
		{"by tool", cluster(3, "by tool"), 3, 3},
		{"flat", cluster(3, "flat"), 3, 3},
		{"with the log of the job", withLog, 4, 4},
		{"a transcript of a host that has a folder", transcript, 5, 4},
		{"hosts in folders of others", moved, 4, 2},
		{"archives with the same hosts", archives, 3, 1},
		{"no host in any name", fstest.MapFS{"ibstat.txt": cluster(1, "flat")["node0_ibstat.txt"], "job.log": job(2)}, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, w := alone(t, tc.fsys)
			if len(inv.Hosts) == 0 || w.Empty() && strings.HasPrefix(tc.name, "by") {
				t.Fatalf("nothing was read: %v", unread(inv))
			}
			q := filed(tc.fsys, 1)
			groups := q.groups()
			if len(groups) != tc.groups {
				t.Errorf("%d groups: %v", len(groups), groups)
			}
			sessions := make([]*session, len(groups))
			q.read(t.Context(), groups, sessions)
			if groups, _ = regroup(groups, sessions); len(groups) != tc.after {
				t.Errorf("%d groups after reading: %v", len(groups), groups)
			}
			for _, parallel := range []int{1, 2, 8} {
				got, window, err := filed(tc.fsys, parallel).load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(inv, got, whole); diff != "" {
					t.Errorf("%d at a time: %s", parallel, diff)
				}
				if diff := cmp.Diff(w, window, whole); diff != "" {
					t.Errorf("%d at a time: %s", parallel, diff)
				}
			}
		})
	}
}

// What one file says of a process is known of the events in another, whichever comes first; a warning that an exception
// repeats is there once.
func TestLogsApart(t *testing.T) {
	inv, _ := load(t, `
-- node1.log --
node1:1000:2000 [0] transport/net_ib.cc:100 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129
-- out.txt --
torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:1, remote process exited or there was a network error, NCCL version 2.18.1
Last error:
NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129
-- train.log --
node1:1000:2000 [0] NCCL INFO comm 0x1 rank 5 nranks 8 cudaDev 0 busId 8d000 - Init COMPLETE
`)
	if e := inv.NCCL.Events; len(e) != 1 || e[0].Rank != 5 || e[0].Host != "node1" {
		t.Errorf("events: %+v", e)
	}
}

// Events are kept by host and kind as if one session had met them all.
func TestEventsApart(t *testing.T) {
	fsys := fstest.MapFS{}
	line := "node1:1000:2000 [0] transport/net_ib.cc:100 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n"
	for _, name := range []string{"node1.log", "node2.log", "node3.log"} {
		fsys[name] = &fstest.MapFile{Data: []byte(strings.Repeat(line, 50))}
	}
	inv, _, err := LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	n := &inv.NCCL
	if len(n.Events) != 64 || n.Events[63].From.String() != "node2.log:14" || len(n.More) != 1 || n.More[0].Count != 86 {
		t.Errorf("%d events, the last %v; %+v", len(n.Events), n.Events[len(n.Events)-1].From, n.More)
	}
}

// Every part of an inventory is put together: lists by mergeLists, and these by hand.
func TestMergeKnowsAllFields(t *testing.T) {
	byHand := []string{"NCCL", "Simulated", "Oldest", "Newest", "Inits", "Ranks", "HasLog", "Repeated", "MoreConnections"}
	for _, v := range []any{evidence.Inventory{}, evidence.NCCL{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if f.Type.Kind() != reflect.Slice && !slices.Contains(byHand, f.Name) {
				t.Errorf("%T.%s is lost where inventories are put together", v, f.Name)
			}
		}
	}
}

// interrupting is a file system that ends the reading when one of its files is opened.
type interrupting struct {
	fstest.MapFS
	at   string
	stop func()
}

func (i interrupting) Open(name string) (fs.File, error) {
	if name == i.at {
		i.stop()
	}
	return i.MapFS.Open(name)
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	q := filed(interrupting{cluster(3, "by host"), "node1/ibstat.txt", stop}, 1)
	inv, w, err := q.load(ctx)
	if !errors.Is(err, context.Canceled) || inv == nil || w == nil {
		t.Fatalf("%v, %v, %v", inv, w, err)
	}
	if len(inv.Hosts) == 0 || inv.Hosts[0].Name != "node0" || len(inv.Hosts) > 2 {
		t.Errorf("%d hosts", len(inv.Hosts))
	}
	got := strings.Join(unread(inv), "\n")
	if !strings.Contains(got, ": interrupted: 1") || !strings.Contains(got, "of 30 files were not read, this one first") || strings.Contains(got, "\n: ") {
		t.Error(got)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := LoadContext(stopped, []string{t.TempDir()}, Options{}); err == nil {
		t.Error("nothing was read and nothing said")
	}
}

// A panic of a parser comes out where Load was called.
func TestPanicSurfaces(t *testing.T) {
	defer func() {
		if value := recover(); value == nil || !strings.Contains(fmt.Sprint(value), "broken disk") || !strings.Contains(fmt.Sprint(value), "queue.go") {
			t.Errorf("%v", value)
		}
	}()
	filed(panicking{cluster(2, "by host")}, 2).load(t.Context())
	t.Error("no panic")
}

type panicking struct{ fstest.MapFS }

func (p panicking) Open(name string) (fs.File, error) {
	f, err := p.MapFS.Open(name)
	if strings.HasSuffix(name, "nccl.log") {
		return panickingFile{f}, err
	}
	return f, err
}

type panickingFile struct{ fs.File }

func (panickingFile) Read([]byte) (int, error) { panic("broken disk") }

// Archives after those that unpack to more than the limit are named and not read; what is not packed is.
func TestUnpackedTogether(t *testing.T) {
	line := "node%d:1:1 [0] NCCL INFO Using network IB\n"
	fsys := fstest.MapFS{"node9.log": {Data: fmt.Appendf(nil, line, 9)}}
	for h := 1; h < 5; h++ {
		fsys[fmt.Sprintf("node%d.log.gz", h)] = &fstest.MapFile{Data: gzipOf([]byte(strings.Repeat(fmt.Sprintf(line, h), 100)))}
	}
	q := newQueue(Options{MaxUnpacked: 6000})
	q.walker().walk(fsys, ".", root{}, 0)
	inv, _, err := q.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"node1.log.gz|nccl log|node1", "node2.log.gz|nccl log|node2", "node9.log|nccl log|node9"}
	if diff := cmp.Diff(want, files(inv)); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(unread(inv), "\n"); strings.Count(got, "not read: the archives before it unpack to more") != 2 {
		t.Error(got)
	}
}

// What a pipe holds can be read once, so nothing is read apart that might have to be read together.
func TestPipeIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "node1.txt")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "session.txt")
	if err := os.WriteFile(other, []byte("root@node1:~# ulimit -l\n8192\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	go os.WriteFile(pipe, []byte("CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n"), 0o600)
	inv, _, err := Load([]string{pipe, other}, Options{Parallel: 2})
	if err != nil || len(inv.Hosts) != 1 || len(inv.Hosts[0].NICs) != 1 || inv.Hosts[0].Memlock.Or("") != "8192" {
		t.Errorf("%v, %+v, %v", err, inv.Hosts, unread(inv))
	}
}

// A log that names no host is read by itself once it is large, and so is an archive; small outputs are read together.
func TestLargeFilesAlone(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"big.log": largeBytes, "other.log": largeBytes, "small.log": 10, "little.log": 10, "node7.log": largeBytes, "logs.tar.gz": 10} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil { // sparse
			t.Fatal(err)
		}
	}
	q := filed(os.DirFS(dir), 1)
	var got []string
	for _, g := range q.groups() {
		var names []string
		for _, at := range g {
			names = append(names, q.items[at].file)
		}
		got = append(got, strings.Join(names, " "))
	}
	if diff := cmp.Diff([]string{"big.log", "little.log small.log", "logs.tar.gz", "node7.log", "other.log"}, got); diff != "" {
		t.Error(diff)
	}
}
