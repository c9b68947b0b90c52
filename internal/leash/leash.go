// Package leash ties processes to the process that starts them: however that one ends, they end with it, and so does all that they start.
//
// A leash is a process group with a watcher in it. The watcher is a shell that reads from a pipe. Only the process that made the leash
// holds the pipe's other end. So the watcher reads the end of file when that process is gone, be it by os.Exit, a panic, a signal or
// SIGKILL, and then sends SIGKILL to its own group. The kernel puts processes into the group before they execute their program, and their
// children into the same group. So there is no moment in which a process exists and is not tied.
//
// The parent-death signal of Linux (PR_SET_PDEATHSIG) is not enough: it reaches children, not their children, and it comes when the
// thread that forked ends.
//
// A process that puts itself into another group leaves the leash. `taskrt` does not, nor does a shell that executes a script.
package leash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// watch is the watcher's script. The kernel sends SIGHUP to a group that has lost its last parent and has stopped members.
const watch = `trap '' HUP INT TERM; read -r _; kill -KILL 0`

// variable is the environment variable by which Join finds a group.
const variable = "LEASH"

// Leash is a group of processes. It must be killed in the end. A process that is forgotten is killed when its memory is collected.
type Leash struct {
	watcher *exec.Cmd
	hold    *os.File // the watcher reads the end of file when nobody has it open
	kill    sync.Once
}

// New makes a leash. Its watcher is the first process in it.
func New() (*Leash, error) {
	read, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("leash: %w", err)
	}
	defer read.Close()
	watcher := exec.Command("sh", "-c", watch)
	watcher.Stdin, watcher.Dir = read, "/"
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := watcher.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("leash: %w", err), hold.Close())
	}
	return &Leash{watcher: watcher, hold: hold}, nil
}

// Tie lets a command that is not yet started belong to the leash. The terminal's Ctrl-C does not reach the command.
func (l *Leash) Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, l.watcher.Process.Pid
}

// Kill ends all processes of the leash in one step, so none of them can start another meanwhile. Nobody may start a command on it any more.
func (l *Leash) Kill() {
	l.kill.Do(func() {
		_ = syscall.Kill(-l.watcher.Process.Pid, syscall.SIGKILL) // the watcher has not been waited for: the number is still its own
		_ = l.watcher.Wait()                                      // it was killed
		_ = l.hold.Close()
	})
}

// own is the leash of this process, for all commands that end with nothing else.
var own = sync.OnceValues(New)

// Tie lets a command belong to the leash of this process.
func Tie(cmd *exec.Cmd) {
	l, err := own()
	if err != nil {
		cmd.Err = err // of Start
		return
	}
	l.Tie(cmd)
}

// Command is exec.Command, tied to this process.
func Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	Tie(cmd)
	return cmd
}

// CommandContext is exec.CommandContext, tied to this process.
func CommandContext(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	Tie(cmd)
	return cmd
}

// Environment returns a variable and its value for processes that others start for this one: with it in their environment, their Join
// ties them to this process.
func Environment() (name, value string, err error) {
	l, err := own()
	if err != nil {
		return "", "", err
	}
	return variable, strconv.Itoa(l.watcher.Process.Pid), nil
}

// Join ties this very process to the one whose Environment it has. Without such an environment it does nothing.
func Join() error {
	text := os.Getenv(variable)
	if text == "" {
		return nil
	}
	group, err := strconv.Atoi(text)
	if err != nil || group <= 1 {
		return fmt.Errorf("leash: %s=%q is no process group", variable, text)
	}
	if err := syscall.Setpgid(0, group); err != nil {
		return fmt.Errorf("leash: join %d: %w", group, err)
	}
	return nil
}
