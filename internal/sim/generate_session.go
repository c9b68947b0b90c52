package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

func (g *generator) open(r *Run) Op {
	w := pick(g, workers)
	if g.percent(15) {
		g.proofs[w]++ // a worker of the same name with another directory
	}
	o := Op{Verb: "open", Worker: w, Slots: 1 + g.rng.Int64N(4), TTL: task.Millis(2000 + 1000*g.rng.Int64N(9))}
	o.Proof = fmt.Sprintf("%s/%d", w, g.proofs[w])
	if g.percent(70) {
		g.hellos[o.Proof]++
		o.Hello = g.hellos[o.Proof]
		if g.percent(20) { // it was held up, and a later one came first
			o.Hello = 1 + g.rng.Uint64N(o.Hello)
		}
	}
	if g.percent(60) {
		o.Node = "node-" + w[len(w)-1:]
	}
	switch {
	case g.percent(15), g.percent(60) && len(r.tasks(func(t *task.Task) bool { return t.Suspect })) > 0:
		o.Alone, o.Slots = true, 1+g.rng.Int64N(12)/11
	case g.percent(30):
		o.Apart = true
	}
	return o
}

// crash ends a session whose process died, with some of its runs at work. Sometimes it says so late, or wrongly.
func (g *generator) crash(r *Run) Op {
	o := Op{Verb: "crash"}
	g.session(r, &o)
	s := r.model.Sessions[r.symbols.session(o)]
	for _, id := range slices.Sorted(maps.Keys(r.model.Sessions)) { // prefer a session that runs a suspect, because such sessions are rare
		if x := r.model.Sessions[id]; x.Alone && len(r.model.Leases(id)) > 0 && g.percent(60) {
			s = x
		}
	}
	o.Worker = cmp.Or(s.Worker, o.Worker)
	o.Nth, o.Proof, o.Hello = 0, string(s.Proof), s.Hello+1
	if g.percent(5) {
		o.Proof += "?"
	}
	if g.percent(10) {
		o.Hello = g.rng.Uint64N(s.Hello + 1)
	}
	for _, t := range r.model.Leases(s.ID) {
		if g.percent(70) {
			o.Parts = append(o.Parts, Part{Kind: "ran", Op: Op{NS: shortNS(t.Namespace), ID: t.ID, Attempt: t.Attempt}})
		}
	}
	return o
}

func (g *generator) renew(r *Run) Op {
	o := Op{Verb: "renew"}
	g.session(r, &o)
	if s := r.model.Sessions[r.symbols.session(o)]; s.Seq > 0 && g.percent(70) {
		o.Acked = 1 + g.rng.Uint64N(s.Seq)
	}
	return o
}

// keepAlive renews everything that runs: without it, hardly a run would live until its run_timeout.
func (g *generator) keepAlive(r *Run) []Op {
	var ops []Op
	for _, id := range slices.Sorted(maps.Keys(r.model.Sessions)) {
		o := Op{Verb: "renew"}
		o.Worker, o.Nth = r.symbols.name(id)
		ops = append(ops, o)
	}
	for _, t := range r.running() {
		if t.Lease.Session == 0 {
			ops = append(ops, Op{Verb: "beat", NS: shortNS(t.Namespace), ID: t.ID, Attempt: t.Attempt, External: true})
		}
	}
	return ops
}

func (g *generator) close(r *Run) Op {
	o := Op{Verb: "close"}
	g.session(r, &o)
	return o
}

// drain names nodes: mostly nodes of running tasks, and also some that no worker has.
func (g *generator) drain(r *Run) Op {
	o := Op{Verb: "drain", Node: fmt.Sprintf("node-%d", g.rng.IntN(5)), On: g.percent(55)}
	run := r.tasks(func(t *task.Task) bool { return t.Lease != nil && t.Lease.Node != "" })
	if len(run) > 0 && g.percent(70) {
		t := pick(g, run)
		o.Node, o.On = t.Lease.Node, g.percent(75)
		snooze := Op{Verb: "snooze", NS: shortNS(t.Namespace), ID: t.ID, Attempt: t.Attempt, Report: t.Lease.Report + 1}
		g.late = append(g.late, snooze) // to come when the node is drained
	}
	if g.percent(3) {
		o.Node = ""
	}
	return o
}

// member settles something about one of three nodes, often again. Rarely another cluster begins.
func (g *generator) member(*Run) Op {
	if g.percent(3) {
		return Op{Verb: "refound", On: g.percent(40)}
	}
	o := Op{Verb: "member", Node: fmt.Sprintf("node-%d", g.rng.IntN(3)), Hello: uint64(1 + g.rng.IntN(2)), On: g.percent(20)}
	if g.percent(50) {
		o.Name = fmt.Sprintf("instance-%d", g.rng.IntN(30))
	}
	if g.percent(3) {
		o.Node = ""
	}
	return o
}
