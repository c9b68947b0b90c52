// Package memdir gives tests directories in memory.
package memdir

import (
	"os"
	"testing"
)

// New returns a directory for the test, in memory where there is memory for files. It is for tests that do not depend on what a disk
// keeps, or on how long it takes. A sync of a busy disk stops virtual time.
func New(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "taskrt-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
