package sim

import "github.com/taskrt/taskrt/task"

// namespace names a namespace, mostly the default one.
func (g *generator) namespace() string {
	other := g.more(onSpaces, 9)
	switch n := g.rng.IntN(100); {
	case n < 5:
		return task.SystemNamespace
	case n < 5+other:
		return g.other()
	case n < 6+other:
		return "no-namespace"
	}
	return ""
}

// other names a namespace that comes and goes, mostly the first.
func (g *generator) other() string {
	if g.percent(60) {
		return others[0]
	}
	return pick(g, others)
}

// space creates a namespace, or changes the settings of one.
func (g *generator) space(r *Run) Op {
	o := Op{Verb: "space", NS: g.other(), Create: g.percent(70)}
	if g.percent(g.more(onSpaces, 5)) {
		o.NS = pick(g, []string{"", "", task.SystemNamespace, "_mine", "x"})
	}
	if r.model.Spaces[o.key().Namespace] != nil && g.percent(60) {
		o.Create = false
	}
	if gone := r.spaces(task.NamespaceIsPurged); len(gone) > 0 && g.percent(40) {
		o.NS, o.Create = pick(g, gone), true
	}
	if g.percent(60) {
		o.Quota = g.quota(r, o.key().Namespace)
	}
	if g.percent(20) {
		o.Retention = &task.Retention{Success: task.Millis(g.rng.Int64N(3)) * 1000, Failure: -1}
	}
	if g.percent(30) {
		o.Share = &task.Share{Weight: g.rng.Int64N(103), MaxRunning: g.rng.Int64N(5) - 1}
	}
	return o
}

// status makes a namespace ACTIVE, INACTIVE or PURGING. The default namespace is INACTIVE only for a short time: see command.
func (g *generator) status(r *Run) Op {
	o := Op{Verb: "status", NS: g.other(), Status: task.NamespaceIsActive}
	switch n := r.model.Spaces[o.NS]; {
	case n != nil && n.Status == task.NamespaceIsActive && g.percent(60):
		o.Status = task.NamespaceIsInactive
	case g.percent(5), r.model.Usage(o.NS).Tasks > 1 && g.percent(40):
		o.Status = task.NamespaceIsPurging
	}
	for _, ns := range others { // sometimes while something runs there
		if r.model.Usage(ns).Running > 0 && g.percent(20) {
			o.NS, o.Status = ns, task.NamespaceIsPurging
		}
	}
	if g.percent(15) {
		o.NS = pick(g, []string{"", task.SystemNamespace, "no-namespace"})
	}
	if g.percent(3) {
		o.Status = task.NamespaceIsPurged
	}
	return o
}

// quota makes no quota, or a quota that the namespace has nearly reached.
func (g *generator) quota(r *Run, ns string) *task.Quota {
	q, u := task.Quota{}, r.model.Usage(ns)
	switch g.rng.IntN(4) {
	case 0:
		q.MaxTasks = max(u.Tasks+u.Owed+g.rng.Int64N(3)-1, 1)
	case 1:
		q.MaxBytes = max(u.Bytes+g.rng.Int64N(12)-4, 1)
	case 2:
		q.SubmitsPerSecond = 1
		g.late = append(g.late, Op{Verb: "submit", NS: shortNS(ns), ID: pick(g, ids), Behavior: pick(g, behaviors), Priority: 4},
			Op{Verb: "submit", NS: shortNS(ns), ID: pick(g, ids), Behavior: pick(g, behaviors), Priority: 4})
	}
	return &q
}
