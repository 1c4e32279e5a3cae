package environ

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

func read(t testing.TB, text string) (vars, settings []string) {
	t.Helper()
	inv := &evidence.Inventory{}
	if err := Parse(strings.NewReader(text), fragment.New(inv, "f")); err != nil {
		t.Fatal(err)
	}
	for _, v := range inv.NCCL.Env {
		vars = append(vars, v.Name+"="+v.Value)
	}
	for _, s := range inv.Settings {
		settings = append(settings, s.Name+"="+s.Value)
	}
	return vars, settings
}

func TestVars(t *testing.T) {
	for _, tc := range []struct {
		name, text     string
		vars, settings []string
	}{
		{"env", "PATH=/bin\nNCCL_IB_HCA=mlx5_0\nHOME=/root\nNCCL_IB_GID_INDEX=\nUCX_TLS=rc", []string{"NCCL_IB_HCA=mlx5_0", "NCCL_IB_GID_INDEX=", "UCX_TLS=rc"}, nil},
		{"conf", "# NCCL_DEBUG=INFO is for tests\nNCCL_TOPO_FILE=/opt/topo.xml", []string{"NCCL_TOPO_FILE=/opt/topo.xml"}, nil},
		{"export", `export NCCL_ALGO="Ring,Tree"`, []string{"NCCL_ALGO=Ring,Tree"}, nil},
		{"mpirun", "mpirun -np 16 -H node1:8,node2:8 --bind-to numa -map-by slot --mca btl_tcp_if_exclude docker0,lo -x NCCL_IB_DISABLE=1 -x NCCL_SOCKET_IFNAME-=eth0 -x PATH ./all_reduce_perf -b 8",
			[]string{"NCCL_IB_DISABLE=1", "NCCL_SOCKET_IFNAME-=eth0"}, []string{"mpirun.np=16", "mpirun.host=node1:8,node2:8", "mpirun.bind-to=numa", "mpirun.map-by=slot", "mca.btl_tcp_if_exclude=docker0,lo"}},
		{"with a prompt", "$ NCCL_DEBUG=INFO NCCL_IB_TC=106 ./all_reduce_perf -b 8 -e 1G", []string{"NCCL_DEBUG=INFO", "NCCL_IB_TC=106"}, nil},
		{"srun", "srun --export=NCCL_DEBUG=INFO,ALL -N 2 ./all_reduce_perf", []string{"NCCL_DEBUG=INFO,ALL"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vars, settings := read(t, tc.text)
			if diff := cmp.Diff(tc.vars, vars); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.settings, settings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A blank before the sign is part of the name in nccl.conf, and a mistake; elsewhere it is somebody's prose.
func TestBlankInConf(t *testing.T) {
	for file, want := range map[string]string{"etc_nccl.conf": "NCCL_IB_HCA |mlx5_0", "notes.txt": ""} {
		inv := &evidence.Inventory{}
		if err := Parse(strings.NewReader("NCCL_IB_HCA =mlx5_0\n"), fragment.New(inv, file)); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, v := range inv.NCCL.Env {
			got += v.Name + "|" + v.Value
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestStarts(t *testing.T) {
	for line, want := range map[string]bool{
		"NCCL_DEBUG=INFO": true, "export UCX_TLS=rc": true, "mpirun -np 2 x": true, "/usr/bin/srun x": true, "./all_reduce_perf -b 8": true,
		"NCCL INFO x": false, "NCCL_DEBUG is set": false, "node1:1:1 [0] NCCL INFO NCCL_X=1": false, "a=b": false, "": false, "use NCCL_DEBUG=INFO for more": false,
	} {
		if Starts([]byte(line)) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("export NCCL_A=\"b c' d\nmpirun -x NCCL_B= --mca a --bind-to\n$ NCCL_C=1 x_perf \\")
	f.Fuzz(func(t *testing.T, text string) {
		vars, settings := read(t, text)
		if len(vars)+len(settings) > len(text) {
			t.Fatal("more than was there")
		}
		for line := range strings.Lines(text) {
			Starts([]byte(line))
		}
	})
}
