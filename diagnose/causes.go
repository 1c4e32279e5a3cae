package diagnose

// Causes lists every cause, bottom up: physical, host, link, addressing, RDMA, collective, job, configuration.
func Causes() []Cause {
	return []Cause{}
}
