// Package environ owns reading settings of a job where they were made: env and export lines, /etc/nccl.conf, and
// the command lines of mpirun, srun and torchrun.
//
// Names are kept as typed: "NCCL_SOCKET_IFNAME-" is a mistake somebody made, and the mistake is the evidence.
package environ

import (
	"bytes"
	"io"
	"path"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxVars limits the variables kept of all inputs: 4096 hosts with 64 each.
const MaxVars = 1 << 18

// Vars reads the lines.
type Vars struct{ f *fragment.Fragment }

// New makes a reader for one input.
func New(f *fragment.Fragment) *Vars { return &Vars{f} }

// Parse reads an input.
func Parse(r io.Reader, f *fragment.Fragment) error {
	v := New(f)
	return lines.Each(r, func(line []byte, n int) { v.Line(line, n) })
}

// prefixes begin the names of variables that matter to the network of a job.
var prefixes = []string{
	"NCCL_", "RCCL_", "UCX_", "OMPI_MCA_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_", "FI_", "OFI_NCCL_", "SHARP_", "RDMAV_", "MLX5_", "GLOO_", "CUDA_VISIBLE_DEVICES",
}

// Starts tells whether a line sets such a variable, or runs a job.
func Starts(line []byte) bool {
	t := bytes.TrimLeft(line, " \t$#")
	if len(t) < 6 {
		return false
	}
	for _, p := range prefixes {
		if bytes.HasPrefix(t, []byte(p)) {
			return assignment(t)
		}
	}
	if rest, ok := bytes.CutPrefix(t, []byte("export ")); ok {
		return Starts(rest)
	}
	return command(t)
}

// assignment tells whether t is NAME=VALUE with nothing but the name before the sign. NAME may have been mistyped.
func assignment(t []byte) bool {
	i := bytes.IndexByte(t, '=')
	return i > 0 && bytes.IndexByte(t[:i], ' ') < 0 && bytes.IndexByte(t[:i], ':') < 0
}

// launchers are the programs whose command lines carry settings.
var launchers = map[string]bool{
	"mpirun": true, "mpiexec": true, "srun": true, "torchrun": true, "horovodrun": true, "orterun": true, "prun": true, "deepspeed": true,
}

func command(t []byte) bool {
	first, _, _ := bytes.Cut(t, []byte(" "))
	name := path.Base(string(first))
	return launchers[name] || strings.HasSuffix(name, "_perf") && len(first) < len(t)
}

// Line reads one line; false means that it sets nothing.
func (v *Vars) Line(line []byte, n int) bool {
	t := strings.TrimLeft(strings.TrimSpace(string(line)), "$# ")
	if t == "" || strings.HasPrefix(strings.TrimSpace(string(line)), "#") && !Starts(line) {
		return t == ""
	}
	t = strings.TrimPrefix(t, "export ")
	if command([]byte(t)) || strings.Contains(t, " -x ") {
		v.command(t, n)
		return true
	}
	any := false
	for _, word := range words(t) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || !named(name) {
			if any {
				v.command(strings.TrimPrefix(t, word), n) // NCCL_DEBUG=INFO ./all_reduce_perf -b 8
			}
			break
		}
		any = true
		v.add(name, value, n)
	}
	return any
}

// command reads "mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 --bind-to none ./all_reduce_perf -b 8": the variables, how the
// ranks are bound and the tuning of Open MPI.
func (v *Vars) command(t string, n int) {
	list := words(t)
	for i, w := range list {
		if name, value, ok := strings.Cut(strings.TrimPrefix(w, "--export="), "="); ok && named(name) {
			v.add(name, value, n)
			continue
		}
		if i+1 >= len(list) {
			break
		}
		switch strings.TrimLeft(w, "-") {
		case "bind-to", "map-by":
			if strings.HasPrefix(w, "-") {
				v.setting("mpirun."+strings.TrimLeft(w, "-"), list[i+1], n)
			}
		case "mca":
			if strings.HasPrefix(w, "-") && i+2 < len(list) {
				v.setting("mca."+list[i+1], list[i+2], n)
			}
		}
	}
}

func (v *Vars) setting(name, value string, n int) {
	if len(v.f.Inv.Settings) < MaxVars {
		v.f.Inv.Settings = append(v.f.Inv.Settings, evidence.Setting{Name: name, Object: v.f.Host, Value: value, From: v.f.At(n)})
	}
}

func (v *Vars) add(name, value string, n int) {
	if len(v.f.Inv.NCCL.Env) < MaxVars {
		v.f.Inv.NCCL.Env = append(v.f.Inv.NCCL.Env, evidence.EnvVar{Name: name, Value: value, Host: v.f.Host, From: v.f.At(n)})
	}
}

func named(name string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// words splits a command line at blanks, and takes the quotes of a shell off.
func words(t string) []string {
	var out []string
	var word strings.Builder
	quote, inWord := byte(0), false
	for i := range len(t) {
		c := t[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\\' && i == len(t)-1:
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}
