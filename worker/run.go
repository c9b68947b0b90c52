package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// errHalted ends a run whose token is dead (SPEC L3). To the guest and the runtime it is a lost lease.
var errHalted = fmt.Errorf("worker: the token is dead: %w", runtime.ErrKilledLease)

// phase of a run. It only goes forward.
type phase uint8

const (
	waiting   phase = iota // for its module or a slot; no guest code has run
	executing              // guest code may run
	storing                // it does not any more; its result is on its way into the blob store
	reporting              // no guest code runs any more; the last report has no answer yet
)

// run is one assignment: from its arrival to the answer to its last report.
type run struct {
	s     *session
	a     stream.Assignment
	key   task.Key
	token uint64
	ctx   context.Context // ends with the run or its session; the cause says why
	kill  context.CancelCauseFunc

	signals atomic.Int32 // abi.Signals set from outside
	pace    *behaviorPace

	// guarded by session.mu
	phase   phase
	began   time.Duration // on Boottime: when it became executing
	seq     uint64        // of the last report (SPEC L3)
	halted  bool
	beating bool // a progress report is unanswered
	grace   *time.Timer
	overdue bool // OnOverrun was told of it (SPEC L7)
	stores  int  // how often the result was stored again

	result output // of a success: set before phase reporting, and only read from then on
	fuel   int64  // that the guest used: set with the last report, and only read from then on
	ended  Ended  // what OnEnd is told: belongs to main

	// guarded by mu: what the guest writes while it runs
	mu       sync.Mutex
	progress progress
	changed  bool // since progress was last queued
	untold   bool // since progress was last told live
	log      logBuffer
}

// assign starts what is new of a batch. Every duplicate is met here: by token, which names a lease for ever.
func (s *session) assign(batch []stream.Assignment) {
	alive := s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range batch {
		if a.Task == nil || a.Task.Lease == nil || a.Task.Lease.Session != s.id {
			s.w.log.Error("assignment without a lease of this session", "session", s.id)
			continue
		}
		lease := a.Task.Lease
		s.acked = max(s.acked, lease.Seq)
		if _, ok := s.runs[lease.Token]; ok || s.over || !alive || s.finished.has(lease.Token) {
			continue
		}
		r := &run{s: s, a: a, key: a.Task.Key(), token: lease.Token, seq: lease.Report}
		r.log.limit = a.Policy.Limits.LogBytes
		r.pace = s.w.pace.of(stream.Behavior{Module: a.Module.Digest, Index: a.Policy.Index})
		r.ctx, r.kill = context.WithCancelCause(s.ctx)
		s.runs[r.token] = r
		if s.w.draining.Load() {
			r.kill(runtime.ErrKilledStop)
		}
		if a.Task.CancelCode != "" {
			s.cancelLocked(r)
		}
		s.w.wg.Go(r.main)
	}
	s.nudge() // credits
}

// main carries the run out.
func (r *run) main() {
	defer r.kill(nil) // releases ctx
	guest, err := r.s.w.modules.get(r.ctx, r.a.Module)
	if err != nil {
		if r.ctx.Err() == nil {
			r.s.w.log.Warn("assignment given back: its module cannot be had", "task", r.key, "module", r.a.Module.Digest, "error", err)
		}
		r.conclude(nil)
		return
	}
	if !r.takeSlot() {
		r.conclude(nil)
		return
	}
	defer func() { <-r.s.w.slots }()
	r.start(guest)
}

// takeSlot waits for a slot: never more guests than slots, whatever the leader believes. It does not wait for long (see pace).
func (r *run) takeSlot() bool {
	select {
	case r.s.w.slots <- struct{}{}:
		return true
	default:
	}
	patience := time.NewTimer(aheadPatience)
	defer patience.Stop()
	select {
	case r.s.w.slots <- struct{}{}:
		return true
	case <-r.ctx.Done():
	case <-patience.C:
	}
	return false
}

// start runs the guest, once what it reads is at hand.
func (r *run) start(guest Guest) {
	in, err := r.openInputs()
	if err == nil {
		defer in.close()
		if r.begin() {
			r.execute(guest, in)
			return
		}
	}
	switch {
	case err == nil || r.ctx.Err() != nil:
		r.conclude(nil)
	case errors.Is(err, ErrNoBlob): // nor would another worker find it
		r.conclude(&runtime.Outcome{
			Kind: runtime.Failed, Class: runtime.ClassGuest, Code: runtime.CodeHandlerError, Retryable: true, Message: err.Error(),
		})
	default:
		r.s.w.log.Warn("assignment given back: what it reads cannot be had", "task", r.key, "error", err)
		r.conclude(nil)
	}
}

// begin enters the phase in which guest code runs, unless the run is not to be any more.
func (r *run) begin() bool {
	if !r.s.alive() {
		return false
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.over || r.ctx.Err() != nil {
		return false
	}
	r.phase, r.began = executing, r.s.w.cfg.Boottime()
	r.s.announceLocked()
	return true
}

func (r *run) execute(guest Guest, in inputs) {
	w := r.s.w
	span := Run{
		Key: r.key, Token: r.token, Attempt: r.a.Task.Attempt, Session: r.s.id,
		Started: int64(r.began),
	}
	w.cfg.OnRun(span)
	h := host{run: r, files: &openFiles{}}
	defer h.files.close()
	out := guest.Run(r.ctx, r.attempt(in), h)
	span.Ended = int64(w.cfg.Boottime())
	w.pace.note(r.pace, time.Duration(span.Ended-span.Started))
	w.cfg.OnRun(span)
	r.cost(guest, &out)
	r.settle(&out)
	r.conclude(&out)
}

// attempt is what the runtime is given.
func (r *run) attempt(in inputs) runtime.Attempt {
	t, p := r.a.Task, r.a.Policy
	a := runtime.Attempt{
		Behavior: p.Index, Params: t.Params.Data, Info: r.info(),
		ParamsFrom: source(in.params), CheckpointFrom: source(in.checkpoint),
		MemoryBytes: p.Limits.MemoryBytes, ResultBytes: p.Limits.ResultBytes,
		CheckpointBytes: p.Limits.CheckpointBytes, LogBytes: p.Limits.LogBytes,
		Fuel:             p.Limits.Fuel,
		RunTimeout:       time.Duration(p.RunTimeout) * time.Millisecond,
		HeartbeatTimeout: time.Duration(p.HeartbeatTimeout) * time.Millisecond,
		ResultRequired:   p.ResultRequired,
	}
	if t.Checkpoint.Encoding != task.None && in.checkpoint == nil {
		a.Checkpoint = append([]byte{}, t.Checkpoint.Data...) // not nil: an empty checkpoint is one
	}
	return a
}

// info is the JSON of channel Info.
func (r *run) info() []byte {
	t := r.a.Task
	info := abi.TaskInfo{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version,
		Attempt: t.Attempt, MaxAttempts: r.a.Policy.Retry.MaxAttempts, Failures: t.Failures, Token: r.token,
		Parent: t.Parent, Partition: t.Partition, DeadlineMS: int64(t.Deadline), CreatedMS: int64(t.CreatedAt),
		Node: t.Lease.Node, Worker: t.Lease.Worker, Priority: t.Priority,
	}
	if len(t.Labels) > 0 {
		info.Labels = make(map[string]string, len(t.Labels))
		for _, l := range t.Labels {
			info.Labels[l.Name] = l.Value
		}
	}
	b, err := json.Marshal(info)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return b
}

// conclude ends the run with its last report, or with none: what was halted or belongs to a lost session has nothing
// to say. out is nil if no guest ran.
func (r *run) conclude(out *runtime.Outcome) {
	s := r.s
	alive := s.alive()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.grace != nil {
		r.grace.Stop()
	}
	r.phase = reporting
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
	s.announceLocked()
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
	r.grace = time.AfterFunc(grace, func() { r.kill(runtime.ErrKilledCancel) })
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
