package subproc

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Child is this process, if Start has begun it.
type Child struct {
	Conn  *Conn
	Files []*os.File // those of Command
	First Message    // what its parent wants it to do
}

// ErrNoParent means that a command was called by hand that this program starts by itself.
var ErrNoParent = errors.New("subproc: this command is started by taskrt itself")

// Begin is the first thing that a child does. files is how many files come with the socket; limit bounds the parent's first
// message in bytes. From then on the child ignores the signals that end programs, because its parent says when it ends, and the
// kernel ends it before its parent when memory runs out.
func Begin(files, limit int) (*Child, error) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	c, err := inherited(files)
	if err != nil {
		return nil, err
	}
	if err := preferAsVictim(); err != nil {
		slog.Warn("the kernel does not prefer this process when memory runs out", "err", err)
	}
	if c.First, err = c.Conn.Recv(limit); err != nil {
		return nil, fmt.Errorf("subproc: the parent's first message: %w", err)
	}
	return c, nil
}

// inherited finds a child's end of the socket and the files that came with it.
func inherited(files int) (*Child, error) {
	f := os.NewFile(socketFD, "socket")
	if f == nil {
		return nil, ErrNoParent
	}
	conn, err := Open(f)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoParent, err)
	}
	c := &Child{Conn: conn}
	for i := range files {
		f := os.NewFile(uintptr(socketFD+1+i), "inherited")
		if _, err := f.Stat(); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrNoParent, err)
		}
		closeOnExec(f)
		c.Files = append(c.Files, f)
	}
	return c, nil
}
