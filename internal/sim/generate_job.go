package sim

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/jobs"
)

// job starts a bulk job, or goes on with one (SPEC Q3).
func (g *generator) job(r *Run) Op {
	all := task.Jobs(r.Machine())
	active := slices.DeleteFunc(slices.Clone(all), (*task.Job).Ended)
	if len(active) == 0 || g.percent(20) {
		return g.startJob(r)
	}
	x := pick(g, active)
	if g.percent(6) { // one that has ended, perhaps
		x = pick(g, all)
	}
	o := Op{Job: slices.Index(r.symbols.jobs, x.Number) + 1}
	switch {
	case g.percent(4):
		o.Job += 1 + g.rng.IntN(3)
		fallthrough
	case g.percent(6), x.Selected > 100 && g.percent(40):
		if o.Verb = "endjob"; g.percent(40) {
			o.Error, o.Data = "no_leader", "nobody leads"
		}
	case x.State == jobs.Acting && !g.percent(3):
		g.stepJob(r, x, &o)
	default:
		g.selectJob(r, &o)
	}
	return o
}

// jobsAtOnce goes on with a job, when something has just changed that is of importance to it.
func (g *generator) jobsAtOnce(r *Run) []Op {
	active := slices.DeleteFunc(task.Jobs(r.Machine()), (*task.Job).Ended)
	if len(active) < 2 {
		return []Op{g.startJob(r)}
	}
	x := pick(g, active)
	o := Op{Job: slices.Index(r.symbols.jobs, x.Number) + 1}
	if x.State == jobs.Selecting {
		g.selectJob(r, &o)
		if len(o.Blobs) == 0 {
			return []Op{o}
		}
		note := Op{Verb: "note", Blob: o.Blobs[0], Size: sizeOf(o.Blobs[0])}
		ready := note
		ready.On = true
		return []Op{note, ready, o}
	}
	g.stepJob(r, x, &o)
	ns := shortNS(x.Namespace)
	switch {
	case x.Action == jobs.Resubmit && g.percent(60):
		return []Op{{Verb: "space", NS: ns, Quota: &task.Quota{SubmitsPerSecond: 1}}, o}
	case slices.Contains(others, ns) && g.percent(20):
		return []Op{{Verb: "status", NS: ns, Status: task.NamespaceIsPurging}, o}
	case x.By == 1 && g.percent(20):
		return []Op{{Verb: "root", On: true}, o, {Verb: "root"}}
	case x.By > 1 && g.percent(20):
		if token := r.model.Token(x.By); token != nil {
			return []Op{{Verb: "revoke", Name: token.Name}, o}
		}
	}
	return []Op{o}
}

func (g *generator) startJob(r *Run) Op {
	o := Op{Verb: "job", NS: g.namespace(), Action: 1 + g.rng.Uint64N(4), Size: 1 + g.rng.Int64N(100_000)}
	if there := slices.Sorted(maps.Keys(r.model.Access)); len(there) > 0 && g.percent(60) {
		o.By = pick(g, there)
	}
	if there := r.spaces(task.NamespaceIsActive); len(there) > 0 && g.percent(20) {
		o.NS = pick(g, there)
	}
	switch again := g.percent(40); {
	case again && o.Action == uint64(jobs.Retry):
		o.Version, o.Keep, o.Delay = pick(g, []string{"", task.VersionActive, "m1", "m2"}), g.percent(50), task.Millis(g.rng.Int64N(900))
	case again && o.Action == uint64(jobs.Resubmit):
		o.Delay = task.Millis(g.rng.Int64N(900))
	case again && g.percent(8):
		o.Size, o.Delay = pick(g, []int64{0, 1, 100_001}), pick(g, []task.Millis{-1, 1})
	}
	text := pick(g, []string{"", "null", `{"odd":1}`, `{"status":["dead"]}`, `{} {}`})
	if !g.percent(4) {
		f := map[string]any{}
		for range g.rng.IntN(3) {
			g.filter(f)
		}
		b, err := json.Marshal(f)
		if err != nil {
			panic(err) // plain values
		}
		text = string(b)
	}
	o.Params = &text
	return o
}

// filter adds a field to a filter.
func (g *generator) filter(f map[string]any) {
	near := func() int64 { return int64(g.wall) - g.rng.Int64N(8000) }
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		f["status"] = []string{pick(g, []string{"CREATED", "RUNNING", "SUCCESS", "FAILURE", "RETRYING", "DEAD"}), pick(g, []string{"FAILURE", "DEAD", "CREATED"})}
	case 3, 4:
		f["behavior"] = []string{pick(g, []string{"alpha", "beta", "*a", "a*p*", "*", "del*", "*ps*n"})}
	case 5, 6:
		f["label"] = []map[string]string{{"name": "l", "value": pick(g, behaviors)}}
	case 7:
		f["final"] = g.percent(70)
	case 8:
		f["id_prefix"] = pick(g, []string{"task-", "task-1", "op-", "x"})
	case 9:
		f["error"] = []string{pick(g, errorCodes), task.CodeCancelled}
	case 10:
		f[pick(g, []string{"created", "started", "finished"})] = map[string]int64{"from": near(), "to": near() + 6000}
	case 11:
		f["due_before"] = near() + 4000
		if g.percent(50) {
			delete(f, "due_before")
			f["worker"] = pick(g, workers)
		}
	}
}

// selectJob says how many tasks a job is about, in a blob that is there, mostly.
func (g *generator) selectJob(r *Run, o *Op) {
	o.Verb, o.Size = "select", 1+g.rng.Int64N(6)
	o.Blobs = []string{pick(g, blobs)}
	for range 4 {
		if b := r.model.Blobs[digestOf(o.Blobs[0])]; b == nil || !b.Ready {
			o.Blobs[0] = pick(g, blobs)
		}
	}
	switch n := g.rng.IntN(100); {
	case n < 4:
		o.Size, o.Blobs = 0, nil
	case n < 8:
		o.Size, o.Blobs = jobs.PerBlob+1, append(o.Blobs, o.Blobs[0])
	case n < 12:
		o.Size = pick(g, []int64{-1, 0, jobs.PerBlob + 1, jobs.MaxTasks + 1})
	}
	if o.Age = g.rng.IntN(2); g.percent(6) {
		o.Age = g.rng.IntN(4)
	}
}

// stepJob lets some tasks have their turn, most of them such as the job is for.
func (g *generator) stepJob(r *Run, x *task.Job, o *Op) {
	o.Verb = "step"
	if g.percent(5) {
		o.Max = pick(g, []int64{-1, 1})
	}
	meant := r.tasks(func(t *task.Task) bool { return t.Namespace == x.Namespace && task.Matches(t, x.Filter()) })
	for range 1 + g.rng.Int64N(min(3, x.Selected-x.Position)) {
		p := Op{NS: shortNS(x.Namespace), ID: pick(g, ids)}
		if len(meant) > 0 && g.percent(75) {
			p.ID = pick(g, meant).ID
		} else if g.percent(30) {
			p = g.task("")
		}
		if p.Verb = ""; g.percent(8) {
			p.Age = 1
		}
		o.Parts = append(o.Parts, Part{Kind: "turn", Op: p})
	}
	if g.percent(3) {
		o.Parts = slices.Repeat(o.Parts, 1+g.rng.IntN(9))
	}
}
