package diagnose

// hostCauses are told from what hosts, libraries and jobs say of themselves.
var hostCauses = []Cause{}
