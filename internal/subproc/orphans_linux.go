package subproc

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReapOrphans reaps, until ctx ends, the processes that the kernel gave to this process when their own parents had ended: in a container its first
// process is parent to all of them, and who has ended stays in the table of processes until his parent asks. A process that does not come from
// Start must not be started meanwhile: its end would be taken for an orphan's.
func ReapOrphans(ctx context.Context) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		if err := children.reapOrphans(ctx); err != nil {
			return err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil
		}
	}
}

// reapOrphans reaps all that have ended by now.
func (b *brood) reapOrphans(ctx context.Context) error {
	for {
		own, more, err := b.reapOne()
		if err != nil || !more {
			return err
		}
		if own == nil {
			continue
		}
		select { // the kernel names the same one until it has been reaped
		case <-own.Done():
		case <-ctx.Done():
			return nil
		}
	}
}

// reapOne looks for a process that has ended. An orphan is reaped. One of Start's is left to its Process.
func (b *brood) reapOne() (own *Process, more bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pid, err := endedChild()
	if err != nil || pid == 0 {
		return nil, false, err
	}
	if own = b.all[pid]; own != nil {
		return own, true, nil
	}
	if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil && err != unix.EINTR {
		return nil, false, fmt.Errorf("subproc: wait for the orphan %d: %w", pid, err)
	}
	return nil, true, nil
}

// childInfo is how the kernel lays out what it says of a child that has ended.
type childInfo struct {
	_   [3]int32
	_   [0]uintptr // the rest is aligned to it
	pid int32
}

// endedChild is the number of a child that has ended and has not been reaped; 0: there is none.
func endedChild() (int, error) {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err {
		case nil:
			return int((*childInfo)(unsafe.Pointer(&info)).pid), nil
		case unix.EINTR:
		case unix.ECHILD:
			return 0, nil
		default:
			return 0, fmt.Errorf("subproc: waitid: %w", err)
		}
	}
}
