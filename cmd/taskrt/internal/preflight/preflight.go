// Package preflight finds out whether a node or a worker could start on this machine, without starting it: its directory, its ports, its files.
package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/worker"
)

// Plan is what a node or a worker would start with.
type Plan struct {
	Dir    string
	Node   *node.Config // its ID, Dir and Raft are looked at; nil: a worker
	Listen []Port
	RunLog string // "": none
}

// Port is an address to listen on, and the flag that says it.
type Port struct{ Flag, Addr string }

// Check returns why it could not start; running says that it runs already, so that its ports could not be tried. Nothing is
// created, written or left open.
func Check(p Plan) (running bool, err error) {
	if err := writable(p.Dir, true); err != nil {
		return false, fmt.Errorf("--dir: %w", err)
	}
	if p.Node != nil {
		err = node.CheckDir(*p.Node)
	} else {
		err = checkWorker(p.Dir)
	}
	if running = errors.Is(err, logstore.ErrInUse) || errors.Is(err, worker.ErrDirInUse); err != nil && !running {
		return false, err
	}
	if p.RunLog != "" {
		if err := writable(p.RunLog, false); err != nil {
			return running, fmt.Errorf("--run-log: %w", err)
		}
	}
	for _, port := range p.Listen {
		if running {
			break
		}
		ln, err := net.Listen("tcp", port.Addr)
		if err != nil {
			return false, fmt.Errorf("--%s: %w", port.Flag, err)
		}
		defer ln.Close() // at the end: two ports cannot be the same one
	}
	return running, nil
}

// checkWorker returns worker.ErrDirInUse if a worker runs in a directory. It makes no lock.
func checkWorker(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "lock")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := worker.Lock(dir)
	if err != nil {
		return err
	}
	return lock.Close()
}

// writable returns why this process could not write into a directory or a file. What does not exist yet must have a parent to be made in.
func writable(path string, dir bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(path)
		if !dir || parent == path { // files are made in directories that exist, directories with their parents
			return access(parent)
		}
		return writable(parent, true)
	case err != nil:
		return err
	case info.IsDir() != dir:
		return &fs.PathError{Op: "open", Path: path, Err: map[bool]error{true: unix.ENOTDIR, false: unix.EISDIR}[dir]}
	}
	return access(path)
}

func access(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil {
		return &fs.PathError{Op: "write to", Path: path, Err: err}
	}
	return nil
}
