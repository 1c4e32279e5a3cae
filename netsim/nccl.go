package netsim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/units"
)

// NCCLSettings is what NCCL sets on its QPs when its environment says nothing.
type NCCLSettings struct {
	Timeout    int  // NCCL_IB_TIMEOUT: exponent of the InfiniBand timeout
	RetryCount int  // NCCL_IB_RETRY_CNT
	QPs        int  // NCCL_IB_QPS_PER_CONNECTION
	Split      bool // NCCL_IB_SPLIT_DATA_ON_QPS
}

// NCCLDefaults are the defaults of a version of NCCL, written "2.21" or "2.21.5". Sources: src/transport/net_ib.cc at the tags
// of NCCL 2.5 to 2.30 and docs/env. That messages were always cut over the QPs before NCCL_IB_SPLIT_DATA_ON_QPS came with 2.18 is
// uncertain; with one QP it makes no difference.
func NCCLDefaults(version string) (NCCLSettings, error) {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(minor)
	if major != "2" || err != nil || m < 0 {
		return NCCLSettings{}, fmt.Errorf("%q is no version of NCCL that is known; write it like 2.21", version)
	}
	s := NCCLSettings{Timeout: 20, RetryCount: 7, QPs: 1, Split: m <= 19}
	switch {
	case m <= 13:
		s.Timeout = 14
	case m <= 22:
		s.Timeout = 18
	}
	return s, nil
}

// InfiniBandTimeout is 4.096 us x 2^n, how long a requester waits for an acknowledgement (InfiniBand Architecture Specification,
// volume 1, 9.7.6.1.3); n from 1 to 31. The specification lets an adapter wait up to four times as long.
func InfiniBandTimeout(n int) units.Duration { return 4096 * units.Nanosecond << n }

// nccl fills in what a version of NCCL sets. A version that is not known is left to Validate.
func (n *NICConfig) nccl() {
	d, err := NCCLDefaults(n.NCCL)
	if n.NCCL == "" || err != nil {
		return
	}
	n.Timeout = or(n.Timeout, d.Timeout)
	n.RetryCount = or(n.RetryCount, d.RetryCount)
	n.QPs = or(n.QPs, d.QPs)
	n.Split = n.Split || d.Split
}
