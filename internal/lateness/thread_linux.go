package lateness

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Thread is a thread of this process.
type Thread int

// Current returns the thread that runs the caller, which must be locked to it (runtime.LockOSThread).
func Current() Thread { return Thread(unix.Gettid()) }

// Delay returns how long the thread has been ready to run, and waited for a processor, since it began. Any thread may
// ask. ok is false where the kernel does not tell.
func (t Thread) Delay() (waited time.Duration, ok bool) {
	b, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(int(t)) + "/schedstat")
	if err != nil {
		return 0, false
	}
	return parseSchedstat(b)
}

// parseSchedstat reads "RUNNING WAITED SLICES", the first two in nanoseconds.
func parseSchedstat(b []byte) (waited time.Duration, ok bool) {
	fields := bytes.Fields(b)
	if len(fields) != 3 {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(ns), err == nil
}
