package runtime

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestCompilationsWaitInLine: modules wait for each other, so compiling leaves the other CPUs to the node.
func TestCompilationsWaitInLine(t *testing.T) {
	if want := max(1, goruntime.GOMAXPROCS(0)/2); (Config{}).withDefaults().CompileWorkers != want {
		t.Errorf("by default %d compile at a time, want %d", Config{}.withDefaults().CompileWorkers, want)
	}
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{CompileWorkers: 1})
		e.compiling <- struct{}{} // one compiles
		var done sync.WaitGroup
		for _, guest := range []string{"echo", "trap"} {
			done.Go(func() { load(t, e, guestFile(t, guest)) })
		}
		synctest.Wait()
		if s := e.Stats(); s.Ready != 0 || s.Compiling+s.Waiting != 2 {
			t.Errorf("while another compiles: %+v", s)
		}
		<-e.compiling
		done.Wait()
		if s := e.Stats(); s.Ready != 2 || s.Compiling != 0 || s.Waiting != 0 {
			t.Errorf("afterwards: %+v", s)
		}
	})
}

// TestCacheDeletedUnderWay: to delete the cache, or parts of it, at any moment costs compilations and nothing else.
func TestCacheDeletedUnderWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	stop := make(chan struct{})
	var deleting, loading sync.WaitGroup
	deleting.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
			switch {
			case n%3 == 0:
				_ = os.RemoveAll(dir)
			case len(files) > 0:
				_ = os.RemoveAll(files[n%len(files)])
			}
		}
	})
	for range 4 {
		loading.Go(func() {
			for range 10 {
				echoes(t, dir)
			}
		})
	}
	loading.Wait()
	close(stop)
	deleting.Wait()
	echoes(t, dir)
}
