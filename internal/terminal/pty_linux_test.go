package terminal_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/terminal"
)

// pty is a pseudo terminal that hands on what is written to it as it is.
type pty struct{ master, slave *os.File }

func openPty(t *testing.T) *pty {
	t.Helper()
	t.Setenv("TERM", "xterm")
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	modes, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err == nil {
		modes.Oflag &^= unix.OPOST // no carriage returns before line feeds
		err = unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, modes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &pty{master, slave}
}

func (p *pty) resize(t *testing.T, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// read returns the next n bytes that were written.
func (p *pty) read(t *testing.T, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(p.master, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestIsTerminal: a device that nobody reads or answers from is no terminal, also if it is a character device.
func TestIsTerminal(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, stream := range []any{file, null, io.Discard, nil} {
		if terminal.IsTerminal(stream) {
			t.Errorf("%v is taken for a terminal", stream)
		}
	}
	p := openPty(t)
	if !terminal.IsTerminal(p.slave) {
		t.Error("a pseudo terminal is none")
	}
	t.Setenv("TERM", "dumb")
	if out := terminal.New(p.slave); !out.IsTerminal() || out.Draws() {
		t.Error("a terminal that understands nothing is drawn on, or is none")
	}
}
