// Command demo shows taskrt's main job on real processes: three nodes on this machine with fsync on, wasm behaviors,
// kill -9 of the node that runs a long task and of the leader, restarts, and one outcome for every task. It uses only what
// a user has: the taskrt binary and HTTP. It leaves nothing running, and exits 0 only if everything that it prints was true.
//
//	go run ./internal/demo -taskrt bin/taskrt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// patience is how long the whole demo may take; a quiet machine needs about a minute.
const patience = 8 * time.Minute

func main() {
	binary := flag.String("taskrt", "bin/taskrt", "the taskrt binary")
	wasm := flag.String("wasm", "testdata/wasm", "directory of wordcount.wasm, primes.wasm and flaky.wasm")
	keep := flag.Bool("keep", false, "keep the data and the logs")
	flag.Parse()
	// The children die with the thread that started them, so this thread must live as long as the process.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := run(ctx, *binary, *wasm, *keep)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo: FAILED:", err)
		os.Exit(1) // run has stopped everything
	}
}

func run(ctx context.Context, binary, wasm string, keep bool) (err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "taskrt-demo-")
	if err != nil {
		return err
	}
	c, err := newCluster(binary, dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
			c.showLogs()
		}
		c.Kill()
		if keep {
			fmt.Println("kept", dir)
		} else {
			_ = os.RemoveAll(dir)
		}
	}()
	s := &story{cluster: c, wasm: wasm, began: time.Now()}
	return s.tell(ctx)
}
