package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ttl is the TTL of these tests' sessions. Workers renew every 3 s, guests are stopped at 6.3 s, and none executes at
// 7.65 s.
const ttl = 9 * time.Second

// clock is CLOCK_BOOTTIME in a bubble. It goes with the bubble's time, and it can jump while all timers stand still.
type clock struct {
	start time.Time
	jump  atomic.Int64
}

func (c *clock) now() time.Duration { return time.Since(c.start) + time.Duration(c.jump.Load()) }

// got is a frame that the hub received.
type got struct {
	at time.Duration // since the start of the bubble, without jumps
	stream.Frame
}

// hub is the leader's end of the stream. A test scripts it. By default it welcomes, answers renewals and acks reports.
type hub struct {
	t     *testing.T
	start time.Time

	mu       sync.Mutex
	frames   []got
	conn     *stream.Conn // the latest connection
	dials    int
	redirect []string
	opened   uint64 // how many sessions were opened
	seq      uint64 // the number of the last assignment

	// These fields say how the hub behaves. mu guards them.
	down  bool                                        // dials fail
	mute  bool                                        // dials work, and nothing is answered
	hello func(*stream.Hello) *stream.Frame           // if it or its frame is nil, the hub welcomes
	ack   func(stream.Report) (a stream.Ack, ok bool) // ok false: no answer; if it is nil, the hub acks
	delay time.Duration                               // the wait before a Welcome

	wg sync.WaitGroup
}

func (h *hub) Dial(ctx context.Context) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dials++
	if h.down {
		return nil, errors.New("hub is down")
	}
	a, b := net.Pipe()
	conn, err := stream.New(b, stream.Options{})
	if err != nil {
		return nil, err
	}
	h.conn = conn
	h.wg.Go(func() { h.serve(conn) })
	return a, nil
}

func (h *hub) Redirect(addr string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.redirect = append(h.redirect, addr)
}

func (h *hub) serve(conn *stream.Conn) {
	defer conn.Close()
	for {
		f, err := conn.Recv()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.frames = append(h.frames, got{time.Since(h.start), f})
		mute, delay := h.mute, h.delay
		h.mu.Unlock()
		if mute {
			continue
		}
		if f.Hello != nil {
			time.Sleep(delay)
		}
		if answer := h.answer(f); answer != nil {
			conn.Send(*answer)
		}
	}
}

func (h *hub) answer(f stream.Frame) *stream.Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case f.Hello != nil:
		if h.hello != nil {
			if a := h.hello(f.Hello); a != nil {
				return a
			}
		}
		w := &stream.Welcome{Session: f.Hello.Session, TTL: task.Millis(ttl.Milliseconds()), Resumed: true, Leader: "n1", LeaseNow: h.leaseNow()}
		if f.Hello.Session == 0 {
			h.opened++
			h.seq = 0
			w.Session, w.Resumed = h.opened, false
		}
		return &stream.Frame{Welcome: w}
	case f.Renew != nil:
		return &stream.Frame{Renewed: &stream.Renewed{N: f.Renew.N, LeaseNow: h.leaseNow()}}
	case f.Reports != nil:
		var acks []stream.Ack
		for _, r := range f.Reports {
			if h.ack == nil {
				acks = append(acks, stream.Ack{ID: r.ID})
			} else if a, ok := h.ack(r); ok {
				a.ID = r.ID
				acks = append(acks, a)
			}
		}
		if acks != nil {
			return &stream.Frame{Acks: acks}
		}
	case f.Bye != nil:
		return &stream.Frame{Goodbye: &stream.Goodbye{}}
	}
	return nil
}

// leaseNow is the leader's lease clock.
func (h *hub) leaseNow() task.LeaseTime {
	return task.LeaseTime(time.Since(h.start).Milliseconds()) + 1
}

// set changes the hub's behavior.
func (h *hub) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// cut breaks the connection and refuses new ones.
func (h *hub) cut() {
	h.set(func() { h.down = true })
	h.current().Close()
}

// current returns the latest connection.
func (h *hub) current() *stream.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conn
}

func (h *hub) heal() { h.set(func() { h.down = false }) }

func (h *hub) send(f stream.Frame) {
	h.t.Helper()
	if err := h.current().Send(f); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
}

// assign pushes a lease with this token. edit may change the assignment.
func (h *hub) assign(token uint64, edit ...func(*stream.Assignment)) {
	h.t.Helper()
	h.send(stream.Frame{Assign: []stream.Assignment{h.assignment(token, edit...)}})
}

func (h *hub) assignment(token uint64, edit ...func(*stream.Assignment)) stream.Assignment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	a := stream.Assignment{
		Task: &task.Task{
			Namespace: "default", ID: "task", Behavior: "b", Status: task.Running, Attempt: 1,
			Lease: &task.Lease{Token: token, Session: h.opened, Seq: h.seq, Worker: "w1"},
		},
		Policy: new(task.DefaultPolicy()), Module: stream.Module{Digest: digest, Size: int64(len(wasm))},
	}
	for _, e := range edit {
		e(&a)
	}
	return a
}

// all returns the frames of a kind so far, and when they came.
func all[T any](h *hub, pick func(stream.Frame) (T, bool)) (list []T, at []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.frames {
		if v, ok := pick(f.Frame); ok {
			list, at = append(list, v), append(at, f.at)
		}
	}
	return list, at
}

func (h *hub) hellos() ([]*stream.Hello, []time.Duration) {
	return all(h, func(f stream.Frame) (*stream.Hello, bool) { return f.Hello, f.Hello != nil })
}

func (h *hub) renews() ([]*stream.Renew, []time.Duration) {
	return all(h, func(f stream.Frame) (*stream.Renew, bool) { return f.Renew, f.Renew != nil })
}

func (h *hub) byes() int {
	list, _ := all(h, func(f stream.Frame) (*stream.Bye, bool) { return f.Bye, f.Bye != nil })
	return len(list)
}

func (h *hub) reports() (reps []stream.Report, at []time.Duration) {
	lists, ats := all(h, func(f stream.Frame) ([]stream.Report, bool) { return f.Reports, f.Reports != nil })
	for i, l := range lists {
		for _, r := range l {
			reps, at = append(reps, r), append(at, ats[i])
		}
	}
	return reps, at
}

func (h *hub) lastCredits() int64 { return h.credits().Free }

// credits returns the credits that the worker told last.
func (h *hub) credits() stream.Credits {
	list, _ := all(h, func(f stream.Frame) (*stream.Credits, bool) { return f.Credits, f.Credits != nil })
	if len(list) == 0 {
		return stream.Credits{Free: -1}
	}
	return *list[len(list)-1]
}

// paces returns all paces that the worker told.
func (h *hub) paces() []stream.Pace {
	list, _ := all(h, func(f stream.Frame) ([]stream.Pace, bool) { return f.Pace, f.Pace != nil })
	return slices.Concat(list...)
}

// sessions returns how many sessions were opened.
func (h *hub) sessions() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened
}

func (h *hub) redirects() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.redirect
}

func (h *hub) lastReady() []string {
	list, _ := all(h, func(f stream.Frame) ([]string, bool) { return f.Ready, f.Ready != nil })
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// lastUnready returns what was said last of a module that is not ready.
func (h *hub) lastUnready() (last stream.Unready) {
	h.t.Helper()
	list, _ := all(h, func(f stream.Frame) ([]stream.Unready, bool) { return f.Unready, f.Unready != nil })
	if len(list) == 0 {
		h.t.Fatal("nothing was said")
	}
	said := list[len(list)-1]
	return said[len(said)-1]
}

// finish returns the only finish so far.
func (h *hub) finish() *task.Finish {
	h.t.Helper()
	reps, _ := h.reports()
	var list []*task.Finish
	for _, r := range reps {
		if r.Finish != nil {
			list = append(list, r.Finish)
		}
	}
	if len(list) != 1 {
		h.t.Fatalf("%d finishes: %+v", len(list), reps)
	}
	return list[0]
}

// wasm is the one module of these tests.
var wasm = []byte("a module")

var digest = func() string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}()

// guest is a behavior in Go. It sleeps in the bubble's time, or waits for what its test sends.
type guest func(ctx context.Context, a runtime.Attempt, h runtime.Host) runtime.Outcome

func (g guest) Run(ctx context.Context, a runtime.Attempt, h runtime.Host) runtime.Outcome {
	return g(ctx, a, h)
}

// lasts returns a guest that succeeds after d unless it is killed.
func lasts(d time.Duration) guest {
	return func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome {
		if !idle.For(ctx, d) {
			return killed(ctx)
		}
		return runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte(`"done"`)}
	}
}

func killed(ctx context.Context) runtime.Outcome {
	return runtime.Outcome{Kind: runtime.Killed, Cause: context.Cause(ctx)}
}

// bench is a worker with its hub and all that happened to guests.
type bench struct {
	*hub
	clock  *clock
	worker *Worker
	stop   context.CancelFunc // it begins the shutdown
	ended  chan error         // Run's result
	log    *syncBuffer

	bmu      sync.Mutex
	guest    guest
	spans    []Run // executions that have ended
	begun    int
	metered  []uint64 // the tokens of guests that have ended
	overruns []Overrun
	fetch    func(digest string) ([]byte, error)
	loads    int
}

func (b *bench) Module(string) (Guest, bool) { return nil, false }

func (b *bench) Load(context.Context, string, []byte) (Guest, error) {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	b.loads++
	return guest(func(ctx context.Context, a runtime.Attempt, h runtime.Host) runtime.Outcome {
		b.bmu.Lock()
		g := b.guest
		b.bmu.Unlock()
		out := g(ctx, a, h)
		var info abi.TaskInfo
		if err := json.Unmarshal(a.InfoJSON(), &info); err != nil {
			return runtime.Outcome{Kind: runtime.Failed, Message: err.Error()}
		}
		b.bmu.Lock()
		defer b.bmu.Unlock()
		b.metered = append(b.metered, info.Token)
		out.Fuel, out.PeakMemory = guestFuel, guestMemory
		return out
	}), nil
}

func (b *bench) Fetch(_ context.Context, digest string, _ int64) ([]byte, error) {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if b.fetch != nil {
		return b.fetch(digest)
	}
	return wasm, nil
}

func (b *bench) ran(r Run) {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if r.Ended == 0 {
		b.begun++
		return
	}
	b.spans = append(b.spans, r)
}

// span returns the only execution so far, which has ended.
func (b *bench) span() Run {
	b.t.Helper()
	b.bmu.Lock()
	defer b.bmu.Unlock()
	if b.begun != 1 || len(b.spans) != 1 {
		b.t.Fatalf("%d begun, ended: %+v", b.begun, b.spans)
	}
	return b.spans[0]
}

// overran returns what OnOverrun heard.
func (b *bench) overran() []Overrun {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	return b.overruns
}

func (b *bench) loaded() int {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	return b.loads
}

func (b *bench) runs() (begun, ended int) {
	b.bmu.Lock()
	defer b.bmu.Unlock()
	return b.begun, len(b.spans)
}

// syncBuffer is a log that many goroutines write. It can be read meanwhile.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// inBubble runs f with a connected worker in a bubble. Then it shuts down the worker.
func inBubble(t *testing.T, g guest, f func(b *bench), edit ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b := &bench{
			hub: &hub{t: t, start: start}, clock: &clock{start: start}, guest: g,
			ended: make(chan error, 1), log: &syncBuffer{},
		}
		cfg := Config{
			ID: "w1", Dir: t.TempDir(), Slots: 4, Dial: b.hub, Modules: b, Runner: b, Boottime: b.clock.now, OnRun: b.ran,
			Logger: slog.New(slog.NewTextHandler(b.log, nil)),
			OnOverrun: func(o Overrun) {
				b.bmu.Lock()
				defer b.bmu.Unlock()
				b.overruns = append(b.overruns, o)
			},
		}
		for _, e := range edit {
			e(&cfg)
		}
		w, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b.worker = w
		ctx, stop := context.WithCancel(context.Background())
		b.stop = stop
		go func() { b.ended <- w.Run(ctx) }()
		synctest.Wait()
		f(b)
		stop()
		if err := <-b.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if c := b.current(); c != nil {
			c.Close()
		}
		b.wg.Wait()
		b.checkFuel()
		if t.Failed() {
			t.Logf("log:\n%s", strings.TrimSpace(b.log.String()))
		}
	})
}

// at sleeps until a time since the start of the bubble, and then until everything has settled.
func (b *bench) at(d time.Duration) {
	b.t.Helper()
	left := d - time.Since(b.start)
	if left < 0 {
		b.t.Fatalf("%v has passed", d)
	}
	time.Sleep(left)
	synctest.Wait()
}
