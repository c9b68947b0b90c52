package child

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/cgroup"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// bench is a parent with its child.
type bench struct {
	*leader

	parent  *Parent
	cfg     Config
	crashes chan Crash
	stop    func()

	emu   sync.Mutex
	ended []worker.Ended
	made  []runtime.Compiled
}

// start starts a parent and waits until its child has a session.
func start(t *testing.T, ttl time.Duration, edit func(*Config)) *bench {
	t.Helper()
	b := begin(t, ttl, edit)
	b.until("a session", func() bool { return b.opened > 0 })
	return b
}

// begin starts a parent.
func begin(t *testing.T, ttl time.Duration, edit func(*Config)) *bench {
	t.Helper()
	b := &bench{leader: newLeader(t, ttl), crashes: make(chan Crash, 16)}
	b.cfg = Config{
		Worker: worker.Config{
			ID: "n1", Node: "n1", Dir: filepath.Join(t.TempDir(), "worker"), Slots: 64, Dial: b, Modules: b, Blobs: b, Logger: slog.New(slog.DiscardHandler),
			OnEnd: func(e worker.Ended) {
				b.emu.Lock()
				defer b.emu.Unlock()
				b.ended = append(b.ended, e)
			},
		},
		Args: []string{"guests"}, Compile: b.compile,
		OnCrash: func(_ context.Context, c Crash) { b.crashes <- c },
		OnCompile: func(c runtime.Compiled) {
			b.emu.Lock()
			defer b.emu.Unlock()
			b.made = append(b.made, c)
		},
	}
	if edit != nil {
		edit(&b.cfg)
	}
	var err error
	if b.parent, err = New(b.cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.parent.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

// executing waits until the child executes n attempts.
func (b *bench) executing(n int) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		s, _ := b.parent.Report()
		if len(s.Executing) == n {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("executing: %v, not %d", s.Executing, n)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// freeze stops the child. It returns when none of the child's threads runs.
func (b *bench) freeze() {
	b.t.Helper()
	pid := b.process().sub.PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		b.t.Fatal(err)
	}
	var status syscall.WaitStatus
	if got, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || got != pid || !status.Stopped() {
		b.t.Fatalf("%d, %v, %v", got, status, err)
	}
}

func (b *bench) process() *process {
	b.parent.mu.Lock()
	defer b.parent.mu.Unlock()
	return b.parent.current
}

// crash waits for the news of a crash.
func (b *bench) crash() Crash {
	b.t.Helper()
	select {
	case c := <-b.crashes:
		return c
	case <-time.After(time.Minute):
		b.t.Fatal("no crash")
		return Crash{}
	}
}

// TestWorkOfAChild: all that an attempt needs and leaves goes through the parent.
func TestWorkOfAChild(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	in := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	digest, _ := b.Put(t.Context(), in)
	b.assign("blob", task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest, Size: int64(len(in))}}, 7)
	b.until("a report", func() bool { return len(b.reports) == 1 })
	f := b.reports[0].Finish
	if f == nil || f.Token != 7 || f.Error != nil || f.Result.Blobs == nil || !bytes.Equal(b.blobs[f.Result.Blobs.Content], slices.Concat(in, in)) {
		t.Fatalf("%+v", b.reports[0])
	}
	s, engine := b.parent.Report()
	if s.Session != 1 || !s.Connected || !slices.Contains(s.Ready, runtime.Digest([]byte("blob"))) {
		t.Errorf("%+v", s)
	}
	if engine.Ready != 42 {
		t.Errorf("%+v", engine)
	}
	if want := []string{runtime.Digest([]byte("blob"))}; !slices.Equal(b.compiled, want) {
		t.Errorf("compiled %v", b.compiled)
	}
	b.assign("blob", task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: strings.Repeat("0", 64), Size: 1}}, 8)
	b.until("a second report", func() bool { return len(b.reports) == 2 })
	if f := b.reports[1].Finish; f == nil || f.Error == nil || !f.Error.Retryable {
		t.Errorf("params that are nowhere: %+v", b.reports[1])
	}
	b.stop()
	b.emu.Lock()
	defer b.emu.Unlock()
	if len(b.ended) != 2 || b.ended[0].End != worker.EndSuccess || b.ended[0].Fuel != 3 || b.ended[0].Behavior != "blob" || b.ended[1].End != worker.EndFailure {
		t.Errorf("ended: %+v", b.ended)
	}
	if len(b.made) != 1 || b.made[0].Took != time.Second {
		t.Errorf("made: %+v", b.made)
	}
	if len(b.crashes) != 0 {
		t.Errorf("a clean end is no crash: %+v", <-b.crashes)
	}
}

// TestCrashNamesWhatExecuted: the parent knows from shared memory which attempts executed. It names these and no
// others.
func TestCrashNamesWhatExecuted(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	b.assign("done", task.Payload{}, 1)
	b.assign("wait", task.Payload{}, 2, 3)
	b.until("the first is done", func() bool { return len(b.reports) == 1 })
	b.executing(2)
	b.assign("crash", task.Payload{}, 4)
	c := b.crash()
	slices.Sort(c.Session.Tokens)
	if !slices.Equal(c.Session.Tokens, []uint64{2, 3, 4}) || c.Session.Worker != "n1" || len(c.Session.Proof) != 32 || !strings.Contains(c.Why, "segmentation") && !strings.Contains(c.Why, "exit code 2") {
		t.Errorf("%+v", c)
	}
	b.until("another child opens a session", func() bool { return b.opened == 2 })
	if b.parent.Starts() < 2 {
		t.Errorf("%d starts", b.parent.Starts())
	}
	b.assign("done", task.Payload{}, 5)
	b.until("it works", func() bool { return len(b.reports) == 2 })
}

// TestCrashForgetsWhatHasEnded: an attempt that ended before the crash has nothing to do with it.
func TestCrashForgetsWhatHasEnded(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	b.assign("wait", task.Payload{}, 1)
	b.executing(1)
	b.assign("done", task.Payload{}, 2)
	b.until("the other is done", func() bool { return len(b.reports) == 1 })
	b.process().sub.Kill()
	if c := b.crash(); !slices.Equal(c.Session.Tokens, []uint64{1}) {
		t.Errorf("%+v", c)
	}
}

// TestProofRisesWithEachChild: a command that ends a child's session cannot end a session of the next child.
func TestProofRisesWithEachChild(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	var before []uint64
	for i := range 2 {
		b.process().sub.Kill()
		before = append(before, b.crash().Session.Before)
		b.until("another session", func() bool { return b.opened == uint64(i+2) })
	}
	if before[0] != 2<<32 || before[1] <= before[0] {
		t.Errorf("%x", before)
	}
}

// TestStoppedChildIsKilled: a child says nothing until its guests may not execute any more, and it is killed (SPEC L5).
func TestStoppedChildIsKilled(t *testing.T) {
	t.Parallel()
	b := start(t, 2*time.Second, nil)
	b.assign("wait", task.Payload{}, 1)
	b.executing(1)
	b.freeze()
	c := b.crash()
	if !strings.Contains(c.Why, "nothing was heard") || !slices.Equal(c.Session.Tokens, []uint64{1}) {
		t.Errorf("%+v", c)
	}
}

// TestDeafGuestEndsItsProcess: a deaf guest ends the child with exit 70, and no longer the server.
func TestDeafGuestEndsItsProcess(t *testing.T) {
	t.Parallel()
	b := start(t, time.Second, nil)
	b.assign("deaf", task.Payload{}, 1)
	b.executing(1)
	b.mu.Lock()
	conn := b.conn
	b.mu.Unlock()
	if err := conn.Send(stream.Frame{NotFound: true}); err != nil {
		t.Fatal(err)
	}
	if c := b.crash(); !strings.Contains(c.Why, "70") && !strings.Contains(c.Why, "nothing was heard") || !slices.Equal(c.Session.Tokens, []uint64{1}) {
		t.Errorf("%+v", c)
	}
}

// TestMemoryOfAChild: a child that takes more memory than its bound is killed, whatever takes the memory.
func TestMemoryOfAChild(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, func(c *Config) { c.MemoryBytes = 200 << 20 })
	b.assign("hog", task.Payload{}, 1)
	if c := b.crash(); !strings.Contains(c.Why, "limit 200 MiB") || !slices.Equal(c.Session.Tokens, []uint64{1}) {
		t.Errorf("%+v", c)
	}
}

// TestCgroupIsTold (SPEC A10): where a child can have no cgroup of its own it runs all the same, and the leader hears why.
func TestCgroupIsTold(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, func(c *Config) {
		c.MemoryBytes, c.Cgroup = 1<<30, cgroup.None(errors.New("not given away"))
	})
	b.mu.Lock()
	w := b.hellos[0].Wall
	b.mu.Unlock()
	if w == nil || !slices.Contains(w.Missing, "memory_cgroup: not given away") || slices.Contains(w.InForce, wall.MemoryCgroup) || w.OOMKills != 0 {
		t.Errorf("%+v", w)
	}
	b.assign("done", task.Payload{}, 1)
	b.until("it works", func() bool { return len(b.reports) == 1 })
}

// TestWhyAChildEnded: a child that its cgroup has ended is told from one that was killed by somebody.
func TestWhyAChildEnded(t *testing.T) {
	t.Parallel()
	for kills, want := range map[int64]string{0: "nothing was heard", 2: "may have 1024 MiB of memory, and needed more (oom_kill 2)"} {
		if why := whyOf("nothing was heard", kills, 1<<30); !strings.Contains(why, want) {
			t.Errorf("%d kills: %s", kills, why)
		}
	}
}

// TestOrphanEnds: a child was stopped while its parent died, and then it goes on. It ends before it does anything.
// Until then it holds its directory, so nobody can prove that it is dead.
func TestOrphanEnds(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Minute, func(c *Config) { c.Orphan = true })
	b.assign("wait", task.Payload{}, 1)
	b.executing(1)
	c := b.process()
	b.freeze()
	// The kernel does this when a parent dies: it closes the socket, and nobody kills the child.
	orphan := make(chan struct{})
	go func() { <-c.sub.Done(); close(orphan) }()
	if err := c.sub.Conn.Raw().CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := worker.New(worker.Config{ID: "n1", Dir: b.cfg.Worker.Dir, Dial: b, Modules: b, Runner: testRunner{}}); !errors.Is(err, worker.ErrDirInUse) {
		t.Errorf("the directory of a stopped child: %v", err)
	}
	if err := syscall.Kill(c.sub.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-orphan:
	case <-time.After(time.Minute):
		t.Fatal("the orphan lives")
	}
	if c := b.crash(); !strings.Contains(c.Why, "exit code 3") {
		t.Errorf("%+v", c)
	}
}

// TestRedirect: the child learns the leader's address, and the address reaches the dialer.
func TestRedirect(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	b.mu.Lock()
	conn := b.conn
	b.mu.Unlock()
	if err := conn.Send(stream.Frame{Refused: &stream.Refused{Code: stream.NotLeader, Leader: "10.0.0.2:7170"}}); err != nil {
		t.Fatal(err)
	}
	b.until("the address", func() bool { return slices.Contains(b.told, "10.0.0.2:7170") })
}

// TestSuspectsRunAlone: while suspects wait, children are started that run one attempt each, take no second one, and
// end. A child that dies says which attempt was alone in it. The child of all other attempts lives on.
func TestSuspectsRunAlone(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, func(c *Config) { c.AloneDir = filepath.Join(filepath.Dir(c.Worker.Dir), "alone") })
	if h := b.hellos[0]; !h.Isolates || h.Alone {
		t.Errorf("%+v", h)
	}
	suspects := func(wait bool) {
		t.Helper()
		b.mu.Lock()
		conn := b.conn
		b.mu.Unlock()
		if err := conn.Send(stream.Frame{Suspects: &stream.Suspects{Wait: wait}}); err != nil {
			t.Fatal(err)
		}
	}
	// next waits for a child and gives it an attempt.
	var last uint64
	next := func(guest string, token uint64) {
		t.Helper()
		var conn *stream.Conn
		b.until("a child for one", func() bool {
			for session, c := range b.alone {
				if session > last {
					last, conn = session, c
					return true
				}
			}
			return false
		})
		b.assignTo(conn, last, guest, task.Payload{}, token)
	}
	suspects(true)
	next("done", 1)
	b.until("it has reported and said Bye", func() bool { return len(b.reports) == 1 && b.byes == 1 })
	next("crash", 2)
	if c := b.crash(); c.Session.Worker != "n1/alone" || !slices.Equal(c.Session.Tokens, []uint64{2}) || len(c.Session.Proof) != 32 {
		t.Errorf("%+v", c)
	}
	next("done", 3)
	b.until("a third", func() bool { return len(b.reports) == 2 && b.byes == 2 })
	suspects(false)
	b.stop()
	for _, h := range b.hellos[1:] {
		if !h.Alone || h.Isolates || h.Worker != "n1/alone" || h.Slots != 1 || h.Leases != 1 || h.Credits != 1 {
			t.Errorf("%+v", h)
		}
	}
	if b.opened != 1 {
		t.Errorf("%d sessions of the others", b.opened)
	}
}

// TestKillStartsNoOther: a node that dies leaves nothing behind.
func TestKillStartsNoOther(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	done := b.process().sub.Done()
	b.parent.Kill()
	<-done
	if _, err := b.parent.start(&b.parent.current, b.parent.mainSpec()); !errors.Is(err, errKilled) {
		t.Errorf("another one: %v", err)
	}
	b.stop()
	if len(b.crashes) != 0 {
		t.Errorf("told of %+v", <-b.crashes)
	}
	if b.parent.Starts() != 1 || b.opened != 1 {
		t.Errorf("%d starts, %d sessions", b.parent.Starts(), b.opened)
	}
}

// TestBadConfig: a configuration that would run nothing is refused.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	l := newLeader(t, time.Second)
	good := Config{Worker: worker.Config{ID: "n1", Dir: "d", Dial: l, Modules: l, Blobs: l}, Args: []string{"guests"}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Config){
		"ID": func(c *Config) { c.Worker.ID = "" }, "Blobs": func(c *Config) { c.Worker.Blobs = nil }, "Runner": func(c *Config) { c.Worker.Runner = testRunner{} },
		"Slots": func(c *Config) { c.Worker.Slots = -1 }, "Args": func(c *Config) { c.Args = nil },
	} {
		c := good
		edit(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEndedOnTheWire: the news of ended attempts arrive unchanged, and rubbish is not taken for news.
func TestEndedOnTheWire(t *testing.T) {
	t.Parallel()
	want := []worker.Ended{
		{Namespace: "default", Behavior: "a", End: worker.EndTrap, Ran: true, Wall: time.Hour, Busy: 1, Fuel: 1 << 62, PeakMemory: 1 << 30, Reused: true, Ready: 5},
		{Namespace: "", Behavior: "b", End: worker.EndNotRun},
	}
	var b []byte
	for i := range want {
		b = appendEnded(b, &want[i])
	}
	var got []worker.Ended
	if err := readEnded(b, func(e worker.Ended, _ []byte) { got = append(got, e) }); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(b) {
		count := 0
		err := readEnded(b[:n], func(worker.Ended, []byte) { count++ })
		if whole := n == 0 || count == 1 && err == nil; err == nil && !whole {
			t.Errorf("%d of %d bytes were read", n, len(b))
		}
	}
	if err := readEnded([]byte{0, 0, 200, 0, 0, 0, 0, 0, 0}, func(worker.Ended, []byte) {}); err == nil {
		t.Error("an End that there is not")
	}
}
