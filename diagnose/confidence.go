package diagnose

// The steps of confidence that causes told from hosts and libraries use. They are an order, not a measurement:
// what matters is that a cause with a witness of its own stands before one that is only compatible with the
// symptom. A cause takes the lowest step whose words fit.
const (
	proven   = 0.95 // a line names the cause itself, and a second, independent input agrees
	named    = 0.85 // a line names the cause itself, or two inputs together leave no other reading
	likely   = 0.70 // the mechanism is in place and the symptom it produces was seen
	possible = 0.50 // the mechanism is in place without its symptom, or the symptom without its mechanism
	weak     = 0.30 // worth a look when nothing better is found
)
