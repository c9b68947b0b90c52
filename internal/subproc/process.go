package subproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Command says what a child is.
type Command struct {
	Args   []string   // after the program's name
	Files  []*os.File // what it inherits beside the socket, in this order; they stay open here
	Cgroup *os.File   // the directory of a cgroup in which it begins; nil: that of this process
	Orphan bool       // leaves the kernel's help out: it ends only by the end of file (tests)
}

// Process is a child that was started.
type Process struct {
	Conn *Conn // closed by its owner
	cmd  *exec.Cmd
	done chan struct{} // closed when it has been reaped
}

// socketFD is where a child finds its end; the files follow.
const socketFD = 3

// Start starts this very program, not what stands at its path by now: it may have been upgraded meanwhile. The child
// writes where this process writes its errors.
func Start(c Command) (*Process, error) {
	conn, other, err := Pair()
	if err != nil {
		return nil, err
	}
	defer other.Close()
	path, err := self()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{os.Args[0]}, c.Args...), Stderr: os.Stderr, SysProcAttr: attributes(!c.Orphan, c.Cgroup)}
	cmd.ExtraFiles = append([]*os.File{other}, c.Files...)
	p := &Process{Conn: conn, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("subproc: start %s: %w", c.Args[0], err), conn.Close())
	}
	return p, nil
}

// run starts and reaps the child on one thread that lives as long as it: the kernel ends a child with the thread that
// started it.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := children.start(p)
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // the state says all
	children.forget(p)
}

// PID is the child's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the child at once, whatever it does. It is gone when Done is closed.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // or it has ended by itself

// Done is closed when the child has been reaped: no thread of it runs any more.
func (p *Process) Done() <-chan struct{} { return p.done }

// State says how the child ended. Only after Done.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }
