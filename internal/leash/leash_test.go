package leash

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// end is the environment variable that makes a victim of a test process, and says how it ends.
const end = "LEASH_TEST_END"

// TestNothingIsLeft: whatever way a process ends, what it started ends with it: children and their children, some of them stopped, some
// orphans, and those that others started for it.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"killed", "panic", "exit", "time-out"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var pids []int
			for limit := time.Second; pids == nil; limit *= 2 { // on a busy machine the victim may not get ready in time
				pids = sacrifice(t, how, limit)
			}
			defer func() {
				for _, pid := range pids {
					if t.Failed() {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}()
			for _, pid := range pids {
				eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
			}
		})
	}
}

// sacrifice starts a victim, lets it end, and returns the processes that it has started; none if it was not ready within the limit.
func sacrifice(t *testing.T, how string, limit time.Duration) []int {
	t.Helper()
	if how != "time-out" {
		limit = time.Hour
	}
	victim := Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout="+limit.String())
	victim.Env = append(os.Environ(), end+"="+how)
	victim.Stderr = io.Discard // goroutines
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	pids, other, ready := readPIDs(stdout)
	if how == "killed" {
		if err := victim.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	if err := victim.Wait(); err == nil {
		t.Error("the victim has ended well")
	}
	switch {
	case !ready && how != "time-out":
		t.Fatalf("the victim has ended too soon, with %v, and says %s", pids, other)
	case !ready:
		return nil
	case len(pids) != 7:
		t.Fatalf("the victim has started %v", pids)
	}
	return pids
}

// readPIDs reads what a victim says until it is ready: the processes that it has started. If it does not come to that, other is what else it says.
func readPIDs(stdout io.Reader) (pids []int, other string, ready bool) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if lines.Text() == "ready" {
			return pids, "", true
		}
		if pid, err := strconv.Atoi(lines.Text()); err == nil && other == "" {
			pids = append(pids, pid)
			continue
		}
		other += lines.Text() + "\n"
	}
	return pids, other, false
}

// TestVictim is the process that ends, and the process that joins it.
func TestVictim(t *testing.T) {
	how := os.Getenv(end)
	switch how {
	case "":
		t.Skip("TestNothingIsLeft starts it")
	case "join":
		if err := Join(); err != nil {
			t.Fatal(err)
		}
		fmt.Println(os.Getpid())
		select {}
	}
	started(t, Command("sh", "-c", "sleep 1000 & echo $!; sh -c 'sleep 1000 & echo $!; wait' & echo $!; wait"), 3)
	started(t, Command("sh", "-c", "exec </dev/null; sleep 1000 >/dev/null & echo $!"), 1) // an orphan
	stopped := started(t, Command("sh", "-c", "trap '' HUP; sleep 1000 & echo $!; wait"), 1)
	if err := syscall.Kill(stopped, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	name, value, err := Environment()
	if err != nil {
		t.Fatal(err)
	}
	joins := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout=1h") // without a timer Go would find a deadlock, and end it
	joins.Env = append(os.Environ(), end+"=join", name+"="+value)
	started(t, joins, 1)
	other, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Kill() // it does not come to that
	tied := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	other.Tie(tied)
	started(t, tied, 1)
	fmt.Println("ready")
	switch how {
	case "panic":
		go panic("as a test does")
	case "exit":
		os.Exit(3)
	}
	select {}
}

// started starts a command, hands on the PIDs that it says, and its own if it goes on.
func started(t *testing.T, cmd *exec.Cmd, says int) (pid int) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for range says {
		if !lines.Scan() {
			t.Fatalf("%v has ended", cmd)
		}
		if pid, err := strconv.Atoi(lines.Text()); err != nil || !alive(pid) {
			t.Fatalf("%v says %q, no process", cmd, lines.Text())
		}
		fmt.Println(lines.Text())
	}
	return cmd.Process.Pid
}

// alive reports whether a process exists and has not ended. Where nobody waits for orphans, they stay as zombies.
func alive(pid int) bool {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := bytes.Cut(text, []byte(") "))
		return !strings.HasPrefix(string(state), "Z") && !strings.HasPrefix(string(state), "X")
	}
	return syscall.Kill(pid, 0) == nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestKill: a leash that is killed takes its own processes with it and no others.
func TestKill(t *testing.T) {
	t.Parallel()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	other := CommandContext(t.Context(), "sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	tied := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	l.Tie(tied)
	stdout, err := tied.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tied.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("it says nothing")
	}
	inner, err := strconv.Atoi(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	l.Kill()
	l.Kill() // again: nothing
	exit, ok := errors.AsType[*exec.ExitError](tied.Wait())
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", exit)
	}
	eventually(t, "its child is gone", func() bool { return !alive(inner) })
	if !alive(other.Process.Pid) {
		t.Error("a stranger is gone")
	}
	if err := other.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = other.Wait()
}

// TestNoShell: what cannot be tied is not started.
func TestNoShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if l, err := New(); err == nil {
		l.Kill()
		t.Error("a leash without a watcher")
	}
}

// TestBadEnvironment: a wrong group is told, none is fine.
func TestBadEnvironment(t *testing.T) {
	for text, wrong := range map[string]bool{"": false, "1": true, "0": true, "-5": true, "x": true, "2147483646": true} {
		t.Setenv(variable, text)
		if err := Join(); (err != nil) != wrong {
			t.Errorf("%q: %v", text, err)
		}
	}
}
