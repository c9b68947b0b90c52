package supervisor

import (
	"log/slog"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// EndBySignal makes a fault of this program, a panic say, end the process by SIGABRT, behind the stacks of all goroutines (SPEC C10). Go's
// own way is exit code 2, which says bad usage here, and after bad usage no supervisor starts a process again. It is so for the SIGABRT of a
// watchdog, too. No core is left, unless GOTRACEBACK=crash asks for one.
func EndBySignal(log *slog.Logger) {
	if os.Getenv("GOTRACEBACK") != "crash" {
		var limit unix.Rlimit
		err := unix.Getrlimit(unix.RLIMIT_CORE, &limit)
		if limit.Cur = 0; err == nil {
			err = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
		}
		if err != nil {
			log.Warn("a fault of this process may leave a core", "err", err)
		}
	}
	debug.SetTraceback("crash")
}
