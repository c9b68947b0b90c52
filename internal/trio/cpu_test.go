package trio

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestCPU: what this process used grows with all that it does, also with the little that a tick of 10 ms does not see.
func TestCPU(t *testing.T) {
	before, err := CPU(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		now, err := CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now <= before {
			t.Fatalf("%v, and before %v", now, before)
		}
		before = now
	}
	for _, pid := range []int{0, -1} {
		if used, err := CPU(os.Getpid(), pid); err == nil {
			t.Errorf("process %d has used %v", pid, used)
		}
	}
}

func TestCPUOfAnother(t *testing.T) {
	if _, err := CPU(os.Getpid()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	cmd := leash.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A process that has just begun has used nothing by the kernel's books. It has when it has worked for long enough.
	for used := time.Duration(0); used == 0; {
		if _, err := stdin.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if used, err = CPU(cmd.Process.Pid); err != nil || used < 0 {
			t.Fatalf("%v, %v", used, err)
		}
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if used, err := CPU(cmd.Process.Pid); err == nil {
		t.Errorf("a process that has ended and been waited for has used %v", used)
	}
}
