package extworker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Task is one attempt, as its handler sees it. Its methods may be called from any goroutine until the handler returns.
type Task struct {
	*api.Task // as it was when the attempt began; Lease.Token names the attempt

	w      *Worker
	cancel context.CancelCauseFunc // of the handler's context
	calls  context.Context         // of heartbeats: until the handler has returned, or the lease is gone
	drop   context.CancelCauseFunc
	news   chan struct{} // progress has changed

	sending sync.Mutex // one heartbeat at a time, in order of their numbers

	mu       sync.Mutex
	seq      uint64
	deadline time.Time // the lease is another's from here on, unless renewed
	lease    time.Duration
	progress json.RawMessage // not yet sent
	extend   time.Duration   // not yet sent
	resubmit bool
	again    time.Time
}

// progressEvery is the shortest time between two heartbeats that send changed progress.
const progressEvery = time.Second

// callMin is the least time that a heartbeat may take. Otherwise it may take half of the time that is left of the lease, so that
// there is time for another one.
const callMin = 500 * time.Millisecond

// Params unmarshals the task's params into v.
func (t *Task) Params(v any) error {
	if t.Task.Params == nil {
		return fmt.Errorf("extworker: task %s has no JSON params", t.ID)
	}
	return json.Unmarshal(t.Task.Params, v)
}

// Progress tells how far the attempt is, in any JSON. The worker sends the latest progress about every second. It is the result of a
// handler that returns no result.
func (t *Task) Progress(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.progress = b
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
	return nil
}

// Checkpoint stores a point from which another attempt can go on (its Task.Checkpoint). It returns once the checkpoint is durable.
func (t *Task) Checkpoint(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.send(b)
}

// Extend makes the lease last this long from each renewal on, 1 s to 1 h. Call it before work during which the process
// cannot renew. It returns once the new length holds.
func (t *Task) Extend(d time.Duration) error {
	t.mu.Lock()
	t.extend = d
	t.mu.Unlock()
	return t.send(nil)
}

// Resubmitted reports whether somebody has asked for another run after this one, as of the last renewal (SPEC J5).
func (t *Task) Resubmitted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resubmit
}

// Again makes a success be followed by another run at the time at (SPEC R4).
func (t *Task) Again(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = at
}

// send sends heartbeats until the cluster takes one. The caller waits for it.
func (t *Task) send(checkpoint json.RawMessage) error {
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		err := t.beat(checkpoint)
		switch {
		case err == nil:
			return nil
		case t.calls.Err() != nil || passing(err) && !sleep(t.calls, pause):
			return context.Cause(t.calls)
		case !passing(err):
			return err
		}
	}
}

// beat renews the lease once, with everything that is not yet sent. It applies the answer: the lease lasts from before the heartbeat was
// sent, and a halt or a cancel ends the handler's context.
func (t *Task) beat(checkpoint json.RawMessage) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	r, extend := t.heartbeat(checkpoint)
	sent := time.Now()
	ctx, done := context.WithTimeout(t.calls, max(time.Until(t.until())/2, callMin))
	defer done()
	reply, err := t.w.cfg.Client.Heartbeat(ctx, r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if r.Progress != nil && t.progress == nil && passing(err) {
			t.progress = r.Progress
		}
		if api.CodeOf(err) == api.CodeHalt {
			t.end(ErrHalt)
		}
		return err
	}
	if t.extend == extend {
		t.extend = 0
	}
	left := time.Duration(reply.LeaseMS) * time.Millisecond
	t.deadline, t.lease, t.resubmit = sent.Add(left), left, reply.Resubmit
	if reply.Cancel {
		t.cancel(ErrCancelled)
	}
	return nil
}

// heartbeat takes what is to be sent. A heartbeat that only renews carries no number: it changes nothing that an older one
// could overwrite, and costs the cluster less.
func (t *Task) heartbeat(checkpoint json.RawMessage) (r api.HeartbeatRequest, extend time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r = api.HeartbeatRequest{
		Namespace: t.Namespace, ID: t.ID, Token: t.Lease.Token, Progress: t.progress, Checkpoint: checkpoint,
	}
	if t.progress = nil; r.Progress != nil || checkpoint != nil {
		t.seq++
		r.Seq = t.seq
	}
	if t.extend != 0 {
		r.Extend = new(api.Duration(t.extend))
	}
	return r, t.extend
}

func (t *Task) until() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deadline
}

// next says when to renew: at a third of the lease.
func (t *Task) next() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deadline.Add(-t.lease * 2 / 3)
}

// end ends everything about an attempt whose lease is gone.
func (t *Task) end(cause error) {
	t.cancel(cause)
	t.drop(cause)
}

// keep renews the lease until the handler has returned or the lease is gone.
func (t *Task) keep() {
	next := t.next()
	var sent time.Time
	for {
		timer := time.NewTimer(max(0, time.Until(next)))
		select {
		case <-t.calls.Done():
			timer.Stop()
			return
		case <-t.news:
			timer.Stop()
			if soon := sent.Add(progressEvery); soon.Before(next) {
				next = soon
			}
			continue
		case <-timer.C:
		}
		if !time.Now().Before(t.until()) {
			t.end(ErrLost)
			return
		}
		sent = time.Now()
		if err := t.beat(nil); err == nil {
			next = t.next()
			continue
		} else if t.calls.Err() == nil {
			t.w.cfg.Logger.Warn("lease not renewed yet", "task", t.ID, "err", err)
		}
		next = earlier(time.Now().Add(max(pauseMin, time.Until(t.until())/10)), t.until())
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
