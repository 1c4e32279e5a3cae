// Package diagnose owns the step from evidence to findings: one file a cause, each a pure function of a View.
//
// It imports neither the simulator nor a scenario, so it can never peek at the truth: a simulated run and a real
// cluster reach it as the same inventory and the same window. Unknown is never zero: a cause whose inputs are
// missing says that it could not be checked, and why.
//
// Read finding.go and cause.go (the words), run.go (order, consequences, what was ruled out), causes.go (the
// list), then any cause: its head comment gives symptom, mechanism, evidence for and against, look-alikes.
//
// Codes are stable and never reused: P physical, H host and PCIe, L link and flow control, I addressing, R RDMA,
// C collective library, J job, S security, X configuration. Each has a page in docs/codes. U are rules of the user's own.
package diagnose
