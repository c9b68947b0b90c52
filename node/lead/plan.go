package lead

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// plan proposes the assignments that are possible now.
func (l *loop) plan() {
	if !l.dirty || l.planning {
		return
	}
	l.dirty = false
	flying := l.express.close()
	if len(l.streams) == 0 && l.acceptors.table.Len() == 0 {
		return
	}
	var assigns []task.Assign
	var sessions []task.Free
	l.term.hub.cfg.Store.Local(func(m *task.Machine) {
		l.tellSuspects(m)
		sessions = l.free(m, flying)
		if free := l.acceptors.table.Free(m, sessions, maxAssign); len(free) > 0 {
			assigns = l.shares.Plan(m, free, maxAssign)
		}
	})
	l.acceptors.table.Planned(assigns, len(assigns) == maxAssign)
	if len(assigns) == 0 {
		l.express.open(slices.DeleteFunc(sessions, func(f task.Free) bool { return l.streams[f.Session].alone })) // a fresh task is no suspect
		return
	}
	cmds := make([]task.Command, len(assigns))
	for i, a := range assigns {
		cmds[i] = a
	}
	l.planning = true
	l.term.wg.Go(func() {
		rs, err := l.term.hub.cfg.Store.ProposeLocal(l.term.ctx, cmds...)
		given := 0
		for _, r := range rs {
			if r.Code == task.OK {
				given++
			}
		}
		if given == 0 {
			// The proposal was refused or has failed as a whole. An event will follow its cause, but do not depend on the event, and do not spin.
			idle.For(l.term.ctx, retryPause)
		}
		if err != nil && l.term.ctx.Err() == nil {
			l.term.hub.cfg.Logger.Debug("assignments were not proposed", "err", err)
		}
		l.do(func() {
			l.planning, l.dirty = false, true
			l.acceptors.landed(assigns, rs, err)
		})
	})
}

// free lists the workers that can take tasks: those that are connected and have credits left beside the assignments under way.
func (l *loop) free(m *task.Machine, flying map[uint64]flight) []task.Free {
	var free []task.Free
	for id, w := range l.streams {
		s, no := l.takes(m, id, w)
		if no != Fits {
			continue
		}
		if f := l.offerOf(s, w, flying); f.Slots+f.Ahead > 0 {
			free = append(free, f)
		}
	}
	slices.SortFunc(free, func(a, b task.Free) int { return cmp.Compare(a.Session, b.Session) })
	return free
}

// takes returns the session of a worker that takes new tasks; or nil, and why it takes none.
func (l *loop) takes(m *task.Machine, id uint64, w *workerStream) (*task.Session, Fit) {
	s := m.Session(id)
	switch {
	case s == nil || w.leaving:
		return nil, Leaving
	case m.Drained(s.Node):
		return nil, Drained
	}
	return s, Fits
}

// offerOf says what a worker can take.
func (l *loop) offerOf(s *task.Session, w *workerStream, flying map[uint64]flight) task.Free {
	slots := w.credits.Free
	if s.Seq > w.credits.Seq {
		slots -= int64(s.Seq - w.credits.Seq)
	}
	slots -= int64(flying[s.ID].all)
	each, ahead := max(0, w.credits.Each), int64(0)
	if s.Seq <= w.pushed { // otherwise the session has assignments whose behaviors the loop has not seen yet
		ahead = max(0, w.credits.Ahead-each*int64(len(w.long)+flying[s.ID].long))
	}
	ready, short := w.ready, w.short
	return task.Free{
		Session: s.ID, Slots: int(slots), Ahead: int(ahead), Each: int(each),
		Ready: func(module, _ string) bool { return ready[module] },
		Short: func(module string, index int32) bool { return short[stream.Behavior{Module: module, Index: index}] },
	}
}
