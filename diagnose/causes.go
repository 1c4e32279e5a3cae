package diagnose

import (
	"cmp"
	"slices"
	"strings"
)

// Causes lists every cause, bottom up: physical, host, link, addressing, RDMA, collective, job, configuration.
func Causes() []Cause {
	all := slices.Concat(fabricCauses, hostCauses, packetCauses, sprayCauses)
	slices.SortStableFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(strings.IndexByte(layers, a.Code[0]), strings.IndexByte(layers, b.Code[0])), cmp.Compare(a.Code, b.Code))
	})
	return all
}
