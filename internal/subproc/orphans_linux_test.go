package subproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// parentOfAll is the variable that makes TestOrphansAreReaped the process which gets orphans, as the first process of a container does.
const parentOfAll = "SUBPROC_TEST_PARENT_OF_ALL"

// TestOrphansAreReaped: the first process of a container reaps those whose parents have ended, and takes no end of its own children for theirs.
func TestOrphansAreReaped(t *testing.T) {
	if os.Getenv(parentOfAll) == "" {
		t.Parallel()
		c := leash.Command("/proc/self/exe", "-test.run", "^TestOrphansAreReaped$", "-test.v")
		c.Env = append(os.Environ(), parentOfAll+"=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "all reaped") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := leftAlone(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	reaped := make(chan error, 1)
	go func() { reaped <- ReapOrphans(ctx) }()
	for range 20 {
		if err := oneRound(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-reaped; err != nil {
		t.Error(err)
	}
	t.Log("all reaped")
}

// leftAlone returns an error unless a child of Start that has ended is left to who waits for it.
func leftAlone() error {
	p := &Process{cmd: leash.Command("/bin/sh", "-c", "exit 7"), done: make(chan struct{})}
	if err := children.start(p); err != nil {
		return err
	}
	if err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		return err
	}
	if own, more, err := children.reapOne(); own != p || !more || err != nil {
		return fmt.Errorf("a child of Start: %v, %v, %w", own, more, err)
	}
	if err := p.cmd.Wait(); err == nil || p.State().ExitCode() != 7 {
		return fmt.Errorf("a child of Start has lost its end: %w", err)
	}
	children.forget(p)
	return nil
}

// oneRound makes a child of its own and two orphans end at about the same time.
func oneRound() error {
	cells, err := NewCells(3)
	if err != nil {
		return err
	}
	defer cells.Close()
	p, err := Start(Command{Args: []string{"echo"}, Files: []*os.File{cells.File()}})
	if err != nil {
		return err
	}
	if err := p.Conn.Send('x', nil); err != nil {
		return err
	}
	if _, err := p.Conn.Recv(1); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	// The shell is started past Start, as a container's tool would do: to this process it is a stranger.
	shell := leash.Command("sh", "-c", "for i in 1 2; do sh -c 'echo $$; exec sleep 0.01' & done")
	shell.Stdout = write
	err = errors.Join(shell.Start(), write.Close(), p.Conn.Close()) // which ends the child with 7
	if err != nil {
		return err
	}
	gone := []string{fmt.Sprint(shell.Process.Pid)}
	for lines := bufio.NewScanner(read); lines.Scan(); { // to the end of file: all of them have ended
		gone = append(gone, lines.Text())
	}
	if len(gone) != 3 {
		return fmt.Errorf("the shell and its children: %v", gone)
	}
	<-p.Done()
	if code := p.State().ExitCode(); code != 7 {
		return fmt.Errorf("a child of Start ended with %d, not with 7", code)
	}
	tick := time.NewTicker(10 * time.Millisecond) // nothing says when they have gone
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		left := slices.ContainsFunc(gone, func(pid string) bool { _, err := os.Stat("/proc/" + pid); return err == nil })
		if !left {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("some of %v are still in the table of processes", gone)
		}
	}
}
