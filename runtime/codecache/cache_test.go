package codecache

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestCacheOnAFullDisk: a disk fills up while wazero writes. The module is ready all the same, and nothing half made
// is left.
func TestCacheOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	c, err := Open(Config{Dir: dir, Limit: 1 << 20, Generation: "m1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	rt, _, cached, err := c.Compile("aa", func(cache wazero.CompilationCache) (wazero.Runtime, wazero.CompiledModule, error) {
		calls++
		if cache != nil {
			return nil, nil, syscall.ENOSPC
		}
		return wazero.NewRuntime(context.Background()), nil, nil
	})
	if err != nil || cached || calls != 2 || !errors.Is(c.Fault(), syscall.ENOSPC) {
		t.Fatalf("cached %v after %d calls: %v, %v", cached, calls, err, c.Fault())
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
