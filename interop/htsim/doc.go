// Package htsim reads and writes the files of the packet simulator htsim, in the form that its Ultra Ethernet and
// Broadcom versions share: fat-tree topologies (.topo), connection matrices (.cm, .tm), and the lines in which it
// tells when flows begin and end.
//
// What was not clear from the files is from htsim's source: datacenter/connection_matrix.cpp,
// datacenter/fat_tree_topology.cpp, trigger.cpp.
//
// Read topology.go and build.go (a fabric), matrix.go (connections, triggers, failures as the file has them), job.go
// (the same as a plan), completions.go (flows that ended, in htsim's words).
package htsim
