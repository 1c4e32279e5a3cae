package diagnose

// fabricCauses are told from counters of ports and queues, simulated or real.
var fabricCauses = []Cause{
	degradedCause, bitErrorCause,
	incastCause, slowReceiverCause, pauseSpreadCause, collisionCause, ecnLowCause, ecnHighCause,
	reorderingCause, backgroundCause,
}
