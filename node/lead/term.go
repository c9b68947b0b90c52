package lead

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// term is what this node does while it leads: one loop, one session queue, the workers' streams.
type term struct {
	hub      *Hub
	number   uint64
	ctx      context.Context
	cancel   context.CancelFunc
	sessions *sessionQueue
	loop     *loop
	wg       sync.WaitGroup
}

func newTerm(h *Hub, number uint64) *term {
	ctx, cancel := context.WithCancel(h.ctx)
	t := &term{hub: h, number: number, ctx: ctx, cancel: cancel, sessions: newSessionQueue(h.cfg.Store.ProposeLocal)}
	t.loop = newLoop(t)
	t.wg.Go(func() { t.sessions.run(ctx) })
	t.wg.Go(t.loop.run)
	t.wg.Go(t.seed)
	for _, f := range h.cfg.Beside {
		t.wg.Go(func() { f(ctx) })
	}
	h.cfg.Store.Accompany(t.loop.express.accompany)
	return t
}

// close ends the term and its streams, and waits for the term's own goroutines. The streams' goroutines belong to the
// hub.
func (t *term) close() {
	t.hub.cfg.Store.Accompany(nil)
	t.cancel()
	t.wg.Wait()
}

// decide proposes again until the leader's queue has room.
func (t *term) decide(cmds ...task.Command) ([]task.Result, error) {
	rs, err := t.hub.cfg.Store.ProposeLocal(t.ctx, cmds...)
	for retriable(err) && idle.For(t.ctx, overloadPause) {
		rs, err = t.hub.cfg.Store.ProposeLocal(t.ctx, cmds...)
	}
	return rs, err
}

// serve speaks with one worker until its stream or the term ends.
func (t *term) serve(conn *stream.Conn, hello *stream.Hello) {
	defer context.AfterFunc(t.ctx, func() { _ = conn.Close() })()
	log := t.hub.cfg.Logger.With("worker", hello.Worker)
	sess, err := t.admit(hello)
	if err != nil {
		if r, ok := errors.AsType[*refusal](err); ok {
			log.Info("refused a worker", "code", r.Code, "reason", r.Message)
			refuse(conn, stream.Refused(*r))
		} else {
			t.hub.refuseNotLeader(conn)
		}
		return
	}
	resumed := hello.Session != 0
	log = log.With("session", sess.ID)
	log.Info("worker connected", "resumed", resumed, "slots", hello.Slots, "held", len(hello.Held))
	ttl := sess.TTL
	welcome := &stream.Welcome{Session: sess.ID, TTL: ttl, Resumed: resumed, Leader: t.hub.cfg.ID}
	t.hub.cfg.Store.Local(func(m *task.Machine) { welcome.LeaseNow = m.LeaseNow() })
	err = conn.Send(stream.Frame{Welcome: welcome})
	if err != nil {
		return
	}
	w := newWorkerStream(t, conn, sess.ID, hello)
	w.log = log
	if !t.loop.do(func() { t.loop.attach(w, hello.Held) }) {
		return
	}
	err = w.read()
	log.Info("worker disconnected", "err", err)
	t.loop.do(func() { t.loop.detach(w) })
}

// maxHelloText bounds the texts of a Hello, which go into the log and into every record of an attempt.
const maxHelloText = 256

// refusal is the reason why a Hello is refused, as an error.
type refusal stream.Refused

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

// admit opens a session, or renews the session that the worker still holds (SPEC L2, L6). A session goes on only with
// its proof. A worker that only knows the session's number gets nothing.
func (t *term) admit(hello *stream.Hello) (*task.Session, error) {
	if hello.Worker == "" || hello.Slots < 0 || hello.Leases < 0 || len(hello.Proof) == 0 {
		return nil, &refusal{Code: string(task.InvalidCommand), Message: "worker, slots or proof missing"}
	}
	if hello.Alone && max(hello.Slots, hello.Leases) > 1 {
		return nil, &refusal{Code: string(task.InvalidCommand), Message: "a worker that is alone has one slot"}
	}
	if max(len(hello.Worker), len(hello.Node), len(hello.Proof)) > maxHelloText {
		return nil, &refusal{Code: string(task.InvalidCommand), Message: "worker, node or proof too long"}
	}
	var cmd task.Command = task.OpenSession{
		Worker: hello.Worker, Node: hello.Node, Slots: max(hello.Slots, hello.Leases), Runs: hello.Slots, TTL: task.Millis(t.hub.cfg.TTL.Milliseconds()), Proof: hello.Proof,
		Hello: hello.N, Alone: hello.Alone, Isolates: hello.Isolates,
	}
	if hello.Session != 0 {
		var s *task.Session
		t.hub.cfg.Store.Local(func(m *task.Machine) { s = m.Session(hello.Session) })
		if s == nil || s.Worker != hello.Worker || !bytes.Equal(s.Proof, hello.Proof) {
			return nil, &refusal{Code: string(task.SessionNotFound), Message: "the session has ended"}
		}
		cmd = task.RenewSession{Session: hello.Session, Acked: hello.Acked}
	}
	r, err := t.sessions.do(t.ctx, cmd)
	if err != nil {
		return nil, err
	}
	if r.Code != task.OK {
		return nil, &refusal{Code: string(r.Code), Message: r.Message}
	}
	if r.Session != nil {
		return r.Session, nil
	}
	var s *task.Session
	t.hub.cfg.Store.Local(func(m *task.Machine) { s = m.Session(hello.Session) })
	if s == nil {
		return nil, &refusal{Code: string(task.SessionNotFound), Message: "the session has ended"}
	}
	return s, nil
}
