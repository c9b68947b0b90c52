package compiler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

// TestMain is also the process that compiles: subproc starts this very binary.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "compile":
		os.Exit(Run())
	case len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "bad-"):
		bad(os.Args[1])
	}
	os.Exit(m.Run())
}

// bad does to a process what a hostile module may do to the compiler.
func bad(how string) {
	c, err := subproc.Begin(0, maxMessage)
	if err != nil {
		panic(err)
	}
	conn := c.Conn
	var j job
	if err := json.Unmarshal(c.First.Body, &j); err != nil {
		panic(err)
	}
	a := &answerer{conn: conn}
	if err := a.limits(j); err != nil {
		panic(err)
	}
	switch how {
	case "bad-spin":
		for { //nolint:staticcheck // that is the point
		}
	case "bad-hog":
		for all := [][]byte{}; len(all) >= 0; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "bad-crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
	case "bad-guests": // as much again, but it is linear memory, which is no cost of compiling
		_ = conn.Send(msgLinear, []byte("500000000"))
		all := bytes.Repeat([]byte{1}, 300<<20)
		<-time.After(10 * watchEvery)
		_ = a.result(&result{Failed: string(all[:2])})
	case "bad-answer":
		_ = conn.Send(msgResult, []byte("{"))
	}
	select {}
}

func wasm(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newService(t *testing.T, args string) (*Service, *[]runtime.Compiled) {
	var mu sync.Mutex
	made := &[]runtime.Compiled{}
	return New(Config{
		Args: []string{args}, CacheDir: t.TempDir(), CPU: 2 * time.Second, Memory: 200 << 20, Logger: slog.New(slog.DiscardHandler),
		OnCompile: func(c runtime.Compiled) {
			mu.Lock()
			defer mu.Unlock()
			*made = append(*made, c)
		},
	}), made
}

// TestInspect: a process says of an upload what an engine here says, and leaves its code there for others to read.
func TestInspect(t *testing.T) {
	t.Parallel()
	s, made := newService(t, "compile")
	here, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close(t.Context())
	given, err := manifest.Parse([]byte(`{"schema":1,"behaviors":[{"name":"given"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, name string
		given      *manifest.Manifest
	}{
		{"echo", "echo", nil}, {"echo", "e", nil}, {"echo", "", given}, {"echo", "", nil}, {"conformance-wat", "", nil}, {"bad-abi", "", nil}, {"no-such-name", "x", nil},
	} {
		file := []byte("no wasm")
		if c.file != "no-such-name" {
			file = wasm(t, c.file)
		}
		got, err := s.Inspect(t.Context(), file, c.given, c.name)
		want, wantErr := here.Inspect(t.Context(), file, c.given, c.name)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%+v: %v, here %v", c, err, wantErr)
		} else if err == nil && (got.Version != want.Version || got.Digest != want.Digest || got.Size != want.Size) {
			t.Errorf("%+v: %+v, here %+v", c, got, want)
		}
	}
	if len(*made) == 0 || s.CacheBytes() == 0 {
		t.Errorf("told of %v, %d bytes", *made, s.CacheBytes())
	}
	if images, err := filepath.Glob(filepath.Join(s.cfg.CacheDir, "*-image-*")); err != nil || len(images) != 2 {
		t.Errorf("images of echo and conformance-wat in the cache: %v, %v", images, err)
	}
}

// TestReadOnlyEngine: an engine that compiles nothing runs what a process has compiled, and asks for it once.
func TestReadOnlyEngine(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "compile")
	file, asked := wasm(t, "echo"), 0
	for range 2 {
		e, err := runtime.New(runtime.Config{CacheDir: s.cfg.CacheDir, Compile: func(ctx context.Context, digest string, size int64) error {
			asked++
			if digest != runtime.Digest(file) || size != int64(len(file)) {
				t.Errorf("asked for %s, %d bytes", digest, size)
			}
			return s.Compile(ctx, file)
		}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(t.Context(), runtime.Digest(file), file)
		if err != nil {
			t.Fatal(err)
		}
		out := m.Run(t.Context(), runtime.Attempt{Params: []byte("7"), MemoryBytes: 1 << 20, ResultBytes: 10}, silent{})
		if out.Kind != runtime.Succeeded || string(out.Result) != "7" {
			t.Errorf("%+v", out)
		}
		e.Close(t.Context())
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if images, err := filepath.Glob(filepath.Join(s.cfg.CacheDir, "*-image-*")); err != nil || len(images) != 1 {
		t.Errorf("images in the cache: %v, %v", images, err)
	}
}

// TestFullCache: code that cannot be kept helps nobody. Who has asked for it is told why, also through an engine that only reads.
func TestFullCache(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "compile")
	if err := unix.Mount("tmpfs", s.cfg.CacheDir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: cannot mount a small disk: %v", err)
	}
	defer func() {
		if err := unix.Unmount(s.cfg.CacheDir, 0); err != nil {
			t.Error(err)
		}
	}()
	file := wasm(t, "echo")
	e, err := runtime.New(runtime.Config{CacheDir: s.cfg.CacheDir, Compile: func(ctx context.Context, _ string, _ int64) error { return s.Compile(ctx, file) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	if _, err := e.Load(t.Context(), runtime.Digest(file), file); err == nil || !strings.Contains(err.Error(), "the compiled code cannot be kept: ") || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("%v", err)
	}
}

// TestReadOnlyEngineWritesNothing: it writes nothing, not even when nobody compiles for it.
func TestReadOnlyEngineWritesNothing(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), wasm(t, "echo")
	for _, tt := range []struct {
		answer error
		code   upload.Code
		limit  int64
	}{
		{nil, upload.CompileFailed, 0},
		{errors.New("no place"), upload.CompileFailed, 0},
		{&upload.Error{Code: upload.TooComplex, Limit: 2, Message: "more than 2 s of CPU time"}, upload.TooComplex, 2},
	} {
		e, err := runtime.New(runtime.Config{CacheDir: dir, Compile: func(context.Context, string, int64) error { return tt.answer }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Load(t.Context(), runtime.Digest(file), file)
		refused, ok := errors.AsType[*upload.Error](err)
		if !ok || refused.Code != tt.code || refused.Limit != tt.limit {
			t.Errorf("loaded from nowhere, after %v: %v", tt.answer, err)
		}
		e.Close(t.Context())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

var race bool // set by race_test.go

// TestLimits: whatever a module does to the process is an answer about the module (SPEC L5).
func TestLimits(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]*upload.Error{
		"bad-spin":  {Code: upload.TooComplex, Message: "2 s of CPU time", Limit: 2},
		"bad-hog":   {Code: upload.TooComplex, Message: "200 MiB of memory", Limit: 200 << 20},
		"bad-crash": {Code: upload.CompileFailed, Message: "ended"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, _ := newService(t, how)
			_, err := s.Inspect(t.Context(), []byte("module"), nil, "")
			got, ok := errors.AsType[*upload.Error](err)
			if !ok || got.Code != want.Code || got.Limit != want.Limit || !strings.Contains(got.Message, want.Message) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("bad-guests", func(t *testing.T) {
		t.Parallel()
		if race {
			t.Skip("the race detector keeps several times as much memory as the process has")
		}
		s, _ := newService(t, "bad-guests")
		if err := s.Compile(t.Context(), []byte("module")); err == nil || err.Error() != "\x01\x01" {
			t.Errorf("linear memory was counted: %v", err)
		}
	})
	t.Run("bad-answer", func(t *testing.T) {
		t.Parallel()
		s, _ := newService(t, "bad-answer")
		if _, err := s.Inspect(t.Context(), []byte("module"), nil, ""); err == nil {
			t.Error("half an answer was one")
		}
	})
	s, _ := newService(t, "compile")
	s.cfg.MaxModuleBytes = 3
	if _, err := s.Inspect(t.Context(), []byte("1234"), nil, ""); err == nil || !strings.Contains(err.Error(), "too_large") {
		t.Errorf("%v", err)
	}
}

// TestClientThatLeaves: when the client leaves, the process ends, and its place is free.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "bad-sleep")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := s.Inspect(ctx, []byte("module"), nil, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if s.places.taken != [2]bool{} {
		t.Errorf("taken: %v", s.places.taken)
	}
}

// TestPlaces: two jobs run at a time; small jobs never wait for large ones, and the first in line is not passed for
// ever.
func TestPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l places
		var mu sync.Mutex
		var order []int64
		leaves := map[int64]func(){}
		come := func(size int64) {
			go func() {
				leave, err := l.enter(t.Context(), size)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order, leaves[size] = append(order, size), leave
			}()
			synctest.Wait()
		}
		const big = smallModule + 1
		for _, size := range []int64{big, big + 1, big + 2, 30, 20, 10} {
			come(size)
		}
		want := []int64{big, 30} // the second large one waits; the first small one does not
		check := func() {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(order, want) {
				t.Errorf("%v, not %v", order, want)
			}
		}
		check()
		for _, step := range []struct{ leaves, then int64 }{{30, 10}, {big, big + 1}, {10, 20}, {big + 1, big + 2}} {
			leaves[step.leaves]()
			want = append(want, step.then)
			check()
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := l.enter(ctx, big)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) || len(l.waiting) != 0 {
			t.Errorf("%v, waiting %d", err, len(l.waiting))
		}
	})
}
