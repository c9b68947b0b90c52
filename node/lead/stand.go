package lead

import (
	"maps"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// Fit says whether a connected worker can take a waiting task, and why not (SPEC Q4).
type Fit uint8

// The values of Fit. The first that holds counts. A worker that Fits has a free slot for the task.
const (
	Fits     Fit = iota
	Leaving      // its session ends
	Drained      // its node is drained (SPEC L10)
	Unsuited     // it does not run such tasks: a suspect runs alone (SPEC L5), a cleanup in one session (SPEC O3)
	Unready      // its module is not ready (SPEC B3)
	Full         // it has no free slot
)

// Stand is what the leader's loop knows of a waiting task at one moment (SPEC Q4).
type Stand struct {
	Workers   map[Fit][]string // connected workers by name, sorted
	Preparing []Preparation    // of the workers that are Unready and have said how far they are, sorted by name
	Acceptors int              // accepts that wait for tasks of its behavior
	Next      bool             // the next plan gives it away
}

// Look shows the machine, and what the leader's loop knows of a task. It returns false if this node does not lead.
func (h *Hub) Look(k task.Key, show func(*task.Machine, *Stand)) bool {
	t := h.current()
	return t != nil && t.loop.do(func() {
		h.cfg.Store.Local(func(m *task.Machine) { show(m, t.loop.stand(m, k)) })
	})
}

// stand asks about one task and all workers what a plan asks. It also makes a plan that nobody carries out.
func (l *loop) stand(m *task.Machine, k task.Key) *Stand {
	s := &Stand{Workers: map[Fit][]string{}}
	t, runs, _, _ := task.Waiting(m, k, 0)
	if t == nil {
		return s
	}
	flying := l.express.given()
	for id, w := range l.streams {
		fit, name := l.fit(m, t, runs, id, w, flying)
		s.Workers[fit] = append(s.Workers[fit], name)
		if p, said := w.making[moduleOf(runs)]; fit == Unready && said {
			s.Preparing = append(s.Preparing, Preparation{name, p.since, p.Unready})
		}
	}
	slices.SortFunc(s.Preparing, func(a, b Preparation) int { return strings.Compare(a.Worker, b.Worker) })
	for _, names := range s.Workers { // order-free: each is sorted
		slices.Sort(names)
	}
	accepts := l.acceptors.table.Of(t.Namespace, t.Behavior)
	s.Acceptors = len(accepts)
	shares := l.shares // a plan replaces what it remembers, and changes none of it
	s.Next = slices.ContainsFunc(shares.Plan(m, append(l.free(m, flying), accepts...), maxAssign), func(a task.Assign) bool { return a.Key == k })
	return s
}

// fit returns the Fit of a worker and a task that would run the version runs; nil: there is no version.
func (l *loop) fit(m *task.Machine, t *task.Task, runs *task.Version, id uint64, w *workerStream, flying map[uint64]flight) (Fit, string) {
	s, no := l.takes(m, id, w)
	if no != Fits {
		return no, w.who.worker
	}
	f := l.offerOf(s, w, flying)
	if !task.Suits(m, t, s) {
		return Unsuited, w.who.worker
	}
	if runs != nil && !f.Takes(runs) {
		return Unready, w.who.worker
	}
	if slots, all := f.Room(s, s.Running); slots <= 0 && (all <= 0 || runs == nil || !f.Short(runs.Module, runs.Policy.Index)) {
		return Full, w.who.worker
	}
	return Fits, w.who.worker
}

// given returns the assignments that are flying, and leaves the offers as they are.
func (x *express) given() map[uint64]flight {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.flying)
}
