package collect_test

import (
	"fmt"
	"testing/fstest"

	"github.com/shunt-network/shunt/collect"
	"github.com/shunt-network/shunt/telemetry"
)

// Two outputs of one interface, ten seconds apart, and the table that names the RDMA device above it.
func ExampleLoadFS() {
	inv, win, err := collect.LoadFS(fstest.MapFS{
		"node1_ethtool_S_ens3np0_before.txt":    {Data: []byte("NIC statistics:\n     rx_prio3_pause_duration: 1000000\n")},
		"node1_ethtool_S_ens3np0_after_10s.txt": {Data: []byte("NIC statistics:\n     rx_prio3_pause_duration: 3500000\n")},
		"node1_ibdev2netdev.txt":                {Data: []byte("mlx5_0 port 1 ==> ens3np0 (Up)\n")},
		"notes.txt":                             {Data: []byte("It is slow since Tuesday.\n")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	share, ok := win.Rate(telemetry.Key{Series: telemetry.NICRxPauseTime, Object: "node1/mlx5_0", Priority: 3})
	fmt.Printf("paused for %.0f %% of the time (%v)\n", 100*share, ok)
	for _, u := range inv.Unreadable {
		fmt.Println(u.From, u.Why)
	}
	// Output:
	// paused for 25 % of the time (true)
	// notes.txt not recognised
}
