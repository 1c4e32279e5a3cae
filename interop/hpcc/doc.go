// Package hpcc reads and writes the files of the ns-3 model of RDMA that came with HPCC (Li et al., SIGCOMM 2019) and
// lives on in ConWeave, ns3-datacenter, ASTRA-sim and SimAI: topologies, flows, configurations, distributions of flow
// sizes, completion times (fct.txt) and pauses (pfc.txt).
//
// What was not clear from the files is from the model's source: scratch/third.cc and traffic_gen/traffic_gen.py of
// High-Precision-Congestion-Control.
//
// Read topology.go and build.go (a fabric), flows.go (a plan), config.go and settings.go (a configuration of netsim and
// what has no counterpart in it), cdf.go and traffic.go (a plan by chance), fct.go and pfc.go (results in ns-3's words).
package hpcc
