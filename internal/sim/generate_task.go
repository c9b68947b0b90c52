package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// keys are concurrency keys.
var keys = []string{"red", "blue"}

// command makes one command.
func (g *generator) command(r *Run) Op {
	if len(r.model.Behaviors) < 2 && g.percent(50) {
		return g.activate(r)
	}
	if n := r.model.Spaces[task.DefaultNamespace]; n.Status != task.NamespaceIsActive && g.percent(20) {
		return Op{Verb: "status", Status: task.NamespaceIsActive}
	} else if n.Quota != (task.Quota{}) && g.percent(6) {
		return Op{Verb: "space", Quota: &task.Quota{}}
	}
	weights := []struct {
		n    int
		make func(*Run) Op
	}{
		{24, g.submit}, {12, g.assign}, {18, g.finish}, {9, g.beat}, {7, g.snooze}, {4, g.giveBack},
		{6, g.cancel}, {2, g.remove}, {7, g.open}, {10, g.renew}, {2, g.close}, {3, g.crash}, {4, g.activate},
		{10, func(*Run) Op { return Op{Verb: "tick"} }},
		{5, g.retry}, {4, g.put}, {2, g.rollback}, {3, g.deleteBehavior},
		{3, g.pause}, {6, g.drain}, {2, g.member}, {g.more(onUpkeep, 1), g.hold}, {g.more(onJobs, 3), g.job}, {8, g.txn}, {7, g.storeUpdate}, {5, g.claim},
		{g.more(onOperations, 3), g.startOperation}, {g.more(onOperations, 3), g.operation},
		{g.more(onUpkeep, 5), g.upkeep}, {g.more(onUpkeep, 3), g.note},
		{g.more(onSpaces, 3), g.access}, {1, g.refusals}, {g.more(onSpaces, 2), g.importing}, {g.more(onSpaces, 2), g.space}, {g.more(onSpaces, 2), g.status},
	}
	total := 0
	for _, w := range weights {
		total += w.n
	}
	n := g.rng.IntN(total)
	for _, w := range weights {
		if n -= w.n; n < 0 {
			return w.make(r)
		}
	}
	panic("unreachable")
}

func (g *generator) task(verb string) Op {
	if len(g.parts) > 0 && g.percent(g.more(onOperations, 3)) {
		t := pick(g, g.parts)
		return Op{Verb: verb, NS: shortNS(t.Namespace), ID: t.ID}
	}
	return Op{Verb: verb, ID: pick(g, ids), NS: g.namespace()}
}

func (g *generator) text(what string) *string {
	if what != "g" && g.percent(g.more(onUpkeep, 9)) { // not progress
		return g.referring()
	}
	s := fmt.Sprintf(`{%q:%d}`, what, g.rng.IntN(3))
	if g.percent(10) {
		s = "null"
	}
	if what == "g" && g.percent(10) { // which may become a result
		s = `{"$blob":"sha256:` + digestOf(pick(g, blobs)) + `"}`
	}
	return &s
}

// traced returns the number of a trace, or 0. It draws nothing, so that seeds that were chosen for what they meet still meet it.
func (g *generator) traced() task.Time {
	if g.wall%3 != 0 {
		return 0
	}
	return g.wall
}

func (g *generator) submit(r *Run) Op {
	o := g.task("submit")
	o.Trace = g.traced()
	o.Behavior, o.If, o.Priority = pick(g, behaviors), task.IfExists(g.rng.IntN(4)), 4
	if run := r.running(); len(run) > 0 && g.percent(15) { // while it runs: the flag of I3
		t := pick(g, run)
		o.NS, o.ID, o.If = shortNS(t.Namespace), t.ID, task.Resubmit
	}
	if g.percent(30) {
		o.Behavior = pick(g, externals)
	}
	if t := r.model.Tasks[o.key()]; t != nil && g.percent(90) {
		o.Behavior = t.Behavior
	}
	if g.percent(70) {
		o.Key = pick(g, keys)
	}
	if g.percent(25) {
		o.Valid = 1 + g.rng.IntN(8)/7
	}
	if o.If == task.Resubmit && g.percent(20) {
		if o.Existing = true; g.percent(70) {
			o.Behavior, o.Valid = "", 0
		}
	}
	if g.percent(2) {
		o.Behavior = "nobody"
	}
	if g.percent(g.more(onOperations, 2)) {
		o.ID = pick(g, operations) + ":7"
	}
	if g.percent(60) {
		o.Params = g.text("p")
	}
	o.Marks = g.percent(20)
	if g.percent(10) {
		o.Parent = pick(g, ids)
	}
	switch g.rng.IntN(6) {
	case 0:
		o.At = g.wall + task.Time(g.rng.Int64N(6000)) - 1000
	case 1:
		o.Delay = task.Millis(g.rng.Int64N(2000))
	case 2:
		if t := r.model.Tasks[o.key()]; t != nil {
			o.At = t.NotBefore // exactly the same time
		}
	}
	if g.percent(15) {
		o.Deadline = g.wall + task.Time(g.rng.Int64N(8000))
	}
	if g.percent(30) {
		o.Priority = int8(g.rng.IntN(10))
		if g.percent(30) { // nearly equal in the order of T4
			o.At = g.wall - 700_000 + 60_000*task.Time(o.Priority) + task.Time(g.rng.Int64N(3))
		}
	}
	if g.percent(20) {
		o.Label = pick(g, behaviors)
	}
	return o
}

func (g *generator) assign(r *Run) Op {
	o := g.task("assign")
	due := r.due()
	switch n := g.rng.IntN(100); {
	case n < 30: // also tasks that a key blocks
		due = r.waiting(0)
	case n < 33+g.more(onSpaces, 3): // or tasks that their namespace keeps from running
		due = r.tasks(func(t *task.Task) bool { return r.model.Due(t, 0) && !r.model.Active(t.Namespace) })
	}
	if len(due) > 0 && g.percent(80) {
		t := pick(g, due)
		o.NS, o.ID = shortNS(t.Namespace), t.ID
	}
	if g.percent(10) {
		o.Age = g.rng.IntN(3)
	}
	o.Fresh = g.percent(3) // the task is not fresh
	t := r.model.Tasks[o.key()]
	external := t != nil && slices.Contains(externals, t.Behavior)
	if external != g.percent(5) {
		g.acceptor(&o)
		return o
	}
	g.session(r, &o)
	return o
}

// acceptor makes o an assignment to a program that accepts tasks over HTTP.
func (g *generator) acceptor(o *Op) {
	o.External, o.Worker = true, pick(g, []string{"program-0", "program-1"})
	if g.percent(50) {
		o.Lease = task.Millis(1000 * (1 + g.rng.Int64N(5)))
	}
	if g.percent(5) {
		o.Lease = pick(g, []task.Millis{999, 3_600_001})
	}
	if g.percent(30) {
		o.At = g.wall + task.Time(g.rng.Int64N(3000)) - 500
	}
	if g.percent(50) {
		o.Request = pick(g, []string{"request-0", "request-1", "request-2"})
	}
}

// session names one of the worker's sessions, mostly the last.
func (g *generator) session(r *Run, o *Op) {
	o.Worker = pick(g, workers)
	if live := slices.Sorted(maps.Keys(r.model.Sessions)); len(live) > 0 && g.percent(80) {
		o.Worker = r.model.Sessions[pick(g, live)].Worker
	}
	n := len(r.symbols.sessions[o.Worker])
	if o.Nth = n; g.percent(10) {
		o.Nth = g.rng.IntN(n + 2)
	}
}

// token names a token, mostly of a task that runs.
func (g *generator) token(r *Run, verb string) Op {
	o := g.task(verb)
	if run := r.running(); len(run) > 0 && g.percent(85) {
		t := pick(g, run)
		o.NS, o.ID = shortNS(t.Namespace), t.ID
	}
	o.Report = 1 + g.rng.Uint64N(3)
	t := r.model.Tasks[o.key()]
	if t == nil {
		o.Attempt = g.rng.Int64N(4)
		return o
	}
	o.Attempt = t.Attempt
	if t.Lease != nil {
		o.External = (t.Lease.Session == 0) != g.percent(4) // a report that came the wrong way
	}
	if t.Lease != nil && g.percent(80) {
		o.Report = t.Lease.Report + 1
	} else if g.percent(20) {
		o.Report = 0 // not numbered
	}
	switch n := g.rng.IntN(100); {
	case n < 12 && t.Attempt > 0: // a token that has ended
		o.Attempt = g.rng.Int64N(t.Attempt + 1)
	case n < 18:
		o.Of = pick(g, ids)
	}
	return o
}

func (g *generator) finish(r *Run) Op {
	o := g.token(r, "finish")
	if g.percent(20) {
		o.Progress = g.text("g")
	}
	if t := r.model.Tasks[o.key()]; g.percent(45) && (t == nil || t.Role == task.RoleNone || g.percent(35)) {
		o.Error, o.Permanent = pick(g, errorCodes), g.percent(25)
	} else if g.percent(85) {
		o.Result = g.text("r")
	}
	if !o.Permanent && g.percent(15) {
		o.Again = g.wall + task.Time(g.rng.Int64N(3000)) - 500
	}
	o.Fuel, o.Pages = g.fuel(o.External), g.pages(o.External)
	o.InTxn = g.percent(8)
	return o
}

// fuel is the fuel that a run used, or that it cannot have used.
func (g *generator) fuel(external bool) int64 {
	switch n := g.rng.IntN(100); {
	case n < 1:
		return pick(g, []int64{-1, task.MaxFuel + 1})
	case n < 2:
		return task.MaxFuel
	case n < 30, external && n < 97:
		return 0
	}
	return 1 + g.rng.Int64N(1000)
}

// pages is fuel for memory.
func (g *generator) pages(external bool) int64 {
	switch n := g.rng.IntN(100); {
	case n < 1:
		return pick(g, []int64{-1, task.MaxFuel / task.PageBytes, task.MaxFuel/task.PageBytes + 1})
	case n < 40, external && n < 98:
		return 0
	}
	return 1 + g.rng.Int64N(100)
}

func (g *generator) beat(r *Run) Op {
	o := g.token(r, "beat")
	if g.percent(70) {
		o.Progress = g.text("g")
	}
	if g.percent(40) {
		o.Checkpoint = g.text("c")
	}
	if o.External && g.percent(30) {
		o.Lease = task.Millis(1000 * (1 + g.rng.Int64N(8)))
	}
	if o.External && g.percent(6) {
		o.Lease = pick(g, []task.Millis{-1, 999, 3_600_001})
	}
	if g.percent(40) { // only a renewal
		o.Report, o.Progress, o.Checkpoint = 0, nil, nil
	}
	return o
}

func (g *generator) snooze(r *Run) Op {
	o := g.token(r, "snooze")
	if g.percent(20) {
		o.Progress = g.text("g")
	}
	if g.percent(30) {
		o.At = g.wall + task.Time(g.rng.Int64N(4000)) - 500
	}
	if g.percent(30) {
		o.Checkpoint = g.text("c")
	}
	o.Fuel, o.Pages = g.fuel(o.External), g.pages(o.External)
	return o
}

func (g *generator) giveBack(r *Run) Op {
	o := g.token(r, "giveback")
	o.Report, o.Fuel, o.Pages = 0, g.fuel(o.External), g.pages(o.External)
	return o
}

func (g *generator) cancel(r *Run) Op {
	o := g.task("cancel")
	if run := r.running(); len(run) > 0 && g.percent(40) {
		t := pick(g, run)
		o.NS, o.ID = shortNS(t.Namespace), t.ID
	}
	return o
}

func (g *generator) retry(r *Run) Op {
	o := g.task("retry")
	if failed := r.failed(); len(failed) > 0 && g.percent(70) {
		t := pick(g, failed)
		o.NS, o.ID = shortNS(t.Namespace), t.ID
	}
	switch g.rng.IntN(5) {
	case 0:
		o.At = g.wall + task.Time(g.rng.Int64N(3000)) - 500
	case 1:
		o.Delay = task.Millis(g.rng.Int64N(2000))
	}
	if g.percent(15) {
		o.Deadline = g.wall + task.Time(g.rng.Int64N(8000))
	}
	if g.percent(50) {
		o.Version, o.Keep = task.VersionActive, g.percent(30)
		if t := r.model.Tasks[o.key()]; t != nil && g.percent(70) {
			if b := r.model.Behavior(t); len(b.Versions) > 0 {
				o.Version = pick(g, b.Versions).Version[len(versionPrefix):]
			}
		} else if g.percent(50) {
			o.Version = fmt.Sprintf("m%d", g.rng.IntN(g.modules+1))
		}
		if t := r.model.Tasks[o.key()]; t != nil && t.Version != "" && g.percent(30) { // the version that the task has
			o.Version = t.Version[len(versionPrefix):]
		}
	}
	return o
}

func (g *generator) remove(*Run) Op { return g.task("remove") }
