package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/spans"
	"github.com/taskrt/taskrt/worker/stream"
)

// errHalted ends a run whose token is dead (SPEC L3). To the guest and the runtime it is a lost lease.
var errHalted = fmt.Errorf("worker: the token is dead: %w", runtime.ErrKilledLease)

// phase is the phase of a run. It only goes forward.
type phase uint8

const (
	waiting   phase = iota // for its module or a slot; no guest code has run
	executing              // guest code may run
	storing                // no guest code runs any longer; the result is on its way into the blob store
	reporting              // no guest code runs any longer; the last report has no answer yet
)

// run is one assignment, from its arrival to the answer to its last report.
type run struct {
	s     *session
	a     stream.Assignment
	key   task.Key
	token uint64
	ctx   context.Context // ends with the run or its session; the cause says why
	kill  context.CancelCauseFunc

	signals atomic.Int32 // abi.Signals set from outside
	pace    *behaviorPace
	guest   Guest // set with session.mu held, before the run joins the queue
	spans   *spans.Attempt

	// Guarded by queue.mu.
	queued bool
	joined time.Time

	// Guarded by session.mu.
	phase   phase
	began   time.Duration // on Boottime: when it entered executing
	seq     uint64        // number of the last report (SPEC L3)
	halted  bool
	beating bool // a progress report is unanswered
	grace   *time.Timer
	overdue bool   // OnOverrun was told of the run (SPEC L7)
	reports *entry // reports without an answer, the last one first
	stores  int    // how often the result was stored again

	result output        // of a success; set before phase reporting, and only read from then on
	fuel   int64         // what the guest has used; set with the last report, and only read from then on
	pages  int64         // the most memory that it had (SPEC U1); set and read as fuel is
	last   *task.Payload // the progress in the last report; nil: it is stored already; set and read as fuel is
	ended  Ended         // what OnEnd is told; only the goroutine that concludes the run uses it

	// Guarded by mu: what the guest writes while it runs.
	mu       sync.Mutex
	progress progress
	changed  bool // progress has changed since it was last queued
	untold   bool // progress has changed since watchers were last told of it
	log      logBuffer
}

// assign starts the new assignments of a batch. It drops every duplicate: a token names one lease for ever.
func (s *session) assign(batch []stream.Assignment) {
	alive := s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	var like *run // the run before it in the batch
	for _, a := range batch {
		if a.Task == nil || a.Task.Lease == nil || a.Task.Lease.Session != s.id {
			s.w.log.Error("assignment without a lease of this session", "session", s.id)
			continue
		}
		lease := a.Task.Lease
		s.acked = max(s.acked, lease.Seq)
		if _, ok := s.runs[lease.Token]; ok || s.over || !alive || s.finished.Has(lease.Token) {
			continue
		}
		like = s.beginLocked(a, like)
	}
	s.nudge() // credits
}

// beginLocked begins a run. If like is not nil, the run shares with it what both have in common.
func (s *session) beginLocked(a stream.Assignment, like *run) *run {
	lease := a.Task.Lease
	s.w.taken.Store(true)
	r := &run{s: s, a: a, key: a.Task.Key(), token: lease.Token, seq: lease.Report}
	r.log.limit = a.Policy.Limits.LogBytes
	if s.w.cfg.Traces {
		r.spans = spans.Of(a.Task).Arrived(s.w.cfg.Now)
	}
	if like != nil && like.a.Module.Digest == a.Module.Digest && like.a.Policy.Index == a.Policy.Index {
		r.pace, r.guest = like.pace, like.guest
	} else {
		r.pace = s.w.pace.of(stream.Behavior{Module: a.Module.Digest, Index: a.Policy.Index})
		r.guest = s.w.modules.at(a.Module.Digest)
	}
	r.ctx, r.kill = context.WithCancelCause(s.ctx)
	s.runs[r.token] = r
	s.busy[r.pace]++
	if s.w.draining.Load() {
		r.kill(runtime.ErrKilledStop)
	}
	if a.Task.CancelCode != "" {
		s.cancelLocked(r)
	}
	s.w.wg.Add(1) // until done
	if r.guest == nil {
		go r.fetch()
	} else {
		r.queue()
	}
	return r
}

// fetch gets the module before the run is queued.
func (r *run) fetch() {
	guest, err := r.s.w.modules.get(r.ctx, r.a.Module)
	if err == nil {
		r.spans.Loaded(r.s.w.cfg.Now)
		r.s.mu.Lock()
		r.guest = guest
		r.s.mu.Unlock()
		r.queue()
		return
	}
	if r.ctx.Err() == nil {
		r.s.w.log.Warn("assignment given back: its module cannot be had", "task", r.key, "module", r.a.Module.Digest, "error", err)
	}
	r.giveUp()
}

// queue lets the run wait for a slot.
func (r *run) queue() {
	q := r.s.w.queue
	q.join(r)
	if r.ctx.Err() != nil && q.leave(r) { // it was stopped before it joined
		go r.giveUp()
	}
}

// stop ends the run's context. A run that waits for a slot ends with it.
func (r *run) stop(cause error) {
	r.kill(cause)
	if r.s.w.queue.leave(r) {
		go r.giveUp()
	}
}

// giveUp ends a run whose guest has not run.
func (r *run) giveUp() {
	r.conclude(nil)
	r.done()
}

// done ends what assign began.
func (r *run) done() {
	r.kill(nil) // releases ctx
	r.s.w.wg.Done()
}

// start runs the guest once its inputs are at hand.
func (r *run) start() {
	in, err := r.openInputs()
	if err == nil {
		defer in.close()
		if r.begin() {
			r.execute(in)
			return
		}
	}
	switch {
	case err == nil || r.ctx.Err() != nil:
		r.conclude(nil)
	case errors.Is(err, ErrNoBlob): // no other worker would find it either
		r.conclude(&runtime.Outcome{
			Kind: runtime.Failed, Class: runtime.ClassGuest, Code: runtime.CodeHandlerError, Retryable: true, Message: err.Error(),
		})
	default:
		r.s.w.log.Warn("assignment given back: what it reads cannot be had", "task", r.key, "error", err)
		r.conclude(nil)
	}
}

// begin enters the phase in which guest code runs, unless the run has been stopped.
func (r *run) begin() bool {
	now := r.s.w.cfg.Boottime()
	if !r.s.aliveAt(now) {
		return false
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.over || r.ctx.Err() != nil {
		return false
	}
	r.began = now
	r.s.enterLocked(r, executing)
	return true
}

func (r *run) execute(in inputs) {
	w := r.s.w
	span := Run{
		Key: r.key, Token: r.token, Attempt: r.a.Task.Attempt, Session: r.s.id,
		Started: int64(r.began),
	}
	w.cfg.OnRun(span)
	h := host{run: r, files: &openFiles{}}
	defer h.files.close()
	out := r.guest.Run(r.ctx, r.attempt(in), r.spans.Host(h))
	span.Ended = int64(w.cfg.Boottime())
	w.pace.note(r.pace, time.Duration(span.Ended-span.Started))
	w.cfg.OnRun(span)
	r.cost(&out)
	r.spans.Ran(&out, w.cfg.Now, time.Duration(span.Ended))
	r.settle(&out)
	r.conclude(&out)
}

// attempt returns what the runtime needs to run the guest.
func (r *run) attempt(in inputs) runtime.Attempt {
	t, p := r.a.Task, r.a.Policy
	a := runtime.Attempt{
		Behavior: p.Index, Params: t.Params.Data, MakeInfo: r.info,
		ParamsFrom: source(in.params), CheckpointFrom: source(in.checkpoint),
		MemoryBytes: p.Limits.MemoryBytes, ResultBytes: p.Limits.ResultBytes,
		CheckpointBytes: p.Limits.CheckpointBytes, LogBytes: p.Limits.LogBytes,
		Fuel:             p.Limits.Fuel,
		RunTimeout:       time.Duration(p.RunTimeout) * time.Millisecond,
		HeartbeatTimeout: time.Duration(p.HeartbeatTimeout) * time.Millisecond,
		ResultRequired:   p.ResultRequired,
		Spans:            r.spans.Own(),
	}
	if r.s.w.cfg.Outside != nil {
		a.Outside = outside{r}
	}
	if r.spans != nil {
		a.Watch = r.spans.Outside
	}
	if t.Checkpoint.Encoding != task.None && in.checkpoint == nil {
		a.Checkpoint = append([]byte{}, t.Checkpoint.Data...) // not nil: an empty checkpoint is a checkpoint, too
	}
	return a
}

// conclude ends the run with its last report. A run that was halted, or belongs to a lost session, has no report.
// out is nil if no guest ran.
func (r *run) conclude(out *runtime.Outcome) {
	s := r.s
	alive := s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.grace != nil {
		r.grace.Stop()
	}
	s.enterLocked(r, reporting)
	if !alive || s.over || r.halted {
		r.tellEnd(out, nil)
		s.forgetLocked(r)
		s.nudge()
		return
	}
	s.logs = append(s.logs, r.takeLog()...)
	r.seq++
	rep := r.outcome(out, context.Cause(r.ctx))
	r.tellEnd(out, &rep)
	s.addLocked(r, lastReport, rep)
	s.nudge()
}

// cancel tells a guest to end (SPEC L8).
func (s *session) cancel(tokens []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		if r := s.runs[token]; r != nil {
			s.cancelLocked(r)
		}
	}
}

func (s *session) cancelLocked(r *run) {
	if r.grace != nil || r.phase == reporting || s.over {
		return
	}
	r.signals.Or(int32(abi.SignalCancel))
	grace := time.Duration(r.a.Policy.CancelGrace) * time.Millisecond
	if r.phase == waiting {
		grace = 0 // there is no guest to tell
	}
	r.grace = time.AfterFunc(grace, func() { r.stop(runtime.ErrKilledCancel) })
}

// halt stops guests whose tokens are dead.
func (s *session) halt(tokens []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		if r := s.runs[token]; r != nil {
			s.haltLocked(r)
		}
	}
}
