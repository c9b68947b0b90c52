package lead

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// helloed is a worker's end of a stream to a term's loop.
type helloed struct {
	session *task.Session
	frames  []stream.Frame
}

// hello admits a worker, attaches its stream and collects the stream's frames.
func hello(t *testing.T, tm *term, h stream.Hello) *helloed {
	t.Helper()
	h.Proof = []byte("p")
	s, err := tm.admit(&h)
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	conn, err := stream.New(near, stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := stream.New(far, stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); worker.Close() })
	x := &helloed{session: s}
	go func() {
		for {
			f, err := worker.Recv()
			if err != nil {
				return
			}
			x.frames = append(x.frames, f)
		}
	}()
	w := newWorkerStream(tm, conn, s.ID, &h)
	tm.loop.do(func() { tm.loop.attach(w, nil) })
	synctest.Wait()
	return x
}

// told returns what the worker was told of suspects, in order.
func (x *helloed) told() (waits []bool) {
	synctest.Wait()
	for _, f := range x.frames {
		if f.Suspects != nil {
			waits = append(waits, f.Suspects.Wait)
		}
	}
	return waits
}

// leases returns the tasks that the machine gave to the worker.
func (x *helloed) leases(b *leaderBed) (ids []string) {
	synctest.Wait()
	b.Local(func(m *task.Machine) {
		for _, l := range m.Leases(x.session.ID) {
			ids = append(ids, l.ID)
		}
	})
	return ids
}

// TestSuspectsHaveAProcessStarted: while suspects wait, a session that can start a process for them is asked to. The
// process is made ready for their modules and gets nothing but suspects (SPEC L5).
func TestSuspectsHaveAProcessStarted(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		tm.hub.cfg.TTL = time.Minute
		many := stream.Hello{Worker: "n1", Node: "n1", Slots: 4, Leases: 4, Credits: 4, Ready: []string{"m"}, Isolates: true, N: 1}
		x := hello(t, tm, many)
		propose := func(cmds ...task.Command) {
			t.Helper()
			rs, err := b.ProposeLocal(t.Context(), cmds...)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				if r.Code != task.OK {
					t.Fatalf("%+v", r)
				}
			}
			tm.loop.do(func() { tm.loop.dirty = true })
			synctest.Wait()
		}
		propose(task.Activate{Namespace: "default", Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "b-1", Policy: task.DefaultPolicy()}}},
			task.Submit{Namespace: "default", ID: "x01", Behavior: "b-1", Priority: 4}, task.Submit{Namespace: "default", ID: "x02", Behavior: "b-1", Priority: 4})
		var tokens []uint64
		b.Local(func(m *task.Machine) {
			for _, l := range m.Leases(x.session.ID) {
				tokens = append(tokens, l.Lease.Token)
			}
		})
		if len(tokens) != 2 || x.told() != nil {
			t.Fatalf("tokens %v, told %v", tokens, x.told())
		}
		propose(task.CrashSession{Worker: "n1", Proof: []byte("p"), Before: 2, Tokens: tokens})
		many.N = 2
		x = hello(t, tm, many)
		plain := hello(t, tm, stream.Hello{Worker: "w9", Slots: 4, Leases: 4, Credits: 4, Ready: []string{"m"}, N: 1})
		if !slices.Equal(x.told(), []bool{true}) || plain.told() != nil || len(x.leases(b))+len(plain.leases(b)) != 0 {
			t.Fatalf("told %v and %v, assigned %v and %v", x.told(), plain.told(), x.leases(b), plain.leases(b))
		}
		one := stream.Hello{Worker: "n1/alone", Node: "n1", Slots: 1, Leases: 1, Credits: 1, Alone: true, N: 1}
		first := hello(t, tm, one)
		if len(first.frames) != 1 || len(first.frames[0].Prepare) != 1 || first.frames[0].Prepare[0].Digest != "m" {
			t.Fatalf("%+v", first.frames)
		}
		tm.loop.do(func() { tm.loop.setReady(tm.loop.streams[first.session.ID], []string{"m"}) })
		propose(task.Submit{Namespace: "default", ID: "x03", Behavior: "b-1", Priority: 9})
		if ids := first.leases(b); len(ids) != 1 || ids[0] == "x03" {
			t.Fatalf("alone: %v", ids)
		}
		if ids := slices.Concat(x.leases(b), plain.leases(b)); !slices.Equal(ids, []string{"x03"}) {
			t.Errorf("beside: %v", ids)
		}
		if !slices.Equal(x.told(), []bool{true}) {
			t.Errorf("one waits still: %v", x.told())
		}
		one.Worker = "n2/alone"
		second := hello(t, tm, one)
		tm.loop.do(func() { tm.loop.setReady(tm.loop.streams[second.session.ID], []string{"m"}) })
		if len(second.leases(b)) != 1 || !slices.Equal(x.told(), []bool{true, false}) {
			t.Errorf("alone: %v, told %v", second.leases(b), x.told())
		}
	})
}

// TestDrainedNodeStartsNoProcess: a drained node is not asked to start a process, because the process would get
// nothing.
func TestDrainedNodeStartsNoProcess(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		tm.hub.cfg.TTL = time.Minute
		h := stream.Hello{Worker: "n1", Node: "n1", Slots: 4, Leases: 4, Credits: 4, Ready: []string{"m"}, Isolates: true, N: 1}
		hello(t, tm, h)
		tm.loop.do(func() {
			_, err := b.ProposeLocal(t.Context(),
				task.Activate{Namespace: "default", Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "b-1", Policy: task.DefaultPolicy()}}},
				task.Submit{Namespace: "default", ID: "x01", Behavior: "b-1", Priority: 4})
			if err != nil {
				t.Error(err)
			}
			tm.loop.dirty = true
		})
		synctest.Wait()
		tm.loop.do(func() {
			if _, err := b.ProposeLocal(t.Context(), task.DrainNode{Node: "n1", Drain: true}, task.CrashSession{Worker: "n1", Proof: []byte("p"), Before: 2, Tokens: []uint64{1}}); err != nil {
				t.Error(err)
			}
		})
		h.N = 2
		x := hello(t, tm, h)
		var suspects []string
		b.Local(func(m *task.Machine) { suspects = m.SuspectModules() })
		if len(suspects) != 1 || x.told() != nil {
			t.Errorf("suspects of %v, told %v", suspects, x.told())
		}
	})
}

// TestNewsOfADeadWorker: a parent that is no member reports a dead worker over a stream, with the worker's proof. A
// report with another proof is refused.
func TestNewsOfADeadWorker(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		tm.hub.cfg.TTL = time.Minute
		h := stream.Hello{Worker: "w2", Slots: 4, Leases: 4, Credits: 4, N: 1}
		x := hello(t, tm, h)
		tell := func(c task.CrashSession) stream.Frame {
			t.Helper()
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() { defer close(done); tm.hub.handle(near) }()
			parent, err := stream.New(far, stream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { parent.Close(); <-done }()
			if err := parent.Send(stream.Frame{Crash: &c}); err != nil {
				t.Fatal(err)
			}
			f, err := parent.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		for code, c := range map[task.Code]task.CrashSession{
			task.WorkerInUse:     {Worker: "w2", Proof: []byte("q"), Before: 2},
			task.SessionNotFound: {Worker: "w2", Proof: []byte("p"), Before: 1},
			task.InvalidCommand:  {Worker: "w2", Proof: []byte("p"), Before: 2, Tokens: make([]uint64, maxCrashTokens+1)},
		} {
			if f := tell(c); f.Refused == nil || f.Refused.Code != string(code) {
				t.Errorf("%s: %+v", code, f)
			}
		}
		alive := func() (is bool) {
			b.Local(func(m *task.Machine) { is = m.Session(x.session.ID) != nil })
			return is
		}
		if !alive() {
			t.Fatal("the session has ended")
		}
		if f := tell(task.CrashSession{Worker: "w2", Proof: []byte("p"), Before: 2}); f.Goodbye == nil || alive() {
			t.Errorf("%+v, alive: %v", f, alive())
		}
	})
}
