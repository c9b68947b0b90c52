package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

// victim is the environment variable that makes a process of these tests one that does not end by itself.
const victim = "TASKRT_TEST_VICTIM"

// TestNothingIsLeft: tests that are killed, or that do not end in time, leave no servers behind, nor their guests' processes.
func TestNothingIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("starts clusters")
	}
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	t.Parallel()
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		if family := sacrifice(t, true, time.Hour); family == nil {
			t.Error("the victim has ended too soon")
		}
	})
	t.Run("time-out", func(t *testing.T) {
		t.Parallel()
		for limit := 4 * time.Second; sacrifice(t, false, limit) == nil; limit *= 2 { // on a busy machine it may not get that far
		}
	})
}

// sacrifice runs TestVictim, ends it, and demands that all that it has started end too. It returns those processes; none if the victim
// ended before it had started everything.
func sacrifice(t *testing.T, kill bool, limit time.Duration) (family []int) {
	t.Helper()
	cmd := leash.Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout="+limit.String())
	cmd.Env = append(os.Environ(), victim+"=1", "TMPDIR="+t.TempDir())
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard // goroutines
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed, or ran out of time
		close(ended)
	}()
	for family == nil {
		// Each server is three nodes, each of which starts a process for its guests.
		if all := trio.Family(cmd.Process.Pid); count(all, "dev") == 2 && count(all, "guests") == 6 {
			family = all
			break
		}
		select {
		case <-ended:
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
	if kill {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	<-ended
	for deadline := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(family), func(pid int) bool { return len(trio.CommandLine(pid)) == 0 })
		if len(left) == 0 {
			return family
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %v are left, one is %q", left, family, trio.CommandLine(left[0]))
		}
	}
}

// count counts the processes that execute this command of taskrt.
func count(pids []int, name string) (n int) {
	for _, pid := range pids {
		if trio.Executes(pid, name) {
			n++
		}
	}
	return n
}

// TestVictim starts a server as tests do, and one as scripts do, and waits for ever.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		t.Skip("TestNothingIsLeft starts it")
	}
	startDev(t)
	script := filepath.Join(t.TempDir(), "dev.txtar")
	if err := os.WriteFile(script, []byte("exec taskrt dev --dir data --http 127.0.0.1:0 --worker-slots 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{script}, Setup: tie, RequireExplicitExec: true})
}
