// Package astrasim reads the inputs of ASTRA-sim 2: networks of its analytical back end, system configurations,
// communicator groups, and execution traces in Chakra's format, one file a rank.
//
// Chakra's format is protobuf (schema/protobuf/et_def.proto of mlcommons/chakra); wire.go reads as much of its wire format as
// traces use. What was not clear from the files is from ASTRA-sim's source: astra-sim/workload/Workload.cc and
// astra-sim/system/collective/Ring.cc.
//
// Read network.go (a fabric), settings.go (JSON), system.go, groups.go, wire.go, trace.go (nodes of a trace), job.go (a
// plan).
package astrasim
