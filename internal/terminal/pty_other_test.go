//go:build !linux

package terminal_test

import (
	"os"
	"testing"
)

// pty is made on Linux only.
type pty struct{ slave *os.File }

func openPty(t *testing.T) *pty {
	t.Helper()
	t.Skip("pseudo terminals are made on Linux only")
	return nil
}

func (*pty) resize(*testing.T, uint16)       {}
func (*pty) read(t *testing.T, _ int) string { t.Helper(); return "" }
