package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// host is what a guest reaches of the worker. Every call looks at the margin itself: a process that was suspended
// through it answers "lease lost" to the first call, whoever wakes first (SPEC L5).
type host struct{ *run }

var _ runtime.Host = host{}

// Beat keeps progress in memory; those who watch are told soon, and it is stored with the next renewal (SPEC W3).
func (h host) Beat(done, total int64, note []byte) abi.Signals {
	h.mu.Lock()
	news := false
	if p := (progress{done: done, total: total, note: string(note)}); p != h.progress {
		news = !h.untold
		h.progress, h.changed, h.untold = p, true, true
	}
	h.mu.Unlock()
	if news {
		h.s.nudgeLive()
	}
	return h.Signals()
}

// Signals returns what the guest is told.
func (h host) Signals() abi.Signals {
	signals := abi.Signals(h.signals.Load())
	if !h.s.alive() || h.ctx.Err() != nil && errors.Is(context.Cause(h.ctx), runtime.ErrKilledLease) {
		signals |= abi.SignalLeaseLost
	}
	return signals
}

// Checkpoint reports data with the latest progress and waits until that is committed, also over a reconnect.
func (h host) Checkpoint(ctx context.Context, data []byte) error {
	if limit := min(h.a.Policy.Limits.CheckpointBytes, maxPayload); int64(len(data)) > limit {
		return fmt.Errorf("worker: checkpoint of %d bytes, limit %d", len(data), limit)
	}
	if !h.s.alive() {
		return runtime.ErrLeaseLost
	}
	e := h.queueCheckpoint(data)
	if e == nil {
		return runtime.ErrLeaseLost
	}
	select {
	case a := <-e.answered:
		switch {
		case a.Code == task.Halt || a.Code == task.TaskNotFound || !h.s.alive():
			return runtime.ErrLeaseLost
		case a.Code != task.OK:
			return fmt.Errorf("worker: checkpoint refused: %s: %s", a.Code, a.Message)
		}
		return nil
	case <-ctx.Done():
	case <-h.ctx.Done():
		ctx = h.ctx
	}
	if cause := context.Cause(ctx); errors.Is(cause, runtime.ErrKilledLease) {
		return fmt.Errorf("%w: %w", runtime.ErrLeaseLost, cause)
	}
	return context.Cause(ctx)
}

// queueCheckpoint returns nil if the run has nothing to say any more.
func (h host) queueCheckpoint(data []byte) *entry {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.s.over || h.halted {
		return nil
	}
	h.seq++
	b := &task.Beat{Key: h.key, Token: h.token, Seq: h.seq, Progress: h.takeProgress()}
	b.Checkpoint = new(payload(data))
	e := h.s.addLocked(h.run, checkpointBeat, stream.Report{Beat: b})
	h.s.nudge()
	return e
}

// Log keeps a line of the attempt's log.
func (h host) Log(level int, msg []byte) {
	now := h.s.w.cfg.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log.add(now, level, msg)
}
