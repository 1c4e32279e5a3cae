// Package environ owns reading settings of a job where they were made: env and export lines, /etc/nccl.conf, and
// the command lines of mpirun, srun and torchrun.
//
// Names are kept as typed: "NCCL_SOCKET_IFNAME-" is a mistake somebody made, and the mistake is the evidence.
package environ

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/collect/lines"
	"github.com/shunt-network/shunt/evidence"
)

// MaxVars limits the variables kept of all inputs: 4096 hosts with 64 each.
const MaxVars = 1 << 18

// Vars reads the lines.
type Vars struct {
	f    *fragment.Fragment
	conf bool // the file is a configuration of NCCL
}

// New makes a reader for one input.
func New(f *fragment.Fragment) *Vars {
	return &Vars{f: f, conf: strings.HasSuffix(f.File, "nccl.conf")}
}

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
	t, comment := bare(line)
	if len(t) < 6 {
		return false
	}
	if comment {
		return command(t)
	}
	for _, p := range prefixes {
		if bytes.HasPrefix(t, []byte(p)) {
			return assignment(t) || spaced(t)
		}
	}
	return command(t)
}

// bare takes a prompt and "export" off a line. Behind "#" stands a comment, or what root typed: a command is read, a
// setting is not, because settings are put out of force with it.
func bare(line []byte) (t []byte, comment bool) {
	t = bytes.TrimLeft(line, " \t")
	if rest, ok := bytes.CutPrefix(t, []byte("#")); ok {
		return bytes.TrimLeft(rest, " \t#"), true
	}
	t = bytes.TrimLeft(bytes.TrimPrefix(t, []byte("$ ")), " \t")
	return bytes.TrimPrefix(t, []byte("export ")), false
}

// assignment tells whether t is NAME=VALUE with nothing but the name before the sign. NAME may have been mistyped.
func assignment(t []byte) bool {
	i := bytes.IndexByte(t, '=')
	return i > 0 && bytes.IndexByte(t[:i], ' ') < 0 && bytes.IndexByte(t[:i], ':') < 0
}

// spaced tells whether t is "NAME = VALUE". In nccl.conf everything before the sign is the name, its blank included, so
// that such a line sets nothing anybody reads (setEnvFile in src/misc/param.cc of NCCL).
func spaced(t []byte) bool {
	name, _, ok := bytes.Cut(t, []byte("="))
	return ok && bytes.HasSuffix(name, []byte(" ")) && len(bytes.Fields(name)) == 1
}

// launchers are the programs whose command lines carry settings.
var launchers = map[string]bool{
	"mpirun": true, "mpiexec": true, "srun": true, "torchrun": true, "horovodrun": true, "orterun": true, "prun": true, "deepspeed": true,
}

func command(t []byte) bool {
	first, _, more := bytes.Cut(t, []byte(" "))
	return more && runs(string(first))
}

// runs tells whether a program runs a job.
func runs(program string) bool {
	name := path.Base(program)
	return launchers[name] || strings.HasSuffix(name, "_perf")
}

// Line reads one line; false means that it sets nothing.
func (v *Vars) Line(line []byte, n int) bool {
	t, comment := bare(line)
	if len(bytes.TrimSpace(t)) == 0 {
		return true
	}
	if comment && !command(t) {
		return false
	}
	if name, value, ok := bytes.Cut(t, []byte("=")); ok && v.conf && bytes.HasSuffix(name, []byte(" ")) {
		v.add(string(name), string(value), n)
		return true
	}
	list := words(string(t))
	i := 0
	for ; i < len(list); i++ {
		name, value, ok := strings.Cut(list[i], "=")
		if !ok || !named(name) {
			break
		}
		v.add(name, value, n)
	}
	if rest := list[i:]; len(rest) > 0 && (runs(rest[0]) || slices.Contains(rest, "-x")) {
		v.command(rest, n)
		return true
	}
	return i > 0
}

// command reads "mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 --bind-to none ./all_reduce_perf -b 8": the variables, how the
// ranks are bound and the tuning of Open MPI.
func (v *Vars) command(list []string, n int) {
	for i, w := range list {
		if name, value, ok := strings.Cut(strings.TrimPrefix(w, "--export="), "="); ok && named(name) {
			v.add(name, value, n)
			continue
		}
		if i+1 >= len(list) || !strings.HasPrefix(w, "-") {
			continue
		}
		switch option := strings.TrimLeft(w, "-"); option {
		case "bind-to", "map-by":
			v.setting("mpirun."+option, list[i+1], n)
		case "np", "n", "ntasks":
			v.setting("mpirun.np", list[i+1], n)
		case "H", "host":
			v.setting("mpirun.host", list[i+1], n)
		case "mca":
			if i+2 < len(list) {
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
