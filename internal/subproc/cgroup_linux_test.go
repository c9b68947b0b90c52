package subproc

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// cgroup makes a cgroup of version 2.
func cgroup(t *testing.T) (dir, path string) {
	t.Helper()
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		t.Skip("no /proc:", err)
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) > 2 && f[2] == "cgroup2" {
			path = fmt.Sprintf("/taskrt-test-%d", os.Getpid())
			dir = filepath.Join(f[1], path)
		}
	}
	if dir == "" {
		t.Skip("no cgroup2 is mounted")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no right to make a cgroup:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Rmdir(dir); err != nil {
			t.Error(err)
		}
	})
	return dir, path
}

// TestChildBeginsInItsCgroup (SPEC A10): a child is in its cgroup from its start, and its parent stays where it is.
func TestChildBeginsInItsCgroup(t *testing.T) {
	t.Parallel()
	dir, path := cgroup(t)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cells, err := NewCells(3)
	if err != nil {
		t.Fatal(err)
	}
	defer cells.Close()
	p, err := Start(Command{Args: []string{"echo"}, Files: []*os.File{cells.File()}, Cgroup: f}) // it waits for a message
	if err != nil {
		t.Fatal(err)
	}
	defer p.Conn.Close()
	defer func() { p.Kill(); <-p.Done() }()
	at, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.PID()))
	if err != nil || !strings.Contains(string(at), "0::"+path+"\n") {
		t.Errorf("%s, %v", at, err)
	}
	if at, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(at), path) {
		t.Errorf("its parent: %s, %v", at, err)
	}
}
