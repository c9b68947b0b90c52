package trio

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestUsedTicks(t *testing.T) {
	t.Parallel()
	const stat = "42 (a ) b) S 1 42 42 0 -1 4194560 900 0 0 0 31 11 0 0 20 0 9 0 100 1000 10 18446744073709551615"
	if n, err := usedTicks(stat); err != nil || n != 42 {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{"", "42 (a", "42 (a) S 1 2 3", "42 (a) S 1 42 42 0 -1 4194560 900 0 0 0 x 11"} {
		if n, err := usedTicks(bad); err == nil {
			t.Errorf("%q: %d", bad, n)
		}
	}
}

// TestCPU: what this process used grows while it computes.
func TestCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; {
		now, err := CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now >= before+2*tick {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("a minute of work took %v", now-before)
		}
	}
	if _, err := CPU(os.Getpid(), -1); err == nil {
		t.Error("a process that is not there has used some")
	}
}
