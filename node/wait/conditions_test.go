package wait

import (
	"slices"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/nodetest"
	"github.com/taskrt/taskrt/task"
)

// TestEveryConditionAtEveryTransition: a wait begins in a state, and a transition follows. The table says which waits
// it ends (SPEC W1, T1).
func TestEveryConditionAtEveryTransition(t *testing.T) {
	const prevRev, nextRev = 10, 11
	at := func(st task.Status, notBefore task.Time, attempt int64, version, code string) task.Task {
		r := *rec(0, st, notBefore, attempt)
		r.Version = version
		if code != "" {
			r.Error = &task.Error{Code: code}
		}
		return r
	}
	created := at(task.Created, 5, 0, "", "")
	first := at(task.Running, 0, 1, "v", "")
	second := at(task.Running, 0, 2, "v", "")
	lost := at(task.Created, 5, 1, "v", "")
	retrying := at(task.Failure, 9, 1, "v", "APP")
	repeating := at(task.Success, 9, 1, "", "")
	failedRepeat := at(task.Failure, 9, 1, "", "APP")
	success, failure := at(task.Success, 0, 1, "", ""), at(task.Failure, 0, 1, "", "APP")
	cancelled := at(task.Failure, 0, 1, "", task.CodeCancelled)
	all := []string{"final", "running", "waiting", "success", "failure", "outcome", "rev:11", "rev:12", "attempt:1", "attempt:2"}
	for name, c := range map[string]struct {
		prev, next task.Task
		ends       []string // of the waits that prev does not end at once
	}{
		"leased":               {created, first, []string{"running", "rev:11"}},
		"moved":                {created, created, []string{"rev:11"}},
		"cancelled at once":    {created, cancelled, all},
		"lost or given back":   {first, lost, []string{"waiting", "rev:11", "attempt:1"}},
		"asked to cancel":      {first, first, []string{"rev:11"}},
		"fails, is retried":    {first, retrying, []string{"waiting", "failure", "rev:11", "attempt:1"}},
		"succeeds, repeats":    {first, repeating, []string{"waiting", "success", "outcome", "rev:11", "attempt:1"}},
		"fails, repeats":       {first, failedRepeat, []string{"waiting", "failure", "outcome", "rev:11", "attempt:1"}},
		"succeeds":             {first, success, all},
		"fails":                {first, failure, all},
		"retried":              {retrying, second, []string{"running", "rev:11", "attempt:1"}},
		"retry moved":          {retrying, retrying, []string{"rev:11"}},
		"retry re-pinned":      {retrying, failedRepeat, []string{"rev:11"}},
		"repeat begins":        {repeating, second, []string{"running", "rev:11", "attempt:1"}},
		"repeat moved":         {repeating, repeating, []string{"rev:11"}},
		"repeat cancelled":     {repeating, cancelled, all},
		"retry cancelled":      {retrying, cancelled, all},
		"lost one leased anew": {lost, second, []string{"running", "rev:11", "attempt:1"}},
	} {
		c.prev.Rev, c.next.Rev = prevRev, nextRev
		for _, text := range all {
			inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
				until, err := api.ParseUntil(text)
				if err != nil {
					t.Fatal(err)
				}
				w := d.Task(key, until, 0)
				defer w.Stop()
				w.Start(&c.prev, 0)
				if ended(w) {
					return // the first state was enough
				}
				s.Send(replaced(&c.prev, &c.next))
				if got := ended(w); got != slices.Contains(c.ends, text) {
					t.Errorf("%s, until %s: ended %v", name, text, got)
				}
			})
		}
	}
}

// TestOutcomesSinceARevAreFoundInThePast: a client asks for a wait that names a rev in slices, at any node. An outcome
// between two slices counts. A move of the next run does not count (SPEC W1).
func TestOutcomesSinceARevAreFoundInThePast(t *testing.T) {
	run, repeat, moved := rec(2, task.Running, 0, 1), rec(3, task.Success, 9, 1), rec(4, task.Success, 10, 1)
	again, failed, third := rec(5, task.Running, 0, 2), rec(6, task.Failure, 9, 2), rec(7, task.Running, 0, 3)
	failed.Version, third.Version = "v", "v"
	versions := []*task.Task{rec(1, task.Created, 1, 0), run, repeat, moved, again, failed, third}
	for _, c := range []struct {
		until     string
		since     uint64
		now, want uint64 // revs; with want 0 the wait goes on
	}{
		{"success", 1, 3, 3},
		{"success", 2, 7, 3},
		{"success", 3, 4, 0}, // moved, which is no new outcome
		{"success", 3, 7, 0},
		{"failure", 1, 7, 6},
		{"failure", 6, 7, 0},
		{"outcome", 2, 7, 3},
		{"outcome", 3, 7, 0},
		{"final", 1, 7, 0},
		{"running", 1, 6, 0},
	} {
		// The events come before the wait, or between its registration and its read, or after its read.
		for _, when := range []string{"before", "between", "after"} {
			inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
				send := func() {
					for i, v := range versions[:c.now] {
						if i > 0 {
							s.Send(replaced(versions[i-1], v))
						}
					}
				}
				if when == "before" {
					send()
				}
				until, _ := api.ParseUntil(c.until)
				w := d.Task(key, until, c.since)
				defer w.Stop()
				if when == "between" {
					send()
				}
				w.Start(versions[c.now-1], 0)
				if when == "after" {
					if d.changes.Restart(0); !ended(w) {
						send()
					}
				}
				got := uint64(0)
				if ended(w) {
					last, _, _ := w.Outcome()
					got = last.Rev
				}
				if got != c.want {
					t.Errorf("until %s since %d at rev %d, events %s: ended with %d, want %d", c.until, c.since, c.now, when, got, c.want)
				}
			})
		}
	}
}

// TestMissedVersionsAreMadeUpFor: after missed events the record's history tells what happened.
func TestMissedVersionsAreMadeUpFor(t *testing.T) {
	began := rec(2, task.Running, 0, 1)
	after := rec(9, task.Running, 0, 3)
	after.History = []task.Attempt{
		{Number: 1, FinishedAt: 1, Outcome: "SUCCESS"}, {Number: 2, FinishedAt: 2, Outcome: "APP"}, {Number: 3},
	}
	lost := rec(9, task.Running, 0, 2)
	lost.History = []task.Attempt{{Number: 1, FinishedAt: 1, Outcome: "LOST"}, {Number: 2}}
	for _, c := range []struct {
		until string
		now   *task.Task
		want  bool
	}{
		{"success", after, true}, {"failure", after, true}, {"outcome", after, true}, {"running", after, true}, {"final", after, false},
		{"success", lost, false}, {"failure", lost, false}, {"outcome", lost, false}, {"attempt:1", lost, true},
		{"waiting", lost, true}, {"waiting", rec(9, task.Running, 0, 1), false},
	} {
		inDispatcher(t, func(d *Dispatcher, _ *nodetest.Script) {
			until, _ := api.ParseUntil(c.until)
			w := d.Task(key, until, 0)
			defer w.Stop()
			if c.until == "running" {
				w.Start(rec(2, task.Created, 1, 1), 0)
			} else {
				w.Start(began, 0)
			}
			w.see(version{task: c.now})
			if got := ended(w); got != c.want {
				t.Errorf("until %s: ended %v", c.until, got)
			}
		})
	}
}
