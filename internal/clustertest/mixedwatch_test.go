package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

// wait is somebody who waits for a task until a condition holds. It waits at one node after the other (SPEC W1, W2).
type wait struct {
	m         *mixed
	id, until string
	other     string // until "many" waits for this task, too
	rng       *rand.Rand
	since     uint64
}

func (w *wait) run() {
	o := api.GetOptions{Wait: 20 * time.Second, Until: w.until}
	many := w.until == "many"
	if many {
		w.other = w.m.another(w.id)
	}
	if many || w.until == "rev" {
		o.Until = "final"
	}
	for rounds := 0; ; {
		var t *api.Task
		var from uint64
		_, err := w.m.call(w.rng, fmt.Sprintf("wait for %s until %s", w.id, w.until), func(ctx context.Context, n *node.Node) (err error) {
			n.Store().Local(func(m *task.Machine) { from = m.Rev() })
			if many {
				t, err = w.anyOf(ctx, n)
				return err
			}
			t, err = n.Task(ctx, "", w.id, o)
			return err
		})
		if err != nil {
			w.gone(err)
			return
		}
		if w.over(t, o, from) {
			return
		}
		time.Sleep(10 * time.Millisecond) // an answer that came at once must not stop the clock
		if w.until == "rev" {
			o.Until = fmt.Sprintf("rev:%d", t.Rev+uint64(1+w.rng.IntN(100)))
		}
		if w.since == 0 {
			w.since = t.Rev
			o.Since = t.Rev
		}
		if closed(w.m.done) {
			if rounds++; rounds > 2 {
				w.m.errorf("waiting for %s until %s does not end: %s", w.id, o.Until, Show(t))
				return
			}
		}
	}
}

// anyOf waits for this task or another one.
func (w *wait) anyOf(ctx context.Context, n *node.Node) (*api.Task, error) {
	q := api.WaitRequest{IDs: []string{w.id}, Mode: "any", Timeout: new(api.Duration(20 * time.Second))}
	if w.other != "" {
		q.IDs = append(q.IDs, w.other)
	}
	if w.rng.IntN(2) == 0 {
		q.Mode = "all"
	}
	reply, err := n.WaitTasks(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(reply.Tasks) != len(q.IDs) {
		w.m.errorf("the wait for %v was answered with %d tasks", q.IDs, len(reply.Tasks))
	}
	if reply.Tasks[0] == nil {
		return nil, api.NewError(api.CodeRemoved, "it is gone")
	}
	return reply.Tasks[0], nil
}

// another returns a task that was accepted, or "" if there is none yet.
func (m *mixed) another(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, o := range m.owned {
		if other != id && o.accepted.Load() {
			return other
		}
	}
	return ""
}

// gone checks that the task may be gone.
func (w *wait) gone(err error) {
	vanishes := w.m.own(w.id).vanishes.Load() || w.other != "" && w.m.own(w.other).vanishes.Load()
	if code := api.CodeOf(err); vanishes && (code == api.CodeRemoved || code == api.CodeTaskNotFound) {
		w.m.count("waits that ended with a removal")
		return
	}
	w.m.mayFail("wait for "+w.id, err)
}

// over checks an answer, and reports whether the wait is over. from is a rev from before the call.
func (w *wait) over(t *api.Task, o api.GetOptions, from uint64) bool {
	if v, ok := w.m.c.Audit.Version(t.Rev); ok && (v.Task.ID != t.ID || v.Task.Status.String() != t.Status || v.Task.Final() != t.Final) {
		w.m.errorf("waiting for %s was answered %s, and rev %d is %+v", w.id, Show(t), t.Rev, v.Task)
	}
	switch o.Until {
	case "final":
	case "running":
		if t.Status == "RUNNING" {
			w.m.count("waits")
			return true
		}
	case "waiting":
		if t.Status != "RUNNING" {
			w.m.count("waits")
			return true
		}
	case "attempt:2":
		if t.Attempt > 2 || t.Attempt == 2 && t.Status != "RUNNING" {
			w.m.count("waits")
			return true
		}
	case "success", "failure", "outcome":
		if o.Since > 0 {
			if t.Rev > o.Since && outcomeIs(t.Status, t.Version, o.Until) {
				w.m.count("waits for outcomes")
				return true
			}
			w.missed(t, o, from)
		}
	default: // rev:N
		if t.Rev >= o.Since && o.Since > 0 {
			w.m.count("waits")
		}
	}
	if t.Final {
		w.m.count("waits")
	}
	return t.Final
}

// outcomeIs reports whether until waits for a state with an outcome. A failure that keeps its version is retried, and
// it is no outcome of the cycle.
func outcomeIs(status, version, until string) bool {
	switch until {
	case "success":
		return status == "SUCCESS"
	case "failure":
		return status == "FAILURE"
	}
	return status == "SUCCESS" || status == "FAILURE" && version == ""
}

// missed looks for an outcome that should have ended the wait, because it came after the wait had begun. A node that
// took over a snapshot has not seen it.
func (w *wait) missed(t *api.Task, o api.GetOptions, from uint64) {
	if w.m.s.compact {
		return
	}
	for _, v := range w.m.c.Audit.Between(max(from, o.Since), t.Rev) {
		if v.Task.ID != w.id || v.Removed || v.Prev == nil || v.Prev.Status != task.Running || !outcomeIs(v.Task.Status.String(), v.Task.Version, o.Until) {
			continue
		}
		w.m.errorf("waiting for %s until %s since %d, begun at %d, was answered %s, and %+v was missed (SPEC W1)", w.id, o.Until, o.Since, from, Show(t), v.Task)
		return
	}
}

// subscriber follows events. It moves between nodes and keeps its position (SPEC W3).
type subscriber struct {
	m          *mixed
	name       string
	filter     api.EventsRequest
	rng        *rand.Rand
	begun      bool
	begin, end uint64         // it asked for events with begin < rev ≤ end
	last       uint64         // its position
	seen       map[uint64]int // by rev
	voided     uint64         // 0, or the position of a reset whose states have not all been told
	voids      [][2]uint64    // resets cover these: low < rev ≤ high
}

func (m *mixed) subscribers() {
	rng := rand.New(rand.NewPCG(m.s.seed, 14))
	for i, f := range []api.EventsRequest{{}, {Behavior: "ext"}, {Status: "SUCCESS"}} {
		s := &subscriber{m: m, name: fmt.Sprintf("subscriber %d", i), filter: f, rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), seen: map[uint64]int{}}
		m.start(s.run)
	}
}

func (s *subscriber) run() {
	for !s.complete() {
		n := s.m.c.Members[s.rng.IntN(nodes)].up()
		if n == nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		q := s.filter
		q.HasAfter, q.After = s.begun, s.last
		ctx, cancel := s.m.c.Context(10 * time.Second)
		stream, err := n.Events(ctx, q)
		cancel()
		if err != nil {
			s.m.mayFail(s.name, err, api.CodeNotReady, api.CodeNoLeader, api.CodeOverloaded)
			time.Sleep(500 * time.Millisecond)
			continue
		}
		if !s.begun {
			s.begun, s.begin, s.last = true, stream.Position(), stream.Position()
		}
		s.follow(stream)
		stream.Close()
		if s.rng.IntN(2) == 0 { // it misses something
			time.Sleep(time.Duration(s.rng.IntN(8000)) * time.Millisecond)
		}
	}
	s.check()
}

// complete reports whether everything has been told. It fixes the end when all tasks are final.
func (s *subscriber) complete() bool {
	if !closed(s.m.done) || s.m.c.t.Context().Err() != nil {
		return s.m.c.t.Context().Err() != nil
	}
	if s.end == 0 {
		_, err := s.m.call(s.rng, "read the rev", func(ctx context.Context, n *node.Node) error {
			return n.Store().Read(ctx, func(m *task.Machine) { s.end = m.Rev() })
		})
		s.m.mayFail("read the rev", err)
	}
	return s.last >= s.end && s.voided == 0
}

// follow takes events from one node for a while.
func (s *subscriber) follow(stream api.EventStream) {
	for until := time.Now().Add(s.stay()); time.Now().Before(until) && !s.complete(); {
		ctx, cancel := s.m.c.Context(min(time.Until(until), 2*time.Second))
		e, err := stream.Next(ctx)
		ended := ctx.Err() != nil
		cancel()
		if err != nil && !ended {
			s.m.note("%s: %v", s.name, err)
			return
		}
		if err == nil {
			s.take(&e)
		}
		if at := stream.Position(); at > s.last {
			s.last = at
		}
	}
}

func (s *subscriber) stay() time.Duration {
	return time.Duration(1000+s.rng.IntN(20_000)) * time.Millisecond
}

func (s *subscriber) take(e *api.Event) {
	if e.Kind == api.EventReset {
		s.m.count("resets")
		if s.voided == 0 {
			s.voided = s.last + 1
		}
		s.last = 0
	}
	if e.Rev == 0 {
		return
	}
	if e.Rev <= s.last {
		s.m.errorf("%s: %s with ID %d after %d: %s (SPEC W3)", s.name, e.Kind, e.Rev, s.last, e.Data)
	}
	s.last = e.Rev
	if s.voided != 0 {
		s.voids = append(s.voids, [2]uint64{s.voided - 1, e.Rev})
		s.voided = 0
		return
	}
	s.seen[e.Rev]++
	var d struct {
		Task *api.Task `json:"task"`
		ID   string    `json:"id"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		s.m.errorf("%s: %s: %v", s.name, e.Data, err)
		return
	}
	v, ok := s.m.c.Audit.Version(e.Rev)
	switch {
	case !ok:
	case e.Kind == api.EventRemoved && (!v.Removed || d.ID != v.Task.ID),
		e.Kind == api.EventTask && (d.Task.ID != v.Task.ID || d.Task.Rev != e.Rev || d.Task.Status != v.Task.Status.String() || d.Task.Final != v.Task.Final()):
		s.m.errorf("%s was told %s, and rev %d is %+v", s.name, e.Data, e.Rev, v.Task)
	}
}

// check: every final state and every removal was told once (SPEC W3).
func (s *subscriber) check() {
	for _, v := range s.m.c.Audit.Between(s.begin, s.end) {
		rev := v.Task.Rev
		if v.Removed || !v.Task.Final() || s.filter.Behavior != "" && s.filter.Behavior != v.Task.Behavior ||
			s.filter.Status != "" && s.filter.Status != v.Task.Status.String() {
			continue
		}
		void := slices.ContainsFunc(s.voids, func(x [2]uint64) bool { return x[0] < rev && rev <= x[1] })
		if n := s.seen[rev]; n > 1 || n == 0 && !void {
			s.m.errorf("%s was told %d times of rev %d (SPEC W3): %+v; it has %d..%d without %v", s.name, n, rev, v.Task, s.begin, s.end, s.voids)
		}
		s.m.count("final states told")
	}
}
