package task

import (
	"github.com/taskrt/taskrt/task/hurdle"
	"github.com/taskrt/taskrt/task/queue"
)

// stops returns the refusal of a task that meets a hurdle. v is what it would run.
func stops(m *Machine, h hurdle.Kind, r *row, v *Version) Result {
	switch b := m.of(r); {
	case h == hurdle.SpaceClosed:
		no, _ := m.accepting(b.namespace)
		return no
	case h == hurdle.SpaceFull && b.space.full():
		return refuse(LimitReached, "as many tasks of the namespace run as its max_running allows")
	case h == hurdle.Paused && b.live() != nil && b.behavior.Paused:
		return refuse(BehaviorPaused, "the behavior is paused")
	case h == hurdle.NoVersion && (v == nil || b.live() == nil || m.version(b, "") == nil):
		return refuse(ModuleMissing, "the behavior has no version to run")
	case h == hurdle.BehaviorFull && b.full():
		return refuse(LimitReached, "as many tasks of the behavior run as its max_concurrent allows")
	case h == hurdle.KeyTaken && (r.Kind == queue.Due && !r.InLane || r.Kind == queue.Future && b.Spare(facts(m.task(r))) <= 0) && m.task(r).Bound == 0:
		return refuse(LimitReached, "the slots of its concurrency key are taken, or meant for tasks before it")
	}
	return Result{}
}

// Waiting says why a task waits (SPEC Q4): the version that it would run, if there is one, the hurdles that it meets, and how many tasks of the same
// behavior and version come before it, up to a limit. If Task is nil, the task does not exist or does not wait.
func Waiting(m *Machine, k Key, most int) (t *Task, runs *Version, meets []hurdle.Kind, before int) {
	r := m.find(k)
	if r == nil || m.task(r).Status == Running || m.task(r).Final() {
		return nil, nil, nil, 0
	}
	t = m.task(r)
	runs = m.version(m.of(r), t.Version)
	for h := range hurdle.Kinds {
		if stops(m, h, r, runs).Code != OK {
			meets = append(meets, h)
		}
	}
	if r.InLane {
		before = m.of(r).Lanes[laneOf(t)].Queue.Before(&m.store.Rows, r, most)
	}
	return t, runs, meets, before
}

// Suits reports whether a session may run a waiting task, also if it is not ready yet. Suspects run alone (SPEC L5), cleanups in their session (SPEC O3).
func Suits(m *Machine, t *Task, s *Session) bool {
	return (t.Bound == 0 || t.Bound == s.ID) && m.fits(t, s)
}
