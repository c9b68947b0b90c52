package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// ErrStuck means that guests did not stop in time when the worker was shut down. The process must end: its directory
// stays locked, and its session is left to expire.
var ErrStuck = errors.New("worker: guests do not stop")

// errWorkerStopped ends everything that a stopped worker still waits for.
var errWorkerStopped = errors.New("worker: stopped")

// errSessionNotFound says that the leader does not know the session: it has ended.
var errSessionNotFound = fmt.Errorf("worker: the leader does not know the session: %w", runtime.ErrKilledLease)

// errSessionClosed says that our Bye was answered.
var errSessionClosed = errors.New("worker: session closed")

// Worker holds a session and runs what it is assigned. Make it with New, then Run it once.
type Worker struct {
	cfg      Config
	log      *slog.Logger
	dir      *dir
	modules  *modules
	queue    *queue
	pace     pace
	schemas  manifest.Schemas
	draining atomic.Bool
	taken    atomic.Bool // an assignment has come
	running  atomic.Bool
	hellos   atomic.Uint64   // number of the last Hello
	life     context.Context // ends when the worker has stopped
	end      context.CancelCauseFunc
	wg       sync.WaitGroup // everything that this worker started

	mu        sync.Mutex
	session   *session // nil: none
	connected bool
}

// New locks the directory and prepares a worker. Run or Close releases the lock.
func New(cfg Config) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d, err := openDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, log: cfg.Logger.With("worker", cfg.ID), dir: d, queue: newQueue(cfg.Slots)}
	w.life, w.end = context.WithCancelCause(context.Background())
	w.hellos.Store(d.starts << helloBits)
	w.modules = newModules(w)
	return w, nil
}

// takesNothing reports whether no further assignment is wanted.
func (w *Worker) takesNothing() bool { return w.draining.Load() || w.cfg.Alone && w.taken.Load() }

// Proof returns what the worker shows to the cluster to prove that its former process is dead. before is a number above
// the numbers of all Hellos of this process, and not above the numbers of the next process (SPEC L6).
func (w *Worker) Proof() (proof []byte, before uint64) {
	return w.dir.proof, (w.dir.starts + 1) << helloBits
}

// Close releases the directory of a worker that never ran. Run does it by itself.
func (w *Worker) Close() error {
	if w.running.CompareAndSwap(false, true) {
		w.end(errWorkerStopped)
		w.dir.close()
	}
	return nil
}

// Run works until ctx ends, then shuts down cleanly. It takes nothing new, tells its guests to drain, gives back the tasks that
// they leave, and closes the session (SPEC R3). With or without a leader, this takes no longer than DrainTime, three times CloseTime,
// and the time that the Runner needs to finish a compilation. The error is nil or ErrStuck.
func (w *Worker) Run(ctx context.Context) error {
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("worker: Run called twice, or after Close")
	}
	w.wg.Go(w.loop)
	<-ctx.Done()
	err := w.shutdown()
	w.end(errWorkerStopped)
	w.queue.close()
	if err != nil {
		return err // some guests do not stop: do not wait for them, nor unlock the directory
	}
	w.wg.Wait()
	w.dir.close()
	return nil
}

// shutdown drains and closes the session. Each step is bounded.
func (w *Worker) shutdown() error {
	w.draining.Store(true)
	s := w.current()
	if s == nil {
		return nil
	}
	w.log.Info("draining", "session", s.id, "time", w.cfg.DrainTime)
	s.tellAll(abi.SignalDraining)
	s.nudge() // credits: none

	s.within(w.cfg.DrainTime, func() bool { return len(s.runs) == 0 })
	s.killAll(runtime.ErrKilledStop)
	if !s.within(w.cfg.CloseTime, func() bool { return len(s.executingLocked()) == 0 }) {
		// Closing the session would give their tasks to others while they execute here.
		return ErrStuck
	}
	s.within(w.cfg.CloseTime, func() bool { return len(s.runs) == 0 || s.over })
	s.sayBye()
	s.within(w.cfg.CloseTime, func() bool { return s.over })
	s.lose(errSessionClosed)
	return nil
}

// Kill stops all guests at once, drops their reports, and opens no further session. It is for an owner that must not
// run anything any more. The leader learns nothing; the session is left to expire. Run still ends only with its context.
func (w *Worker) Kill() {
	w.draining.Store(true)
	if s := w.current(); s != nil {
		s.lose(errors.Join(errWorkerStopped, runtime.ErrKilledStop))
	}
}

// tellAll sets a signal for all guests.
func (s *session) tellAll(signal abi.Signals) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.signals.Or(int32(signal))
	}
}

// killAll stops the runs that execute or wait.
func (s *session) killAll(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.stop(cause)
	}
}

// sayBye makes the sender end the session.
func (s *session) sayBye() {
	s.mu.Lock()
	s.bye = true
	s.mu.Unlock()
	s.nudge()
}

// within waits for a condition over the session's state for at most d.
func (s *session) within(d time.Duration, cond func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return s.until(ctx, cond)
}

// current returns the session, or nil.
func (w *Worker) current() *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

func (w *Worker) setCurrent(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = s
}

func (w *Worker) setConnected(connected bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = connected
}

// Status is a worker's state at one moment.
type Status struct {
	Session   uint64 // 0: none
	Leader    string // node ID that the session's stream goes, or went, to
	Connected bool
	Draining  bool
	Held      []uint64 // tokens of runs and of unanswered reports, rising
	Executing []uint64 // tokens whose guest code runs, rising
	Ready     []string // digests of modules that are compiled here, sorted
	Slots     int      // how many attempts run here at a time
	Breaches  int64    // how often its process has broken its contract with the leader (SPEC A10)
}

// Status describes the worker now.
func (w *Worker) Status() Status {
	w.mu.Lock()
	s, connected := w.session, w.connected
	w.mu.Unlock()
	st := Status{Draining: w.draining.Load(), Slots: w.cfg.Slots, Ready: slices.Clone(w.modules.digests())}
	if s == nil {
		return st
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Session, st.Leader, st.Connected = s.id, s.leader, connected && !s.over
	st.Held, st.Executing = s.heldLocked(), s.executingLocked()
	return st
}
