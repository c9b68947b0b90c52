//go:build !linux

package subproc

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the file that this program was started from. Where there is no name for what runs, an upgrade under way may
// start the new one.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("subproc: %w", err)
	}
	return path, nil
}

func attributes(bool, *os.File) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// memoryFile is a file without a name.
func memoryFile(name string) (*os.File, error) {
	f, err := os.CreateTemp("", "taskrt-"+name)
	if err != nil {
		return nil, fmt.Errorf("subproc: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("subproc: %w", err), f.Close())
	}
	return f, nil
}

func seal(*os.File) error { return nil }

func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }

// preferAsVictim does nothing: only Linux has it.
func preferAsVictim() error { return nil }

// Anonymous knows nothing here.
func Anonymous(int) (n int64, known bool) { return 0, false }
