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

// host is the worker as a guest reaches it. Every call looks at the margin itself. So if the process was suspended past the margin, the first call
// gets "lease lost", whichever goroutine wakes first (SPEC L5).
type host struct {
	*run
	files *openFiles
}

var _ runtime.Host = host{}

// Beat keeps progress in memory. Watchers are told of it soon, and the next renewal stores it (SPEC W3).
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

// Signals returns the signals for the guest.
func (h host) Signals() abi.Signals {
	signals := abi.Signals(h.signals.Load())
	if !h.s.alive() || h.ctx.Err() != nil && errors.Is(context.Cause(h.ctx), runtime.ErrKilledLease) {
		signals |= abi.SignalLeaseLost
	}
	return signals
}

// Checkpoint reports data with the latest progress, and waits until it is committed, also over a reconnect.
func (h host) Checkpoint(ctx context.Context, data []byte) error {
	limit := min(h.a.Policy.Limits.CheckpointBytes, maxOutput)
	if int64(len(data)) > limit {
		return fmt.Errorf("%w: checkpoint of %d bytes, limit %d", runtime.ErrTooBig, len(data), limit)
	}
	if !h.s.alive() {
		return runtime.ErrLeaseLost
	}
	o, err := h.outputOf(ctx, data)
	if err != nil {
		return h.interrupted(ctx, told(err))
	}
	if o.payload.Len() > limit {
		return fmt.Errorf("%w: checkpoint of %d bytes, limit %d", runtime.ErrTooBig, o.payload.Len(), limit)
	}
	for round := 0; ; round++ {
		err := h.store(ctx, &o)
		if err == nil {
			err = h.report(ctx, &o.payload)
		}
		if o.put == nil || !errors.Is(err, errBlobGone) || round == maxStores {
			return h.interrupted(ctx, told(err))
		}
	}
}

// told adds the guest's status to an error about which the guest can do something.
func told(err error) error {
	switch {
	case errors.Is(err, errUnfit):
		return fmt.Errorf("%w: %w", runtime.ErrInvalid, err)
	case errors.Is(err, ErrNoBlob), errors.Is(err, errBlobGone):
		return fmt.Errorf("%w: %w", runtime.ErrNotFound, err)
	}
	return err
}

// errBlobGone says that the bytes were deleted between storing and reporting them (SPEC M3).
var errBlobGone = errors.New("worker: checkpoint refused: its blob is gone")

// report reports a checkpoint and waits for the answer.
func (h host) report(ctx context.Context, p *task.Payload) error {
	e := h.queueCheckpoint(p)
	if e == nil {
		return runtime.ErrLeaseLost
	}
	select {
	case a := <-e.answered:
		switch {
		case a.Code == task.Halt || a.Code == task.TaskNotFound || !h.s.alive():
			return runtime.ErrLeaseLost
		case a.Code == task.BlobGone:
			return fmt.Errorf("%w: %s", errBlobGone, a.Message)
		case a.Code != task.OK:
			return fmt.Errorf("worker: checkpoint refused: %s: %s", a.Code, a.Message)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-h.ctx.Done():
		return context.Cause(h.ctx)
	}
}

// interrupted wraps an error with the cause of the run's stop, if the run was stopped meanwhile.
func (h host) interrupted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if h.ctx.Err() != nil {
		ctx = h.ctx
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case errors.Is(cause, runtime.ErrKilledLease):
		return fmt.Errorf("%w: %w", runtime.ErrLeaseLost, cause)
	default:
		return cause
	}
}

// queueCheckpoint queues a checkpoint. It returns nil if the run has nothing to say any longer.
func (h host) queueCheckpoint(p *task.Payload) *entry {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.s.over || h.halted {
		return nil
	}
	h.seq++
	b := &task.Beat{Key: h.key, Token: h.token, Seq: h.seq, Progress: h.takeProgress(), Checkpoint: p}
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
