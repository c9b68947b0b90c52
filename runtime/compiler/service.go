package compiler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/cgroup"
	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/codecache"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

// These are the limits of one job.
const (
	DefaultCPU    = 60 * time.Second
	DefaultMemory = 1 << 30 // bytes, besides the module's own linear memory
	// jobTime bounds a process that gets no time to compute: a client does not wait longer, and other jobs get the place.
	jobTime = 5 * time.Minute
)

// Config configures a Service.
type Config struct {
	// Args are the arguments with which the program calls Run.
	Args []string
	// CacheDir, CacheBytes and MaxModuleBytes are those of the engine. Only jobs write into the cache.
	CacheDir       string
	CacheBytes     int64
	MaxModuleBytes int64
	// CPU and Memory bound a job; 0: DefaultCPU, DefaultMemory.
	CPU    time.Duration
	Memory int64
	// Cgroup has a cgroup for each process, or says why there is none; nil: nobody asks for one.
	Cgroup *cgroup.Group
	// OnCompile, if set, is told what the engines of jobs tell their OnCompile.
	OnCompile func(runtime.Compiled)
	Logger    *slog.Logger // default slog.Default
}

// Service runs jobs, two at a time.
type Service struct {
	cfg    Config
	places places
	cache  atomic.Int64
	once   sync.Once
	walled sync.Once // the wall of the first job was logged
}

// New returns a Service. The Service has nothing to close: a job ends with its caller's context.
func New(cfg Config) *Service {
	if cfg.CPU == 0 {
		cfg.CPU = DefaultCPU
	}
	if cfg.Memory == 0 {
		cfg.Memory = DefaultMemory
	}
	if cfg.MaxModuleBytes == 0 {
		cfg.MaxModuleBytes = runtime.DefaultMaxModuleBytes
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Service{cfg: cfg}
}

// CacheBytes is the size of the cache, as the last job saw it.
func (s *Service) CacheBytes() int64 {
	s.once.Do(func() {
		if s.cache.Load() == 0 {
			s.cache.CompareAndSwap(0, codecache.Size(s.cfg.CacheDir))
		}
	})
	return s.cache.Load()
}

// Inspect does what Inspect of runtime.Engine does, in a process of its own.
func (s *Service) Inspect(ctx context.Context, wasm []byte, given *manifest.Manifest, name string) (*runtime.Inspected, error) {
	j := job{Inspect: true, Name: name}
	if given != nil {
		var err error
		if j.Manifest, err = given.Canonical(); err != nil {
			return nil, upload.Errorf(upload.BadManifest, "", "%v", err)
		}
	}
	r, err := s.do(ctx, j, wasm)
	if err != nil {
		return nil, err
	}
	// What comes from there may have been made by the module. What counts is made here.
	found, err := manifest.Parse(r.Manifest)
	if err != nil {
		return nil, err
	}
	in := &runtime.Inspected{Digest: runtime.Digest(wasm), Size: int64(len(wasm)), Manifest: *found}
	if in.ManifestJSON, err = found.Canonical(); err != nil {
		return nil, fmt.Errorf("compiler: manifest: %w", err)
	}
	in.Version = runtime.Version(in.Digest, in.ManifestJSON)
	return in, nil
}

// Compile puts the code of a module into the cache.
func (s *Service) Compile(ctx context.Context, wasm []byte) error {
	_, err := s.do(ctx, job{}, wasm)
	return err
}

// do runs a job in its turn.
func (s *Service) do(ctx context.Context, j job, wasm []byte) (*result, error) {
	if size := int64(len(wasm)); size > s.cfg.MaxModuleBytes { // it is not even handed over
		return nil, upload.Oversized(size, s.cfg.MaxModuleBytes)
	}
	leave, err := s.places.enter(ctx, int64(len(wasm)))
	if err != nil {
		return nil, err
	}
	defer leave()
	j.CacheDir, j.CacheBytes, j.MaxModuleBytes, j.CPU, j.Memory = s.cfg.CacheDir, s.cfg.CacheBytes, s.cfg.MaxModuleBytes, s.cfg.CPU, s.cfg.Memory
	r, err := s.process(ctx, j, wasm)
	if err != nil {
		return nil, err
	}
	s.cache.Store(r.Cache)
	for _, c := range r.Compiled {
		if s.cfg.OnCompile == nil {
			break
		}
		told := runtime.Compiled{Digest: c.Digest, Took: c.Took, Cached: c.Cached}
		if c.Failed {
			told.Err = errors.New("compiler: refused")
		}
		s.cfg.OnCompile(told)
	}
	switch {
	case r.Refused != nil:
		return nil, r.Refused
	case r.Failed != "":
		return nil, errors.New(r.Failed)
	}
	return r, nil
}

// tellWall logs once what is in force around the processes that compile (SPEC A10).
func (s *Service) tellWall(w wall.State) {
	s.walled.Do(func() {
		s.cfg.Logger.Info("modules are compiled behind a wall", "wall", w.String(), "missing", w.Missing)
	})
}

// process is one process from its start to its end.
func (s *Service) process(ctx context.Context, j job, wasm []byte) (*result, error) {
	if err := codecache.Prepare(s.cfg.CacheDir); err != nil { // somebody may have deleted it; behind its wall the process cannot make it
		s.cfg.Logger.Warn("compiled code is not cached", "error", err)
	}
	module, err := subproc.Content(wasm)
	if err != nil {
		return nil, err
	}
	defer module.Close()
	body, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("compiler: %w", err)
	}
	group := s.cfg.Cgroup
	if group == nil {
		group = cgroup.None(errNotAsked)
	}
	p, box, err := group.Start(subproc.Command{Args: s.cfg.Args}, "compile", j.Memory+manifest.MaxMemoryBytes+cgroupRoom)
	if err != nil {
		return nil, err
	}
	defer box.Close() // the process has been reaped
	ctx, cancel := context.WithTimeoutCause(ctx, jobTime, errTooLong)
	defer cancel()
	w := &watched{p: p, box: box, limit: j.Memory, tellWall: s.tellWall}
	watching := make(chan struct{})
	go func() { defer close(watching); w.watch(ctx) }()
	r, err := w.converse(body, module)
	p.Kill() // it has said what it had to
	<-p.Done()
	<-watching
	_ = p.Conn.Close()
	switch {
	case r != nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, s.died(w, j, err)
}

// cgroupRoom is what a process may have in its cgroup besides what it is told that it may have: tables of pages, files that it writes.
const cgroupRoom = 256 << 20

var errNotAsked = errors.New("not asked for")

var errTooLong = fmt.Errorf("compiler: a module was not ready within %v: %w", jobTime, context.DeadlineExceeded)

// died says why a process gave no result.
func (s *Service) died(w *watched, j job, err error) error {
	state := w.p.State()
	used := state.UserTime() + state.SystemTime()
	s.cfg.Logger.Warn("a process that compiled a module ended without a result", "state", state.String(), "cpu", used, "memory", w.most.Load(), "oom_kills", w.box.Kills(), "error", err)
	if w.over.Load() || w.box.Kills() > 0 {
		return tooComplex(j.Memory, "compiling it took more than %d MiB of memory besides its own", j.Memory>>20)
	}
	if used >= j.CPU {
		return tooMuchCPU(j.CPU)
	}
	why := state.String()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		why = "killed from outside, as the kernel does when memory runs out"
	}
	return upload.Errorf(upload.CompileFailed, "", "the process that compiled it ended: %s", why)
}

func tooComplex(limit int64, format string, args ...any) *upload.Error {
	return &upload.Error{Code: upload.TooComplex, Limit: limit, Message: fmt.Sprintf(format, args...)}
}

func tooMuchCPU(limit time.Duration) *upload.Error {
	return tooComplex(int64(limit/time.Second), "compiling it took more than %d s of CPU time", int64(limit/time.Second))
}

// watched is a process that is watched while it works.
type watched struct {
	p      *subproc.Process
	box    *cgroup.Box
	limit  int64
	linear atomic.Int64 // bytes of guests' memory, as the process says
	most   atomic.Int64 // bytes that were seen
	over   atomic.Bool  // it was killed for its memory

	tellWall func(wall.State)
}

// watchEvery is how often the process is looked at. A process that takes memory as fast as the kernel gives it grows
// by some 50 MiB in this time.
const watchEvery = 50 * time.Millisecond

// watch ends the process when its caller leaves, or when it uses too much memory. It must see too much twice, because
// the guests' part is known a little later.
func (w *watched) watch(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	before := false
	for {
		select {
		case <-w.p.Done():
			return
		case <-ctx.Done():
			w.p.Kill()
			return
		case <-t.C:
		}
		n, known := subproc.Anonymous(w.p.PID())
		if !known {
			continue
		}
		w.most.Store(max(w.most.Load(), n))
		over := n-w.linear.Load() > w.limit
		if over && before {
			w.over.Store(true)
			w.p.Kill()
			return
		}
		before = over
	}
}

// walled takes what the process says of its wall. The kernel is asked whether that is so.
func (w *watched) walled(body []byte) error {
	var s wall.State
	if err := json.Unmarshal(body, &s); err != nil {
		return fmt.Errorf("compiler: %w", err)
	}
	seen, err := wall.Prove(w.p.PID(), s)
	if err == nil {
		lacks := ""
		if err := w.box.Lacks(); err != nil {
			lacks = err.Error()
		}
		seen.NoteCgroup(lacks, 0)
		w.tellWall(seen)
	}
	return err
}

// converse gives the process its job and waits for the result.
func (w *watched) converse(body []byte, module *os.File) (*result, error) {
	if err := w.p.Conn.Send(msgJob, body, module); err != nil {
		return nil, err
	}
	for {
		m, err := w.p.Conn.Recv(maxMessage)
		if err != nil {
			return nil, err
		}
		m.CloseFiles()
		switch m.Kind {
		case msgWall:
			if err := w.walled(m.Body); err != nil {
				return nil, err
			}
		case msgLinear:
			var n int64
			if err := json.Unmarshal(m.Body, &n); err != nil {
				return nil, fmt.Errorf("compiler: %w", err)
			}
			w.linear.Store(min(max(n, 0), manifest.MaxMemoryBytes))
		case msgResult:
			r := &result{}
			if err := json.Unmarshal(m.Body, r); err != nil {
				return nil, fmt.Errorf("compiler: %w", err)
			}
			return r, nil
		}
	}
}
