package compiler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

// Run is the whole process: it does one job and returns the exit code.
func Run() int {
	c, err := subproc.Begin(0, maxMessage)
	if err != nil {
		fmt.Fprintln(os.Stderr, "taskrt:", err)
		return 1
	}
	if err := run(c.Conn, c.First); err != nil {
		slog.Error("compiling", "error", err)
		return 1
	}
	return 0
}

func run(conn *subproc.Conn, m subproc.Message) error {
	var j job
	if err := json.Unmarshal(m.Body, &j); err != nil || len(m.Files) != 1 {
		return errors.Join(errors.New("not a job"), err)
	}
	a := &answerer{conn: conn}
	if err := a.limits(j); err != nil {
		return err
	}
	go func() { // whoever gave the job says nothing more; if it is gone, so is the reason for this process
		_, _ = io.Copy(io.Discard, conn.Raw())
		os.Exit(1)
	}()
	plan := wall.Plan{Files: jobFiles}
	if j.CacheDir != "" {
		plan.Writes = []string{j.CacheDir}
	}
	state, err := wall.Raise(plan)
	if err != nil {
		return err
	}
	if err := a.send(msgWall, state); err != nil {
		return err
	}
	wasm, err := subproc.ReadContent(m.Files[0], j.MaxModuleBytes)
	if err != nil {
		return err
	}
	if err := a.result(a.do(j, wasm)); err != nil {
		return err
	}
	select {} // the parent ends this process: it looks at the wall around it first, perhaps only now
}

// jobFiles is how many files a job may have open: those of a cache of one module.
const jobFiles = 256

// answerer gives exactly one result.
type answerer struct {
	conn *subproc.Conn
	mu   sync.Mutex
	done bool

	compiled []compiled
}

// limits bounds this process. The parent looks at its memory; the collector is told a limit below the parent's.
func (a *answerer) limits(j job) error {
	debug.SetMemoryLimit(j.Memory / 10 * 9)
	seconds := uint64(max(j.CPU/time.Second, 1))
	over := make(chan os.Signal, 1)
	signal.Notify(over, unix.SIGXCPU)
	go func() {
		<-over
		_ = a.result(&result{Refused: tooMuchCPU(j.CPU)}) // else the kernel says it, a little later
		os.Exit(1)
	}()
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 5}); err != nil {
		return fmt.Errorf("limit of CPU time: %w", err)
	}
	return nil
}

func (a *answerer) result(r *result) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return nil
	}
	a.done = true
	return a.send(msgResult, r)
}

func (a *answerer) send(kind byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.conn.Send(kind, body)
}

func (a *answerer) do(j job, wasm []byte) *result {
	engine, err := runtime.New(runtime.Config{
		CacheDir: j.CacheDir, CacheBytes: j.CacheBytes, MaxModuleBytes: j.MaxModuleBytes, MemoryBudget: manifest.MaxMemoryBytes, CompileWorkers: 1, KeepImages: true,
		OnCompile: func(c runtime.Compiled) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.compiled = append(a.compiled, compiled{Digest: c.Digest, Took: c.Took, Cached: c.Cached, Failed: c.Err != nil})
		},
	})
	if err != nil {
		return &result{Failed: err.Error()}
	}
	go a.tellLinear(engine)
	r := &result{}
	if j.Inspect {
		err = inspect(engine, j, wasm, r)
	} else {
		_, err = engine.Load(context.Background(), runtime.Digest(wasm), wasm)
		if fault := engine.CacheFault(); err == nil && fault != nil { // who asked for it would not find it, and not know why
			err = fmt.Errorf("the compiled code cannot be kept: %w", fault)
		}
	}
	if refused, ok := errors.AsType[*upload.Error](err); ok {
		r.Refused = refused
	} else if err != nil {
		r.Failed = err.Error()
	}
	a.mu.Lock()
	r.Compiled = a.compiled
	a.mu.Unlock()
	r.Cache = engine.Stats().CacheBytes
	return r
}

func inspect(engine *runtime.Engine, j job, wasm []byte, r *result) error {
	var given *manifest.Manifest
	if j.Manifest != nil {
		var err error
		if given, err = manifest.Parse(j.Manifest); err != nil {
			return err
		}
	}
	in, err := engine.Inspect(context.Background(), wasm, given, j.Name)
	if err != nil {
		return err
	}
	r.Manifest = in.ManifestJSON
	return nil
}

// tellLinear tells the parent how much memory belongs to guests that are tried out, each time that it changes.
func (a *answerer) tellLinear(engine *runtime.Engine) {
	last := int64(0)
	for range time.Tick(10 * time.Millisecond) {
		if n := engine.Stats().Memory; n != last {
			last = n
			if a.send(msgLinear, n) != nil {
				return
			}
		}
	}
}
