package lead

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// workerStream is one worker's connection. The fields below "loop" belong to the leader loop's goroutine.
type workerStream struct {
	term    *term
	conn    *stream.Conn
	session uint64
	who     speaker
	reports *reportPump
	asks    *askPump
	log     *slog.Logger
	renews  atomic.Int32 // renewals that are not answered yet

	// loop
	pushed  uint64 // the highest assignment number that this stream has carried
	credits stream.Credits
	ready   map[string]bool        // digests of modules that the worker has compiled
	making  map[string]preparation // how far it is with modules that are not ready, by digest
	short   map[stream.Behavior]bool
	long    []uint64 // numbers of those assignments since the last credits whose behaviors are not short
	leaving bool     // it said Bye: it wishes its session to end

	alone, isolates bool     // as its session says (SPEC L5)
	suspects        []string // modules of suspects that it was told of

	wall *stream.Wall // around its guests; nil: none
}

func newWorkerStream(t *term, conn *stream.Conn, session uint64, hello *stream.Hello) *workerStream {
	w := &workerStream{
		term: t, conn: conn, session: session, log: t.hub.cfg.Logger,
		credits: stream.Credits{Seq: hello.Acked, Free: hello.Credits},
		wall:    boundedWall(hello.Wall), ready: map[string]bool{}, making: map[string]preparation{}, short: map[stream.Behavior]bool{},
	}
	w.ready, _ = withReady(w.ready, hello.Ready)
	w.who = speaker{session, hello.Worker}
	w.reports = newReportPump(t, w.who, w.send, w.refuse)
	w.asks = &askPump{w: w}
	return w
}

// send queues a frame. Its error needs no answer: the stream ends by itself.
func (w *workerStream) send(f stream.Frame) { _ = w.conn.Send(f) }

// read handles the worker's frames until the stream ends. It never waits for a proposal: a renewal must count as
// received as soon as it is there (SPEC L4).
func (w *workerStream) read() error {
	for {
		f, err := w.conn.Recv()
		if err != nil {
			return err
		}
		switch {
		case f.Renew != nil:
			if w.renews.Add(1) > maxRenewals {
				return errTooManyReports
			}
			w.renew(f.Renew)
		case len(f.Reports) > 0:
			if !w.reports.add(f.Reports) {
				return errTooManyReports
			}
		case len(f.Ready) > 0:
			w.term.loop.do(func() { w.term.loop.setReady(w, f.Ready) })
		case len(f.Unready) > 0:
			w.term.loop.do(func() { w.note(f.Unready) })
		case len(f.Pace) > 0:
			w.term.loop.do(func() { w.term.loop.setPace(w, f.Pace) })
		case f.Credits != nil:
			w.term.loop.do(func() { w.term.loop.setCredits(w, *f.Credits) })
		case len(f.Logs) > 0:
			own, err := w.who.mayLog(w.term.hub.cfg.Store, f.Logs)
			if err != nil {
				w.refuse(err)
				return err
			}
			if len(own) > 0 {
				w.term.hub.keepLogs(own)
			}
		case len(f.Progress) > 0:
			w.progress(f.Progress)
		case f.Ask != nil:
			w.asks.add(*f.Ask)
		case f.Bye != nil:
			return w.bye()
		default:
			return errUnexpectedFrame
		}
	}
}

// refuse ends the stream of a worker that speaks for attempts of others, and counts it. What came before is carried out
// or lost, as if the connection had broken.
func (w *workerStream) refuse(breach error) {
	w.term.hub.refused.TellOf(w.who.worker, breach)
	_ = w.conn.Close()
}

// isShort reports whether the worker takes assignments of a behavior ahead of its slots.
func (w *workerStream) isShort(module string, index int32) bool {
	return w.short[stream.Behavior{Module: module, Index: index}]
}

// progress tells the watchers what progress is on its way to the log (SPEC W3).
func (w *workerStream) progress(ps []stream.Progress) {
	ls := make([]watch.Live, 0, len(ps))
	for _, p := range ps {
		if p.Progress.Encoding == task.JSON && soundPayload(&p.Progress) {
			ls = append(ls, watch.Live{Key: p.Key, Session: w.session, Token: p.Token, Progress: p.Progress})
		}
	}
	w.term.hub.cfg.Progress(ls)
}

var (
	errUnexpectedFrame = errors.New("a frame that workers do not send")
	errTooManyReports  = errors.New("too many unanswered reports or renewals")
)

// maxRenewals bounds the unanswered renewals of one stream. A worker leaves a leader that does not answer a renewal.
const maxRenewals = 16

// renew proposes a renewal and answers it once it is committed. The answer says what the worker should stop or cancel,
// in case the push of it was lost (SPEC L2, L8).
func (w *workerStream) renew(r *stream.Renew) {
	w.term.sessions.add(task.RenewSession{Session: w.session, Acked: r.Acked}, func(res task.Result, err error) {
		w.renews.Add(-1)
		switch {
		case err != nil:
			// The term ends, or the outcome is unknown: an unanswered renewal extends nothing on the worker's side.
		case res.Code != task.OK:
			w.send(stream.Frame{NotFound: true})
		default:
			w.answerRenewal(r)
		}
	})
}

func (w *workerStream) answerRenewal(r *stream.Renew) {
	answer := &stream.Renewed{N: r.N}
	held := make(map[uint64]bool, len(r.Held))
	for _, token := range r.Held {
		held[token] = true
	}
	var lost []*task.Task
	w.term.hub.cfg.Store.Local(func(m *task.Machine) {
		answer.LeaseNow = m.LeaseNow()
		current := map[uint64]bool{}
		for _, t := range m.Leases(w.session) {
			current[t.Lease.Token] = true
			switch {
			case !held[t.Lease.Token] && t.Lease.Seq <= r.Acked:
				lost = append(lost, t) // it was received and is not held any longer: it is pushed again (L2)
			case held[t.Lease.Token] && t.CancelCode != "":
				answer.Cancel = append(answer.Cancel, t.Lease.Token)
			}
		}
		for _, token := range r.Held {
			if !current[token] {
				answer.Halt = append(answer.Halt, token)
			}
		}
	})
	w.send(stream.Frame{Renewed: answer})
	if len(lost) > 0 {
		w.log.Warn("worker lost assignments, pushing them again", "count", len(lost))
		w.term.loop.do(func() { w.term.loop.pushAgain(w, lost) })
	}
}

// bye ends the session as the worker wishes. It does so after the worker's reports, so that no work that is done runs again (SPEC R3).
func (w *workerStream) bye() error {
	t := w.term
	w.reports.wait()
	if !t.loop.do(func() { w.leaving, t.loop.dirty = true, true }) {
		return nil
	}
	r, err := t.sessions.do(t.ctx, task.CloseSession{Session: w.session})
	if err != nil {
		return err
	}
	if r.Code != task.OK && r.Code != task.SessionNotFound {
		return errors.New(string(r.Code))
	}
	lastFrame(w.conn, stream.Frame{Goodbye: &stream.Goodbye{}})
	return nil
}
