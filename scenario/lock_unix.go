//go:build unix

package scenario

import (
	"os"
	"syscall"
)

// lock takes the file for this process alone, until it is closed or the process ends, however it ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
