package gather

import (
	"regexp"
	"slices"
	"strings"
)

// wanted begin the names of variables that matter to the network of a job, the same that package collect reads.
var wanted = regexp.MustCompile(`^((NCCL|RCCL|UCX|OMPI_MCA|TORCH_NCCL|TORCH_DISTRIBUTED|FI|OFI_NCCL|SHARP|RDMAV|MLX5|GLOO)_|CUDA_VISIBLE_DEVICES=)`)

// secret are names of variables that may hold one, whatever they begin with.
var secret = regexp.MustCompile(`(?i)^[^=]*(token|secret|passw|credential|auth|key)`)

// variables filters an environment, sorted by name.
func variables(env []string) []string {
	var out []string
	for _, v := range env {
		if wanted.MatchString(v) && !secret.MatchString(v) && !strings.ContainsAny(v, "\n\r") {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
