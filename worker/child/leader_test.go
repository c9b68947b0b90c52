package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// TestMain is also the child's main function, because subproc starts this very binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guests" {
		os.Exit(Run(os.Args[2:], testParts))
	}
	if len(os.Args) > 1 && os.Args[1] == "false" {
		os.Exit(falseChild())
	}
	os.Exit(m.Run())
}

// testParts runs the test's own guests instead of modules.
func testParts(m Means) (Parts, error) {
	r := testRunner{m}
	stats := func() runtime.Stats { return runtime.Stats{Ready: 42} }
	return Parts{Runner: r, Stats: stats, Logger: slog.New(slog.DiscardHandler), Close: func(context.Context) error { return nil }, Wall: &wall.Plan{Files: 2048}}, nil
}

type testRunner struct{ m Means }

func (testRunner) Module(string) (worker.Guest, bool) { return nil, false }

// Load implements worker.Runner. A module's content says what the guest does.
func (r testRunner) Load(ctx context.Context, digest string, wasm []byte) (worker.Guest, error) {
	if err := r.m.Compile(ctx, digest, int64(len(wasm))); err != nil {
		return nil, err
	}
	r.m.OnCompile(runtime.Compiled{Digest: digest, Took: time.Second})
	return testGuest(wasm), nil
}

type testGuest string

// Run implements worker.Guest.
func (g testGuest) Run(ctx context.Context, a runtime.Attempt, _ runtime.Host) runtime.Outcome {
	out := runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Started: 1, Ended: 2, Fuel: 3}
	switch g {
	case "wait":
		<-ctx.Done()
	case "deaf": // like code that no check interrupts
		select {}
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "hog":
		for all := [][]byte{}; len(all) >= 0; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "break":
		out.Result, _ = json.Marshal(breakOut(string(a.Params)))
	case "outside":
		out.Result, _ = json.Marshal(askOutside(ctx, a.Outside))
	case "blob": // it returns its params twice, which is too long for a report
		out.Result = make([]byte, 2*a.ParamsFrom.Size)
		for _, half := range [][]byte{out.Result[:len(out.Result)/2], out.Result[len(out.Result)/2:]} {
			if _, err := a.ParamsFrom.ReadAt(half, 0); err != nil {
				return runtime.Outcome{Kind: runtime.Failed, Message: err.Error()}
			}
		}
	}
	return out
}

// leader plays the cluster for the parent. It is the other end of streams, and it has modules and blobs.
type leader struct {
	t   testing.TB
	ttl time.Duration

	mu       sync.Mutex
	conn     *stream.Conn            // the worker with many slots
	opened   uint64                  // the number of its sessions
	alone    map[uint64]*stream.Conn // the workers with one slot, by session
	hellos   []*stream.Hello
	sessions uint64
	session  uint64
	byes     int
	others   int // frames of all other kinds
	seq      uint64
	told     []string
	reports  []stream.Report
	compiled []string
	blobs    map[string][]byte
	changed  chan struct{}
}

func newLeader(t testing.TB, ttl time.Duration) *leader {
	return &leader{t: t, ttl: ttl, blobs: map[string][]byte{}, alone: map[uint64]*stream.Conn{}, changed: make(chan struct{})}
}

func (l *leader) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// until waits for a condition over the leader's state.
func (l *leader) until(what string, ok func() bool) {
	l.t.Helper()
	deadline := time.After(time.Minute)
	for {
		l.mu.Lock()
		done, changed := ok(), l.changed
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			l.t.Fatalf("never came: %s", what)
		}
	}
}

// Dial implements worker.Dialer.
func (l *leader) Dial(context.Context) (net.Conn, error) {
	a, b := net.Pipe()
	conn, err := stream.New(b, stream.Options{})
	if err != nil {
		return nil, err
	}
	go l.serve(conn)
	return a, nil
}

// Redirect implements worker.Dialer.
func (l *leader) Redirect(addr string) { l.change(func() { l.told = append(l.told, addr) }) }

func (l *leader) serve(conn *stream.Conn) {
	defer conn.Close()
	for {
		f, err := conn.Recv()
		if err != nil {
			return
		}
		var answer stream.Frame
		var welcomed func() // runs after the Welcome is sent; an assignment before it would be lost
		l.change(func() {
			switch {
			case f.Hello != nil:
				answer.Welcome, welcomed = l.welcome(f.Hello, conn)
			case f.Renew != nil:
				answer.Renewed = &stream.Renewed{N: f.Renew.N}
			case f.Bye != nil:
				l.byes++
				answer.Goodbye = &stream.Goodbye{}
			case f.Reports != nil:
				l.reports = append(l.reports, f.Reports...)
				for _, r := range f.Reports {
					answer.Acks = append(answer.Acks, stream.Ack{ID: r.ID})
				}
			default:
				l.others++
			}
		})
		if err := conn.Send(answer); err != nil && !errors.Is(err, stream.ErrBadFrame) {
			return
		}
		if welcomed != nil {
			l.change(welcomed)
		}
	}
}

func (l *leader) welcome(h *stream.Hello, conn *stream.Conn) (*stream.Welcome, func()) {
	l.hellos = append(l.hellos, h)
	session := h.Session
	if session == 0 {
		l.sessions++
		session = l.sessions
	}
	return &stream.Welcome{Session: session, TTL: task.Millis(l.ttl.Milliseconds()), Leader: "n1"}, func() {
		if h.Alone {
			l.alone[session] = conn
			return
		}
		if h.Session == 0 {
			l.opened++
		}
		l.conn, l.session = conn, session
	}
}

// assign gives the child attempts of a guest.
func (l *leader) assign(guest string, params task.Payload, tokens ...uint64) {
	l.t.Helper()
	l.mu.Lock()
	conn, session := l.conn, l.session
	l.mu.Unlock()
	l.assignTo(conn, session, guest, params, tokens...)
}

func (l *leader) assignTo(conn *stream.Conn, session uint64, guest string, params task.Payload, tokens ...uint64) {
	l.t.Helper()
	var all []stream.Assignment
	l.change(func() {
		for _, token := range tokens {
			l.seq++
			all = append(all, stream.Assignment{
				Task: &task.Task{
					Namespace: "default", ID: fmt.Sprint("t", token), Behavior: guest, Status: task.Running, Attempt: 1, Params: params,
					Lease: &task.Lease{Token: token, Session: session, Seq: l.seq},
				},
				Policy: &task.Policy{Limits: task.Limits{ResultBytes: 1 << 24, LogBytes: 1000}, RunTimeout: 3_600_000},
				Module: stream.Module{Digest: runtime.Digest([]byte(guest)), Size: int64(len(guest))},
			})
		}
	})
	if err := conn.Send(stream.Frame{Assign: all}); err != nil {
		l.t.Fatal(err)
	}
}

// Fetch implements worker.Modules. In these tests a module is the name of what it does.
func (l *leader) Fetch(_ context.Context, digest string, _ int64) ([]byte, error) {
	for _, guest := range []string{"wait", "deaf", "crash", "hog", "blob", "done", "break", "outside"} {
		if runtime.Digest([]byte(guest)) == digest {
			return []byte(guest), nil
		}
	}
	return nil, errors.New("no such module")
}

func (l *leader) compile(_ context.Context, digest string, _ int64) error {
	l.change(func() { l.compiled = append(l.compiled, digest) })
	return nil
}

// Put implements worker.Blobs.
func (l *leader) Put(_ context.Context, data []byte) (string, error) {
	digest := runtime.Digest(data)
	l.change(func() { l.blobs[digest] = data })
	return digest, nil
}

// Open implements worker.Blobs.
func (l *leader) Open(_ context.Context, digest string) (worker.Blob, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if data, ok := l.blobs[digest]; ok {
		return memoryBlob{bytes.NewReader(data)}, nil
	}
	return nil, fmt.Errorf("%w: %s", worker.ErrNoBlob, digest)
}

type memoryBlob struct{ *bytes.Reader }

func (memoryBlob) Close() error { return nil }
