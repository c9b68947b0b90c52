package naive

import (
	"maps"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

var upkeep = task.Key{Namespace: task.SystemNamespace, ID: task.MaintenanceTask}

// runs reports whether token belongs to the run of maintenance that goes on. Other tokens delete nothing (M1).
func (m *Model) runs(token uint64) bool {
	t := m.Tasks[upkeep]
	return token != 0 && t != nil && t.Lease != nil && t.Lease.Token == token
}

// lostRun reports whether the last run of t ended without an outcome, and is to be taken over.
func lostRun(t *task.Task) bool {
	return t.Status == task.Created && len(t.History) > 0 &&
		slices.Contains([]string{"LOST", "SUSPECT", "GIVEN_BACK", "SNOOZED"}, t.History[len(t.History)-1].Outcome)
}

// unfinished returns the run beside which another must not start: a run that is leased, lost, or asked for; 0: none (M1).
func unfinished(t *task.Task) int64 {
	if t.Status == task.Running || lostRun(t) {
		return t.Attempt
	} else if t.NotBefore != 0 && t.Params.Encoding != task.None {
		return t.Attempt + 1
	}
	return 0
}

func (m *Model) startMaintenance(c task.StartMaintenance, got task.Result) task.Result {
	old := m.Tasks[upkeep]
	if old == nil {
		return task.Result{Code: task.TaskNotFound}
	}
	run := unfinished(old)
	switch {
	case c.Supersede != 0 && c.Supersede != run:
		return m.answer(task.RunNotFound, upkeep, got)
	case c.Supersede == 0 && run > old.Attempt && same(c.Params, old.Params): // asked for again
		return m.answer(task.OK, upkeep, got)
	case c.Supersede == 0 && run != 0:
		return m.answer(task.MaintenanceRunning, upkeep, got)
	case m.admit(c.Params) != task.OK:
		return task.Result{Code: m.admit(c.Params)}
	}
	t := *old
	if t.Lease != nil {
		m.Halted[t.Lease.Token] = true
		m.end(&t, "SUPERSEDED")
		t.Status, t.Resubmit, t.CancelCode = task.Created, 0, ""
	} else if lostRun(old) {
		t.History = slices.Clone(t.History)
		t.History[len(t.History)-1].Outcome = "SUPERSEDED"
	}
	again(&t, m.Now, 0)
	t.LostCount, t.Params, t.ConcurrencyKey = 0, c.Params, ""
	m.write(&t)
	r := m.answer(task.OK, upkeep, got)
	r.Changed = true
	return r
}

// follow keeps the records of runs. Each run begins and ends with its lease, whatever the run itself says (M4). t takes the
// place of prev; if t is nil, the task is removed. An outcome removes the params that were for this run.
func (m *Model) follow(prev, t *task.Task) {
	if name(prev) != upkeep {
		return
	}
	n := len(m.Runs) - 1
	if prev.Lease != nil && (t == nil || t.Lease == nil) && n >= 0 && m.Runs[n].FinishedAt == 0 && m.Runs[n].Ended == "" {
		r := &m.Runs[n]
		if t == nil {
			r.Ended = "removed"
		} else if out := t.History[len(t.History)-1].Outcome; t.Status == task.Created || out == "LOST" {
			r.Ended = strings.ToLower(out)
		} else {
			r.FinishedAt, r.Success = int64(m.Now), t.Status == task.Success
		}
	}
	switch {
	case t == nil:
		return
	case prev.Lease == nil && t.Lease != nil:
		for i := range m.Runs {
			if r := &m.Runs[i]; r.Ended != "" && r.By == 0 {
				r.By = t.Attempt
			}
		}
		m.Runs = append(m.Runs, task.MaintenanceRun{Run: t.Attempt, Worker: t.Lease.Worker, StartedAt: int64(t.StartedAt)})
		m.Runs = m.Runs[max(0, len(m.Runs)-50):]
	case lostRun(prev) && !lostRun(t) && n >= 0 && m.Runs[n].Ended != "":
		m.Runs[n].Ended = "superseded"
	}
	outcome := func(t *task.Task) bool { return t.Status >= task.Success }
	if final(t) || outcome(t) && !outcome(prev) {
		t.Params, t.ConcurrencyKey = task.Payload{}, ""
	}
	if v := m.Version(t, ""); final(t) && v != nil && v.Policy.RepeatEvery > 0 { // M1: cancelling a run does not end the schedule
		again(t, m.Now+task.Time(v.Policy.RepeatEvery), 0)
	}
}

// deleted counts in the record of a run what it deletes while it goes on (M4).
func (m *Model) deleted(token uint64, kind, ns string, n int) {
	for i := range m.Runs {
		if r := &m.Runs[i]; r.Token == token && n > 0 {
			os := slices.Clone(r.Objects)
			at := slices.IndexFunc(os, func(o task.ObjectCount) bool { return o.Kind == kind && o.Namespace == ns })
			if at < 0 {
				os, at = append(os, task.ObjectCount{Kind: kind, Namespace: ns}), len(os)
			}
			os[at].Deleted += int64(n)
			r.Objects = os
		}
	}
}

// each counts what a command deletes, in the order of the namespaces.
func (m *Model) each(token uint64, kind string, by map[string]int) {
	for _, ns := range slices.Sorted(maps.Keys(by)) {
		m.deleted(token, kind, ns, by[ns])
	}
}

// recordRun stores what the run says about itself, except what the log knows better.
func (m *Model) recordRun(c task.RecordRun) task.Result {
	if !m.runs(c.Token) {
		return task.Result{Code: task.Halt}
	} else if c.Run.Success && c.Run.FinishedAt == 0 {
		return task.Result{Code: task.InvalidCommand}
	}
	r, t := c.Run, m.Tasks[upkeep]
	r.Run, r.Token, r.Worker, r.StartedAt, r.Ended, r.By = t.Attempt, c.Token, t.Lease.Worker, int64(t.StartedAt), "", 0
	if r.FinishedAt != 0 {
		r.FinishedAt = int64(m.Now)
	}
	m.Runs[len(m.Runs)-1] = r
	return task.Result{Changed: true}
}

// dropTasks deletes final tasks that are still what the run saw (M2).
func (m *Model) dropTasks(c task.DropTasks) (r task.Result) {
	if !m.runs(c.Token) {
		return task.Result{Code: task.Halt}
	}
	by := map[string]int{}
	for _, x := range c.Tasks {
		if t := m.Tasks[x.Key]; t != nil && t.Rev == x.Rev && final(t) && t.Role == task.RoleNone {
			m.remove(x.Key)
			r.Count++
			by[x.Key.Namespace]++
		}
	}
	m.each(c.Token, "task", by)
	return r
}

func (m *Model) dropOperations(c task.DropOperations) (r task.Result) {
	if !m.runs(c.Token) {
		return task.Result{Code: task.Halt}
	}
	by := map[string]int{}
	for _, x := range c.Operations {
		if o := m.operation(x.Key); o != nil && o.Rev == x.Rev && over(o) {
			m.removeOp(x.Key)
			r.Count++
			by[x.Key.Namespace]++
		}
	}
	m.each(c.Token, "operation", by)
	return r
}
