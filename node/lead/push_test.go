package lead

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// streamBed is a leader whose machine publishes its events. Tests speak to it as workers do.
type streamBed struct {
	*leaderBed
	deaf bool // the leader misses all events
	t    *testing.T
	term *term
	logs keptLogs
	said records
}

func (b *streamBed) ProposeLocal(_ context.Context, cmds ...task.Command) ([]task.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rs, evs := b.applyLocked(cmds)
	if len(evs) > 0 && !b.deaf {
		b.feed.Publish(evs)
	}
	return rs, nil
}

func (b *streamBed) must(cmd task.Command) task.Result {
	b.t.Helper()
	rs, _ := b.ProposeLocal(b.t.Context(), cmd)
	if rs[0].Code != task.OK {
		b.t.Fatalf("%T: %+v", cmd, rs[0])
	}
	synctest.Wait()
	return rs[0]
}

func (b *streamBed) submit(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		b.must(task.Submit{Namespace: task.DefaultNamespace, ID: id, Behavior: "echo", Priority: 4})
	}
}

func (b *streamBed) token(id string) uint64 {
	b.t.Helper()
	var x *task.Task
	b.Local(func(m *task.Machine) { x = m.Task(taskNamed(id)) })
	if x == nil || x.Lease == nil {
		b.t.Fatalf("%s is not leased", id)
	}
	return x.Lease.Token
}

func taskNamed(id string) task.Key { return task.Key{Namespace: task.DefaultNamespace, ID: id} }

// peer is a worker's end of a stream.
type peer struct {
	conn *stream.Conn

	mu    sync.Mutex
	got   []stream.Frame
	ended bool
}

// connect says hello with four slots, as worker w1 unless hello names another.
func (b *streamBed) connect(hello stream.Hello) *peer {
	b.t.Helper()
	hello.Worker, hello.Slots = cmp.Or(hello.Worker, "w1"), 4
	if hello.Proof == nil {
		hello.Proof = []byte("p")
	}
	near, far := net.Pipe()
	conn, err := stream.New(near, stream.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	p := &peer{}
	if p.conn, err = stream.New(far, stream.Options{}); err != nil {
		b.t.Fatal(err)
	}
	b.term.hub.wg.Go(func() {
		defer conn.Close()
		b.term.serve(conn, &hello)
	})
	b.term.hub.wg.Go(func() {
		for {
			f, err := p.conn.Recv()
			p.mu.Lock()
			if err != nil {
				p.ended = true
				p.mu.Unlock()
				return
			}
			p.got = append(p.got, f)
			p.mu.Unlock()
		}
	})
	b.t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

// received holds what has come since the last call.
type received struct {
	assign         []string // IDs of tasks
	cancel, halt   []uint64
	prepare        int
	welcome        *stream.Welcome
	refused        *stream.Refused
	renewed        *stream.Renewed
	sessionUnknown bool
}

func (p *peer) receive() received {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var r received
	for _, f := range p.got {
		for _, a := range f.Assign {
			r.assign = append(r.assign, a.Task.ID)
		}
		r.cancel, r.halt = append(r.cancel, f.Cancel...), append(r.halt, f.Halt...)
		r.prepare += len(f.Prepare)
		if f.Welcome != nil {
			r.welcome = f.Welcome
		}
		if f.Refused != nil {
			r.refused = f.Refused
		}
		if f.Renewed != nil {
			r.renewed = f.Renewed
		}
		r.sessionUnknown = r.sessionUnknown || f.NotFound
	}
	p.got = nil
	return r
}

// withStreams runs a term over a machine with the behavior echo.
func withStreams(t *testing.T, f func(t *testing.T, b *streamBed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &streamBed{leaderBed: &leaderBed{machine: task.NewMachine(), start: time.Now()}, t: t}
		b.must(task.Activate{
			Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: "v1"},
			Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}},
		})
		h := New(Config{ID: "n1", TTL: 10 * time.Second, Store: b, Subscribe: b.subscribe, Clock: b, Logs: &b.logs, Logger: slog.New(&b.said)})
		h.begin(1)
		b.term = h.current()
		synctest.Wait()
		f(t, b)
		h.end()
		h.Close()
	})
}

var readyForAll = stream.Hello{Credits: 4, Ready: []string{"m"}}

// TestPushes: a worker hears at once what concerns its runs, not only at its next renewal (SPEC L2, L8, L9).
func TestPushes(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(readyForAll)
		b.submit("one")
		if r := p.receive(); !slices.Equal(r.assign, []string{"one"}) || r.welcome == nil || r.welcome.Resumed {
			t.Fatalf("after a submit: %+v", r)
		}
		token := b.token("one")
		b.must(task.Cancel{Key: taskNamed("one")})
		if r := p.receive(); !slices.Equal(r.cancel, []uint64{token}) || len(r.halt) > 0 {
			t.Errorf("after a cancel: %+v", r)
		}
		b.must(task.Remove{Key: taskNamed("one")})
		if r := p.receive(); !slices.Equal(r.halt, []uint64{token}) {
			t.Errorf("after a removal: %+v", r)
		}
	})
}

// TestResume: a worker comes back with its session. It gets once more the assignments that it lacks, and it hears which
// of its tokens are dead (SPEC L2).
func TestResume(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(readyForAll)
		b.submit("one", "two")
		r := p.receive()
		if !slices.Equal(r.assign, []string{"one", "two"}) {
			t.Fatalf("%+v", r)
		}
		dead := b.token("two")
		_ = p.conn.Close()
		synctest.Wait()
		b.must(task.Remove{Key: taskNamed("two")})
		p = b.connect(stream.Hello{Session: r.welcome.Session, Acked: 2, Held: []uint64{dead}, Ready: []string{"m"}})
		r = p.receive()
		if r.welcome == nil || !r.welcome.Resumed || !slices.Equal(r.assign, []string{"one"}) || !slices.Equal(r.halt, []uint64{dead}) {
			t.Fatalf("on resuming: %+v", r)
		}
		// The assignment's event arrives when the state already had the assignment.
		var one *task.Task
		b.Local(func(m *task.Machine) { one = m.Task(taskNamed("one")) })
		b.feed.Send(task.Event{Kind: task.TaskAssigned, Task: one, Lease: one.Lease})
		if r := p.receive(); len(r.assign) > 0 {
			t.Errorf("pushed again: %+v", r)
		}
	})
}

// TestRenewalSaysWhatWasMissed: the answer to a renewal makes up for pushes that were lost (SPEC L2, L8).
func TestRenewalSaysWhatWasMissed(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(readyForAll)
		b.submit("one", "two", "three")
		if r := p.receive(); len(r.assign) != 3 {
			t.Fatalf("%+v", r)
		}
		held := []uint64{b.token("one"), b.token("two")}
		b.deaf = true
		b.must(task.Cancel{Key: taskNamed("one")})
		b.must(task.Remove{Key: taskNamed("two")})
		if err := p.conn.Send(stream.Frame{Renew: &stream.Renew{N: 7, Acked: 3, Held: held}}); err != nil {
			t.Fatal(err)
		}
		r := p.receive()
		if r.renewed == nil || r.renewed.N != 7 || !slices.Equal(r.renewed.Cancel, held[:1]) || !slices.Equal(r.renewed.Halt, held[1:]) {
			t.Errorf("answer %+v", r.renewed)
		}
		if !slices.Equal(r.assign, []string{"three"}) {
			t.Errorf("received and not held, but not pushed again: %v", r.assign)
		}
	})
}

// TestOnlyReadyWorkersAreAssigned: a worker is told of a module, and it compiles it before it gets the module's tasks
// (SPEC B3).
func TestOnlyReadyWorkersAreAssigned(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(stream.Hello{Credits: 4})
		b.submit("one")
		if r := p.receive(); len(r.assign) > 0 || r.prepare != 1 {
			t.Fatalf("not ready: %+v", r)
		}
		if err := p.conn.Send(stream.Frame{Ready: []string{"m"}}); err != nil {
			t.Fatal(err)
		}
		if r := p.receive(); !slices.Equal(r.assign, []string{"one"}) {
			t.Errorf("ready: %+v", r)
		}
	})
}

// TestCreditsUnderWay: tasks that were assigned since a worker counted its credits are taken off these credits.
func TestCreditsUnderWay(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(stream.Hello{Credits: 1, Ready: []string{"m"}})
		b.submit("one", "two")
		if r := p.receive(); !slices.Equal(r.assign, []string{"one"}) {
			t.Fatalf("with one credit: %v", r.assign)
		}
		if err := p.conn.Send(stream.Frame{Credits: &stream.Credits{Seq: 1, Free: 1}}); err != nil {
			t.Fatal(err)
		}
		if r := p.receive(); !slices.Equal(r.assign, []string{"two"}) {
			t.Errorf("with another: %v", r.assign)
		}
	})
}

// TestSessionNeedsItsProof: knowing a session's number is not enough to go on with the session (SPEC L6).
func TestSessionNeedsItsProof(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		session := b.connect(readyForAll).receive().welcome.Session
		r := b.connect(stream.Hello{Session: session, Proof: []byte("guessed")}).receive()
		if r.welcome != nil || r.refused == nil || r.refused.Code != string(task.SessionNotFound) {
			t.Errorf("with another proof: %+v", r)
		}
		if r := b.connect(stream.Hello{Session: session}).receive(); r.welcome == nil || !r.welcome.Resumed {
			t.Errorf("with its own: %+v", r)
		}
	})
}

// TestIdleLoopDoesNotTick: the loop looks at the wall clock now and then. This writes nothing to the log.
func TestIdleLoopDoesNotTick(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		b.must(task.Submit{Namespace: task.DefaultNamespace, ID: "later", Behavior: "echo", Delay: 10_000})
		time.Sleep(10*time.Second - time.Millisecond)
		if got := b.ticked(); len(got) > 0 {
			t.Fatalf("ticks at %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := b.ticked(); len(got) != 1 || got[0] != 10*time.Second {
			t.Errorf("ticks at %v, want one when the task is due", got)
		}
	})
}
