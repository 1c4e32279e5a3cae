package diagnose

// HostCodes lists the codes of the causes told by hosts, for tests.
func HostCodes() []string {
	var codes []string
	for _, c := range hostCauses {
		codes = append(codes, c.Code)
	}
	return codes
}
