package lead

import (
	"math"
	"slices"

	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// attach takes in a stream. What the worker does not hold is pushed again, and what it should not hold is halted (SPEC
// L2).
func (l *loop) attach(w *workerStream, heldTokens []uint64) {
	if old := l.streams[w.session]; old != nil {
		_ = old.conn.Close()
	}
	held := make(map[uint64]bool, len(heldTokens))
	for _, t := range heldTokens {
		held[t] = true
	}
	var missing []*task.Task
	var cancel, halt []uint64
	var session *task.Session
	current := map[uint64]bool{}
	l.term.hub.cfg.Store.Local(func(m *task.Machine) {
		if session = m.Session(w.session); session == nil {
			return
		}
		w.pushed = session.Seq // later assignments come as events
		for _, t := range m.Leases(w.session) {
			current[t.Lease.Token] = true
			if !held[t.Lease.Token] {
				missing = append(missing, t)
			} else if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
	})
	if session == nil {
		w.send(stream.Frame{NotFound: true})
		return
	}
	for _, t := range heldTokens {
		if !current[t] {
			halt = append(halt, t)
		}
	}
	l.streams[w.session] = w
	l.dirty = true
	w.alone, w.isolates = session.Alone, session.Isolates
	if len(halt) > 0 {
		w.send(stream.Frame{Halt: halt})
	}
	if len(cancel) > 0 {
		w.send(stream.Frame{Cancel: cancel})
	}
	l.prepare(w)
	l.sendAssign(w, missing)
}

func (l *loop) detach(w *workerStream) {
	if l.streams[w.session] == w {
		delete(l.streams, w.session)
		l.dirty = true // what express offers of it
	}
}

func (l *loop) setCredits(w *workerStream, c stream.Credits) {
	w.credits = c
	w.long = slices.DeleteFunc(w.long, func(seq uint64) bool { return seq <= c.Seq })
	l.dirty = true
}

// push sends those assignments that this stream has not carried yet.
func (l *loop) push(w *workerStream, ts []*task.Task) {
	if l.streams[w.session] != w {
		return
	}
	fresh := ts[:0:0]
	for _, t := range ts {
		if t.Lease != nil && t.Lease.Seq > w.pushed {
			w.pushed = t.Lease.Seq
			fresh = append(fresh, t)
		}
	}
	l.sendAssign(w, fresh)
	l.dirty = l.dirty || len(fresh) > 0 && w.credits.Ahead > 0 // until now, free let the worker take nothing ahead
}

// pushAgain sends assignments that the worker has received and does not hold any longer.
func (l *loop) pushAgain(w *workerStream, ts []*task.Task) {
	if l.streams[w.session] == w {
		l.sendAssign(w, ts)
	}
}

// sendAssign sends leases with the policy and the module of their pinned versions.
func (l *loop) sendAssign(w *workerStream, ts []*task.Task) {
	if len(ts) == 0 {
		return
	}
	as := make([]stream.Assignment, 0, len(ts))
	var cancel []uint64
	l.term.hub.cfg.Store.Local(func(m *task.Machine) {
		for _, t := range ts {
			v := m.Version(t.Namespace, t.Behavior, t.Version) // also of a deleted behavior: what runs goes on (SPEC B8)
			if v == nil && m.Task(t.Key()) == nil {
				continue // the task has been removed since, and was the last of a deleted behavior, which went with it
			}
			if v == nil {
				w.log.Error("a leased task has no version to run", "task", t.ID, "version", t.Version)
				continue
			}
			if t.Lease.Seq > w.credits.Seq && !w.isShort(v.Module, v.Policy.Index) {
				w.long = append(w.long, t.Lease.Seq)
			}
			a := stream.Assignment{Task: view.WithParams(m, t), Policy: &v.Policy, Module: stream.Module{Digest: v.Module}}
			if mod := m.Module(v.Module); mod != nil {
				a.Module.Size = mod.Size
			}
			as = append(as, a)
			if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
	})
	if len(as) > 0 {
		w.send(stream.Frame{Assign: as})
	}
	if len(cancel) > 0 {
		w.send(stream.Frame{Cancel: cancel})
	}
}

// prepare tells a worker which modules it will need: the modules of active versions, and of versions that tasks are
// pinned to. A worker that is alone runs only suspects, and tellSuspects tells it of their modules.
func (l *loop) prepare(w *workerStream) {
	if w.alone {
		return
	}
	var mods []stream.Module
	l.term.hub.cfg.Store.Local(func(m *task.Machine) {
		seen := map[string]bool{}
		for _, b := range m.BehaviorsAfter("", "", math.MaxInt) {
			for i := range b.Versions {
				v := &b.Versions[i]
				if b.Deleted || (v.Version != b.Active && v.Pinned == 0) || w.ready[v.Module] || seen[v.Module] {
					continue
				}
				seen[v.Module] = true
				if mod := m.Module(v.Module); mod != nil {
					mods = append(mods, stream.Module{Digest: mod.Digest, Size: mod.Size})
				}
			}
		}
	})
	if len(mods) > 0 {
		w.send(stream.Frame{Prepare: mods})
	}
}

func (l *loop) prepareAll() {
	for _, w := range l.streams {
		l.prepare(w)
	}
}

// resync starts over after events were missed. Streams of sessions that are gone end. The other workers are told everything again.
func (l *loop) resync() {
	l.dirty = true
	l.express.forget()
	for id, w := range l.streams {
		var ts []*task.Task
		alive := false
		l.term.hub.cfg.Store.Local(func(m *task.Machine) {
			if alive = m.Session(id) != nil; alive {
				ts = m.Leases(id)
			}
		})
		if !alive {
			l.ended(id)
			continue
		}
		var cancel []uint64
		for _, t := range ts {
			if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
		l.push(w, ts)
		if len(cancel) > 0 {
			w.send(stream.Frame{Cancel: cancel})
		}
		l.prepare(w) // the halts that were missed come with the answer to the next renewal
	}
}
