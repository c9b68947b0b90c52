//go:build !linux

package lateness

import "time"

// Thread is a thread of this process.
type Thread int

// Current returns the thread that runs the caller.
func Current() Thread { return 0 }

// Delay returns false: this system does not tell.
func (Thread) Delay() (waited time.Duration, ok bool) { return 0, false }
