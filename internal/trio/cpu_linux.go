package trio

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuClockSched makes a clock ID of a process's CPU clock, as clock_getcpuclockid(3) does.
const cpuClockSched = 2

// used reads the CPU clock of a process: of all its threads, also of threads that have ended.
func used(pid int) (time.Duration, error) {
	if pid <= 0 {
		return 0, unix.ESRCH // else it would be another clock
	}
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClockSched), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
