package supervisor

import (
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// faultVariable says to a process of this test binary how it is to end.
const faultVariable = "TASKRT_TEST_FAULT"

func TestMain(m *testing.M) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		os.Exit(m.Run())
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) != nil || unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: limit.Max, Max: limit.Max}) != nil {
		os.Exit(3)
	}
	EndBySignal(slog.Default())
	if fault == "panic" {
		go panic("a fault")
	} else if unix.Kill(os.Getpid(), unix.SIGABRT) != nil {
		os.Exit(5)
	}
	for { // the signal is on its way
		runtime.Gosched()
	}
}

// TestFaultsEndBySignal: a panic, and the SIGABRT of a watchdog, do not end a process with the exit code of bad usage, but show where it was
// (SPEC C10). A core is left on request only.
func TestFaultsEndBySignal(t *testing.T) {
	for _, tc := range []struct{ fault, traceback, says string }{
		{"panic", "", "panic: a fault"},
		{"abort", "", "SIGABRT: abort"},
		{"panic", "crash", "panic: a fault"},
	} {
		cmd := leash.Command(os.Args[0])
		cmd.Dir = t.TempDir()
		cmd.Env = append(slices.Clone(os.Environ()), faultVariable+"="+tc.fault, "GOTRACEBACK="+tc.traceback)
		out, _ := cmd.CombinedOutput() // its state says how it ended
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT || !strings.Contains(string(out), tc.says) || !strings.Contains(string(out), "goroutine 1 ") {
			t.Errorf("%+v: %v\n%s", tc, cmd.ProcessState, out)
		}
		if tc.traceback == "" && status.CoreDump() {
			t.Errorf("%+v: it left a core", tc)
		}
	}
}
