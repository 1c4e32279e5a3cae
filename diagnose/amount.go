package diagnose

import "fmt"

// amount is a number of bytes as a sentence carries it: three digits, powers of 1000. A sum of counters is no more
// exact than that.
func amount[T ~int64 | ~float64](b T) string {
	v, unit := float64(b), "B"
	for _, next := range []string{"KB", "MB", "GB", "TB", "PB"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, next
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
