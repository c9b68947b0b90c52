package runtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Boottime reads CLOCK_BOOTTIME, which goes on while the machine is suspended (SPEC L5). It is the same for all
// processes of a machine.
func Boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("runtime: CLOCK_BOOTTIME: " + err.Error()) // every Linux since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}
