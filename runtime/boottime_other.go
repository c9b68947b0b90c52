//go:build !linux

package runtime

import "time"

var processStart = time.Now()

// Boottime is Go's monotonic clock where CLOCK_BOOTTIME does not exist: it may stand still while the machine is
// suspended, and is not comparable between processes.
func Boottime() time.Duration { return time.Since(processStart) }
