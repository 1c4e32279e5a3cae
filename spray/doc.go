// Package spray owns the packet-spraying engine that the articles describe (article 000), as pure data structures: hash units, a table of
// weighted buckets, a table of link states, the context id that packets carry, the fingerprint of a link, and what goes wrong with each. A switch, a NIC
// or a software data plane hashes every packet into one of B buckets; buckets map to paths by weight; weights follow 8-bit scores that are
// read from the ports now and then.
//
// It knows nothing of packets in motion: netsim asks it for a path and tells it what the ports look like. Nothing here reads a clock, starts
// a goroutine or draws from a global source, and what is called for each packet allocates nothing.
//
// Read, for the sprayer, key.go (what is hashed), crc.go and hash.go (how), table.go and curve.go (buckets to paths), linkstate.go (scores),
// cost.go and allreduce.go (what a decision costs in a pipeline and in software): docs/models/spray.md says where the articles and public
// knowledge part. For the context id, layout.go, ppcid.go, ppcidtime.go, keyedtag.go, ppcidframe.go and survey.go, then fingerprint.go and failover.go for
// its path: docs/models/ppcid.md. For operation, rules.go (tables that overflow), fleet.go (firmware that disagrees) and middlebox.go (packets that
// are filtered).
package spray
