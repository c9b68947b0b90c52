package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// Here real guests run in the real runtime, outside bubbles: code that computes would stop a bubble's clock.

// files has the modules of testdata/wasm by digest.
type files struct {
	mu       sync.Mutex
	byDigest map[string][]byte
}

func (f *files) Fetch(_ context.Context, digest string, _ int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byDigest[digest], nil
}

// real is a worker with real guests.
type real struct {
	*hub
	t      *testing.T
	files  *files
	worker *Worker
	jump   atomic.Int64 // added to CLOCK_BOOTTIME
	stop   context.CancelFunc
	ended  chan error

	rmu   sync.Mutex
	spans []Run
	ends  []Ended
}

func startReal(t *testing.T) *real {
	t.Helper()
	return startGranted(t, nil)
}

// startGranted starts one whose operator grants capabilities, and which is asked for spans.
func startGranted(t *testing.T, granted *grants.Grants) *real {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	e, err := runtime.New(runtime.Config{CacheDir: t.TempDir(), Logger: logger, Grants: granted, CheckChild: func([]byte) (string, error) { return "echo", nil }})
	if err != nil {
		t.Fatal(err)
	}
	r := &real{
		hub: &hub{t: t, start: time.Now()}, t: t, files: &files{byDigest: map[string][]byte{}}, ended: make(chan error, 1),
	}
	w, err := New(Config{
		ID: "w1", Dir: t.TempDir(), Slots: 2, Dial: r.hub, Modules: r.files, Runner: Engine(e), Logger: logger,
		Boottime: func() time.Duration { return runtime.Boottime() + time.Duration(r.jump.Load()) },
		Traces:   true,
		OnRun: func(run Run) {
			r.rmu.Lock()
			defer r.rmu.Unlock()
			if run.Ended != 0 {
				r.spans = append(r.spans, run)
			}
		},
		OnEnd: func(e Ended) {
			r.rmu.Lock()
			defer r.rmu.Unlock()
			r.ends = append(r.ends, e)
		},
		OnOverrun: func(o Overrun) { t.Logf("overrun (this machine is slow): %+v", o) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.worker = w
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() { r.ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		r.stop()
		if err := <-r.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.hub.current().Close()
		r.wg.Wait()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.until("connected", func() bool { return w.Status().Connected })
	return r
}

// until polls, because nothing tells how far real guests have got.
func (r *real) until(what string, cond func() bool) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("not %s in 2 minutes: %+v", what, r.worker.Status())
		}
	}
}

// run pushes a lease for a module of testdata/wasm.
func (r *real) run(name string, token uint64, params string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		r.t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	r.files.mu.Lock()
	r.files.byDigest[digest] = b
	r.files.mu.Unlock()
	a := r.assignment(token, func(a *stream.Assignment) {
		a.Module = stream.Module{Digest: digest, Size: int64(len(b))}
		a.Task.Params = task.Payload{Encoding: task.JSON, Data: []byte(params)}
		a.Policy.CancelGrace = 1
		a.Task.Trace = traceparent
	})
	if err := r.current().Send(stream.Frame{Assign: []stream.Assignment{a}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) executing(token uint64) {
	r.t.Helper()
	r.until("executing", func() bool { return slices.Contains(r.worker.Status().Executing, token) })
}

func (r *real) idle() {
	r.t.Helper()
	r.until("idle", func() bool { return len(r.worker.Status().Held) == 0 })
}

func TestRealEcho(t *testing.T) {
	r := startReal(t)
	r.run("echo", 7, `{"a":[1,2]}`)
	r.until("reported", func() bool { reps, _ := r.reports(); return len(reps) == 1 })
	if f := r.finish(); f.Error != nil || string(f.Result.Data) != `{"a":[1,2]}` || f.Result.Encoding != task.JSON {
		t.Errorf("finish %+v", f)
	}
	r.idle()
	if len(r.spans) != 1 || r.spans[0].Started >= r.spans[0].Ended {
		t.Errorf("spans %+v", r.spans)
	}
}

// TestRealCallsAreShown: where guests run in the worker's own process, too, their trace has the secrets that they read, the requests that they make
// and the children that they ask for (SPEC U2).
func TestRealCallsAreShown(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("correct-horse-battery"), 0o600); err != nil {
		t.Fatal(err)
	}
	granted, err := grants.Parse(fmt.Appendf(nil, `{"secrets_dir":".","grants":[{"namespace":"default","behavior":"b","secrets":["key"],"tasks":["echo"],"http":[
		{"hosts":[%q],"schemes":["http"],"methods":["POST"],"private":["127.0.0.0/8"],"max_request_bytes":4}]}]}`, strings.TrimPrefix(s.URL, "http://")), dir)
	if err != nil {
		t.Fatal(err)
	}
	r := startGranted(t, granted)
	for i, c := range []struct{ guest, params, want string }{
		{"secrets", "=key", "[secret false]"},
		{"secrets", "=other", "[secret true]"},
		{"submits", "={}\n", "[tasks.submit false]"},
		{"http", `{"method":"POST","url":"` + s.URL + `/x"}`, "[http false]"},
	} {
		r.run(c.guest, uint64(7+i), c.params)
		var shown []string
		r.until("told", func() bool {
			r.rmu.Lock()
			defer r.rmu.Unlock()
			if len(r.ends) <= i {
				return false
			}
			for _, call := range r.ends[i].Spans.Calls {
				shown = append(shown, fmt.Sprint(call.Name, " ", call.Failed))
			}
			return true
		})
		if got := fmt.Sprint(shown); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.guest, c.params, got, c.want)
		}
	}
}

func TestRealTrap(t *testing.T) {
	r := startReal(t)
	r.run("trap", 7, "null")
	r.until("reported", func() bool { reps, _ := r.reports(); return len(reps) == 1 })
	if f := r.finish(); code(f) != task.CodeTrap || !f.Error.Retryable {
		t.Errorf("finish %+v, %+v", f, f.Error)
	}
}

func TestRealSpinIsCancelled(t *testing.T) {
	r := startReal(t)
	r.run("spin", 7, "null")
	r.executing(7)
	if err := r.current().Send(stream.Frame{Cancel: []uint64{7}}); err != nil {
		t.Fatal(err)
	}
	r.until("reported", func() bool { reps, _ := r.reports(); return len(reps) == 1 })
	if f := r.finish(); code(f) != task.CodeCancelled {
		t.Errorf("finish %+v", f)
	}
}

func TestRealSpinIsFenced(t *testing.T) {
	r := startReal(t)
	r.run("spin", 7, "null")
	r.executing(7)
	r.jump.Store(int64(ttl))
	r.until("fenced", func() bool { return r.worker.Status().Session == 2 })
	r.idle()
	r.rmu.Lock()
	ended := len(r.spans)
	r.rmu.Unlock()
	if ended != 1 {
		t.Errorf("%d runs had ended when the next session was open", ended)
	}
	if reps, _ := r.reports(); len(reps) != 0 {
		t.Errorf("reports %+v", reps)
	}
}

func TestRealWaitDrains(t *testing.T) {
	r := startReal(t)
	r.run("wait", 7, "3600000")
	r.executing(7)
	r.stop()
	r.until("closed", func() bool { return r.byes() == 1 })
	reps, _ := r.reports()
	if len(reps) != 2 || reps[0].Beat == nil || reps[0].Beat.Checkpoint == nil || reps[1].GiveBack == nil {
		t.Errorf("reports %+v", reps)
	}
}
