package lead

import (
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// tellSuspects tells workers what they need to know of suspects, which run alone (SPEC L5). A worker that can start processes for them is told when
// suspects begin or cease to wait. Once such a process is there, it is told which modules to make ready. While there are no suspects, this costs
// nothing.
func (l *loop) tellSuspects(m *task.Machine) {
	all := m.SuspectModules()
	for id, w := range l.streams {
		if !w.alone && !w.isolates || len(all)+len(w.suspects) == 0 {
			continue
		}
		modules := all
		if s := m.Session(id); s == nil || m.Drained(s.Node) {
			modules = nil // nothing is assigned to this session
		}
		if slices.Equal(modules, w.suspects) {
			continue
		}
		waited := len(w.suspects) > 0
		w.suspects = modules
		switch wait := len(modules) > 0; {
		case w.alone:
			l.prepareSuspects(m, w)
		case wait != waited:
			w.send(stream.Frame{Suspects: &stream.Suspects{Wait: wait}})
		}
	}
}

// prepareSuspects tells a worker that is alone which modules it may have to run. It need not spend time on other modules.
func (l *loop) prepareSuspects(m *task.Machine, w *workerStream) {
	var mods []stream.Module
	for _, digest := range w.suspects {
		if mod := m.Module(digest); mod != nil && !w.ready[digest] {
			mods = append(mods, stream.Module{Digest: mod.Digest, Size: mod.Size})
		}
	}
	if len(mods) > 0 {
		w.send(stream.Frame{Prepare: mods})
	}
}

// maxCrashTokens bounds what a Crash puts into the log. No worker executes so many attempts.
const maxCrashTokens = 1 << 16

// crashed ends the session of a worker whose parent saw it die, and answers the parent.
func (t *term) crashed(conn *stream.Conn, c task.CrashSession) {
	if max(len(c.Worker), len(c.Proof)) > maxHelloText || len(c.Tokens) > maxCrashTokens {
		refuse(conn, stream.Refused{Code: string(task.InvalidCommand), Message: "worker, proof or tokens too long"})
		return
	}
	rs, err := t.hub.cfg.Store.ProposeLocal(t.ctx, c)
	switch {
	case err != nil:
		t.hub.refuseNotLeader(conn) // or the queue is full: the parent tries again in either case
	case rs[0].Code != task.OK:
		refuse(conn, stream.Refused{Code: string(rs[0].Code), Message: rs[0].Message})
	default:
		t.hub.cfg.Logger.Info("a worker died", "worker", c.Worker, "executing", len(c.Tokens))
		lastFrame(conn, stream.Frame{Goodbye: &stream.Goodbye{}})
	}
}
