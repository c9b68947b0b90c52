package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// These time connections. A session is renewed every third of its TTL (SPEC L2). An answer that takes longer than a
// sixth means that the other end hangs or is cut off. Then a fifth of the TTL is left to find the leader, until guests are stopped
// at 70 %.
const (
	renewFraction   = 3
	answerFraction  = 6
	backoffFraction = 20
	firstBackoff    = 50 * time.Millisecond
	lastBackoff     = 500 * time.Millisecond // a restarted worker must be back within 1 s (SPEC L6)
	refusedBackoff  = time.Second            // nothing changes soon, and every Hello costs a log entry
	firstAnswer     = 2 * time.Second        // without a session
	lastAnswer      = 10 * time.Second       // patience doubles up to it: a loaded leader must be able to answer at last
)

// refusedError is a Refused frame.
type refusedError struct{ stream.Refused }

func (e *refusedError) Error() string {
	return fmt.Sprintf("worker: refused: %s: %s", e.Code, e.Message)
}

// errNoAnswer ends a connection whose other end does not answer in time.
var errNoAnswer = errors.New("worker: the leader does not answer")

// dialer is the state of connecting, between one connection and the next.
type dialer struct {
	backoff  time.Duration
	patience time.Duration
	said     string        // code of the refusal that was logged last
	since    time.Time     // the first failure in a row
	complain time.Duration // how long after since the next complaint comes
}

// The times of complaints about a leader that cannot be reached. The first comes not before an election may have taken
// place; the others at growing intervals.
const (
	firstComplaint = 3 * time.Second
	lastComplaint  = 10 * time.Minute
)

// unreached logs once that there has been no connection for long, and again each time that this time has doubled.
func (d *dialer) unreached(w *Worker, err error) {
	now := time.Now()
	if d.since.IsZero() {
		d.since, d.complain = now, firstComplaint
	}
	silent := now.Sub(d.since)
	if silent < d.complain {
		return
	}
	d.complain = silent + min(silent, lastComplaint)
	w.log.Warn("cannot reach a leader of the cluster; trying on", "for", silent.Round(time.Second), "error", err)
}

// loop holds a session and a connection for it until the worker has stopped.
func (w *Worker) loop() {
	var d dialer
	for w.life.Err() == nil {
		s := w.current()
		if s != nil && s.ctx.Err() != nil {
			// The next session may be opened only when no guest of the old one executes any longer (SPEC L5).
			s.until(context.Background(), func() bool { return len(s.runs) == 0 })
			w.setCurrent(nil)
			w.cfg.OnSession(Held{})
			continue
		}
		if s == nil && w.draining.Load() {
			return
		}
		ctx := w.life
		if s != nil {
			ctx = s.ctx
		}
		conn, err := w.connect(ctx, &d, s)
		if err == nil {
			d = dialer{}
			w.setConnected(true)
			w.cfg.OnSuspects(false)
			s = w.current()
			err = s.serve(conn)
			w.setConnected(false)
		}
		if conn != nil {
			_ = conn.Close()
		}
		w.failed(&d, s, err)
		if !idle.For(ctx, d.next(s)) {
			continue
		}
	}
}

// next returns how long to wait before the next try. The wait is jittered, so that the workers of a lost leader do not come all at
// once. It is short against the TTL while there is a session to keep.
func (d *dialer) next(s *session) time.Duration {
	last := lastBackoff
	if s != nil {
		last = min(last, max(s.ttl/backoffFraction, firstBackoff))
	}
	if d.said != "" {
		d.backoff, last = refusedBackoff, refusedBackoff
	}
	d.backoff = min(max(2*d.backoff, firstBackoff), last)
	return d.backoff/2 + rand.N(d.backoff/2)
}

// failed draws the conclusions from a connection that ended, or that never was.
func (w *Worker) failed(d *dialer, s *session, err error) {
	var refused *refusedError
	switch {
	case !errors.As(err, &refused):
		w.log.Debug("not connected", "error", err)
		d.unreached(w, err)
		return
	case refused.Code == stream.NotLeader:
		d.unreached(w, err)
		if refused.Leader != "" {
			w.cfg.Dial.Redirect(refused.Leader)
		}
		return
	case refused.Code == string(task.SessionNotFound):
		if s != nil {
			s.lose(errSessionNotFound)
		}
		return
	}
	if d.said == refused.Code {
		return
	}
	d.said = refused.Code
	if refused.Code == string(task.WorkerInUse) {
		w.log.Warn("another live session has this worker ID; waiting until it ends (SPEC L6)", "message", refused.Message)
		return
	}
	w.log.Error("the leader refuses this worker; trying again", "code", refused.Code, "message", refused.Message)
}

// connect dials and says Hello, for s or for a new session. It makes the session that this opens the current one.
func (w *Worker) connect(ctx context.Context, d *dialer, s *session) (*stream.Conn, error) {
	patience := firstAnswer
	if s != nil {
		patience = s.ttl / answerFraction
	}
	d.patience = min(max(2*d.patience, patience), max(patience, lastAnswer))
	ctx, cancel := context.WithTimeoutCause(ctx, d.patience, errNoAnswer)
	defer cancel()
	nc, err := w.cfg.Dial.Dial(ctx)
	if err != nil {
		d.patience = 0 // patience is only for a leader that can be reached but is slow
		return nil, err
	}
	conn, err := stream.New(nc, stream.Options{})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	sent := w.cfg.Boottime()
	welcome, err := w.hello(conn, s)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return conn, err
	}
	return conn, w.welcomed(s, welcome, sent)
}

// hello sends a Hello and waits for the answer.
func (w *Worker) hello(conn *stream.Conn, s *session) (*stream.Welcome, error) {
	h := &stream.Hello{
		Worker: w.cfg.ID, Node: w.cfg.Node, Slots: int64(w.cfg.Slots), Leases: int64(w.cfg.Slots) * LeasesPerSlot, Proof: w.dir.proof,
		Ready: w.modules.digests(), Credits: int64(w.cfg.Slots), ABI: []int{abi.Version},
		N: w.hellos.Add(1), Alone: w.cfg.Alone, Isolates: w.cfg.Isolates,
	}
	if w.cfg.Alone {
		h.Leases = 1
	}
	if w.cfg.Wall != nil {
		wall := w.cfg.Wall()
		h.Wall = &wall
	}
	if w.takesNothing() {
		h.Credits = 0
	}
	if s != nil {
		s.mu.Lock()
		h.Session, h.Acked, h.Held, h.Credits = s.id, s.acked, s.heldLocked(), s.creditsLocked(w.cfg.Boottime()).Free
		s.mu.Unlock()
	}
	if err := conn.Send(stream.Frame{Hello: h}); err != nil {
		return nil, err
	}
	f, err := conn.Recv()
	switch {
	case err != nil:
		return nil, err
	case f.Refused != nil:
		return nil, &refusedError{*f.Refused}
	case f.NotFound:
		return nil, &refusedError{stream.Refused{Code: string(task.SessionNotFound)}}
	case f.Welcome == nil:
		return nil, fmt.Errorf("%w: no answer to Hello", stream.ErrBadFrame)
	}
	return f.Welcome, nil
}

// welcomed makes the session that a Welcome names the current one.
func (w *Worker) welcomed(s *session, welcome *stream.Welcome, sent time.Duration) error {
	if s != nil {
		if welcome.Session != s.id {
			s.lose(errSessionNotFound)
			return errSessionNotFound
		}
		if !s.fence.extend(sent) {
			s.lose(runtime.ErrKilledLease)
			return runtime.ErrKilledLease
		}
		s.clocked(sent, welcome.LeaseNow)
		s.mu.Lock()
		s.leader = welcome.Leader
		s.reconnectedLocked()
		s.mu.Unlock()
		w.cfg.OnSession(Held{Session: s.id, TTL: s.ttl, Sent: sent})
		w.log.Info("session resumed", "session", s.id, "leader", welcome.Leader)
		return nil
	}
	if welcome.TTL < minTTL || welcome.TTL > maxTTL {
		return fmt.Errorf("%w: session TTL of %d ms", stream.ErrBadFrame, welcome.TTL)
	}
	s = newSession(w.life, w, welcome, sent)
	w.setCurrent(s)
	w.cfg.OnSession(Held{Session: s.id, TTL: s.ttl, Sent: sent})
	w.wg.Go(s.watch)
	w.log.Info("session opened", "session", s.id, "leader", welcome.Leader, "ttl", s.ttl)
	return nil
}

// minTTL is the shortest TTL, in ms, that a worker takes part in: below it, its margins are within scheduling noise.
const minTTL task.Millis = 100

// maxTTL is far above any TTL that makes sense, and far below one that overflows a time.Duration.
const maxTTL task.Millis = 7 * 24 * 3600 * 1000
