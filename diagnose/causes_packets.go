package diagnose

// packetCauses are told from captured packets, which no counter shows: between which hosts, in which direction, where
// on the way.
var packetCauses = []Cause{
	causeWireLoss, causeUnansweredMarks, causeCapturedPause, causeCorruptPackets,
	causeWireRefusals,
	causeRoCEClass, causeUDPChecksum,
}
