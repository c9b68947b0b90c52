package sim

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

var blobs = []string{"b1", "b22", "b333"}

// blob names a blob, or the file of a module.
func (g *generator) blob() string {
	if g.percent(30) {
		return fmt.Sprintf("m%d", g.rng.IntN(g.modules+1))
	}
	return pick(g, blobs)
}

// note says that a blob is coming, or that it is there.
func (g *generator) note(r *Run) Op {
	o := Op{Verb: "note", Blob: g.blob(), On: g.percent(60)}
	if o.Size = sizeOf(o.Blob); g.percent(3) {
		o.Size = g.rng.Int64N(12) - 1
	}
	if r.model.Blobs[digestOf(o.Blob)] == nil && g.percent(80) {
		o.On = false
	}
	if o.On && g.percent(60) { // counted from the first note, or from an earlier record that is gone
		o.Valid = 1 + g.rng.IntN(5)/4
	}
	return o
}

// referring makes a payload that is a blob, or that names blobs.
func (g *generator) referring() *string {
	s := "@" + pick(g, blobs)
	switch n := g.rng.IntN(100); {
	case n < 5:
		s = "@!" + pick(g, blobs)
	case n < 50:
		s = "#" + pick(g, blobs) + "#" + pick(g, blobs)
	}
	return &s
}

// upkeep makes and runs the task of maintenance.
func (g *generator) upkeep(r *Run) Op {
	k := task.MaintenanceKey()
	t := r.model.Tasks[k]
	if t == nil && g.percent(90) {
		o := Op{Verb: "submit", NS: k.Namespace, ID: k.ID, Behavior: pick(g, behaviors), Priority: 9}
		for range 3 {
			if r.model.Behaviors[task.Key{Namespace: k.Namespace, ID: o.Behavior}] == nil {
				o.Behavior = pick(g, behaviors)
			}
		}
		return o
	}
	o := Op{Verb: "maintain"}
	switch {
	case t == nil:
	case t.Lease != nil && g.percent(3):
		return Op{Verb: "remove", NS: k.Namespace, ID: k.ID}
	case t.Lease != nil && g.percent(80):
		return g.runUpkeep(r, t)
	case g.percent(2):
		return Op{Verb: "remove", NS: k.Namespace, ID: k.ID}
	case t.Status == task.Success && t.NotBefore == 0 && g.percent(5): // ended, and no run has asked for it
		return Op{Verb: "remove", NS: k.Namespace, ID: k.ID}
	case g.percent(15):
		return g.renew(r)
	}
	if g.percent(50) {
		o.Params = g.text("dry")
	}
	if t != nil && g.percent(40) {
		o.Attempt = max(t.Attempt+g.rng.Int64N(3)-1, 0)
	}
	return o
}

// hold makes, renews or ends one of two holds on blobs. None lives long, or no blob would ever be dropped.
func (g *generator) hold(*Run) Op {
	o := Op{Verb: "hold", Name: fmt.Sprintf("backup-%d", g.rng.IntN(2)), Node: "n", TTL: task.Millis(1 + g.rng.IntN(300)), On: g.percent(40)}
	switch {
	case g.percent(30):
		o.TTL = 0
	case g.percent(5):
		o.TTL = 600_001
	case g.percent(3):
		o.Name = ""
	}
	return o
}

// upkeepAtOnce makes several commands of a run: there is little time until its lease ends, because everything else happens too.
func (g *generator) upkeepAtOnce(r *Run) []Op {
	if len(r.spaces(task.NamespaceIsPurging, task.NamespaceIsPurged)) == 0 && g.percent(40) {
		ns := g.other()
		if r.model.Spaces[ns] != nil && r.model.Usage(ns) == (task.Usage{}) && g.percent(80) { // with something in it first
			return []Op{{Verb: "import", NS: ns, Parts: []Part{{Kind: "task", Op: Op{ID: pick(g, ids)}}, {Kind: "record", Op: Op{Record: g.record(r)}}}}}
		}
		return []Op{{Verb: "space", NS: ns, Create: true}, {Verb: "status", NS: ns, Status: task.NamespaceIsPurging}}
	}
	t := r.model.Tasks[task.MaintenanceKey()]
	if t == nil || t.Lease == nil {
		return []Op{g.upkeep(r)}
	}
	var ops []Op
	for range 1 + g.rng.IntN(4) {
		ops = append(ops, g.runUpkeep(r, t))
	}
	return ops
}

// runUpkeep makes a command of a maintenance run.
func (g *generator) runUpkeep(r *Run, t *task.Task) Op {
	o := Op{Attempt: t.Attempt, Max: g.rng.Int64N(9)}
	if g.percent(8) {
		o.Attempt -= 1 + g.rng.Int64N(2)
	}
	o.Verb = pick(g, []string{"record", "drop-blobs", "drop-tasks", "drop-operations", "trim", "purge", "purge", "end-purge"})
	purging := r.spaces(task.NamespaceIsPurging, task.NamespaceIsPurged)
	if len(purging) > 0 && g.percent(40) {
		o.Verb = "purge"
	}
	switch o.Verb {
	case "record":
		o.On, o.Existing, o.Keep = g.percent(50), g.percent(30), g.percent(40)
	case "drop-blobs":
		o.At = g.wall - task.Time(g.rng.Int64N(4000))
		for range 1 + g.rng.IntN(4) {
			o.Blobs = append(o.Blobs, g.blob())
		}
	case "drop-tasks":
		for range 1 + g.rng.IntN(4) {
			p := g.task("")
			if g.percent(15) {
				p.Age = 1
			}
			o.Parts = append(o.Parts, Part{Kind: "drop", Op: p})
		}
	case "drop-operations":
		for _, x := range allOperations(r.Machine()) {
			p := Op{NS: shortNS(x.Namespace), ID: x.ID}
			if g.percent(15) {
				p.Age = 1
			}
			o.Parts = append(o.Parts, Part{Kind: "drop", Op: p})
		}
	case "trim":
		o = g.trim(r, o)
	case "purge", "end-purge":
		o.NS = g.other()
		if len(purging) > 0 && g.percent(90) {
			o.NS = pick(g, purging)
			if u := r.model.Usage(o.NS); u == (task.Usage{}) && g.percent(80) {
				o.Verb = "end-purge"
			}
		}
		if gone := r.spaces(task.NamespaceIsPurged); len(gone) > 0 && g.percent(50) {
			o.Verb, o.NS = "end-purge", pick(g, gone)
		}
		if o.For = task.Millis(g.rng.Int64N(3)) * 500; g.percent(4) {
			o.NS = pick(g, []string{"", "no-namespace"})
		}
	}
	return o
}

// spaces returns the names of the namespaces that come and go and have one of the statuses.
func (r *Run) spaces(statuses ...task.NamespaceStatus) []string {
	return slices.DeleteFunc(slices.Clone(others), func(ns string) bool {
		n := r.model.Spaces[ns]
		return n == nil || !slices.Contains(statuses, n.Status)
	})
}

// trim names a behavior, mostly a behavior that is being purged.
func (g *generator) trim(r *Run, o Op) Op {
	named := g.named(r, "trim")
	o.NS, o.Behavior = named.NS, named.Behavior
	for _, ns := range namespaces {
		for _, name := range slices.Concat(behaviors, externals) {
			if b := r.model.Behaviors[task.Key{Namespace: ns, ID: name}]; b != nil && b.Purge && g.percent(60) {
				o.NS, o.Behavior = shortNS(ns), name
			}
		}
	}
	if g.percent(12) {
		o.Max = 1001
	}
	return o
}

// importing takes up some of the records of another namespace.
func (g *generator) importing(r *Run) Op {
	o := Op{Verb: "import", NS: g.other(), From: pick(g, []string{"", "", others[0], others[1]})}
	if g.percent(10) {
		o.NS, o.From = "", others[0]
	}
	for _, name := range slices.Concat(behaviors, externals) {
		if g.percent(50) {
			o.Parts = append(o.Parts, Part{Kind: "behavior", Op: Op{Behavior: name, On: g.percent(5)}})
		}
	}
	for _, id := range operations {
		if g.percent(50) {
			o.Parts = append(o.Parts, Part{Kind: "operation", Op: Op{ID: id}})
		}
	}
	for range g.rng.IntN(5) {
		o.Parts = append(o.Parts, Part{Kind: "task", Op: Op{ID: g.task("").ID}})
	}
	for range g.rng.IntN(3) {
		o.Parts = append(o.Parts, Part{Kind: "record", Op: Op{Record: g.record(r)}})
	}
	return o
}
