// Package container owns reading what a container may see of its host: pods and what makes pods (kubectl get -o json or
// yaml, and the files people apply), and docker inspect.
//
// Read container.go, then kubernetes.go, docker.go and yaml.go.
package container

import (
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// MaxContainers limits the containers kept of all inputs, and maxVars the variables of one.
const (
	MaxContainers = 1 << 16
	maxVars       = 1 << 10
)

// variables begin the names of environment variables that matter to the network of a job.
var variables = []string{"NCCL_", "RCCL_", "UCX_", "OMPI_MCA_", "TORCH_NCCL_", "FI_", "OFI_NCCL_", "SHARP_", "RDMAV_", "MLX5_", "GLOO_"}

// variable keeps a variable of a container.
func variable(f *fragment.Fragment, name, value, host string, at evidence.Source) {
	for _, p := range variables {
		if strings.HasPrefix(name, p) {
			const most = 1 << 18
			if n := &f.Inv.NCCL; len(n.Env) < most {
				n.Env = append(n.Env, evidence.EnvVar{Name: name, Value: value, Host: host, From: at})
			}
			return
		}
	}
}

func add(f *fragment.Fragment, c evidence.Container) {
	if len(f.Inv.Containers) < MaxContainers {
		f.Inv.Containers = append(f.Inv.Containers, c)
	}
}

// quantity reads a size as Kubernetes writes it: "64Gi", "1G", "1048576" (apimachinery, pkg/api/resource/quantity.go).
func quantity(s string) (units.Bytes, bool) {
	scale := 1.0
	for _, u := range []struct {
		suffix string
		scale  float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}} {
		if stem, ok := strings.CutSuffix(s, u.suffix); ok {
			s, scale = stem, u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v*scale > 1<<60 {
		return 0, false
	}
	return units.Bytes(v * scale), true
}
