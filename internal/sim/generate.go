package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// generator makes up entries. It looks at the model to make most of them plausible; the rest is what a cluster sees on
// a bad day: repeats, late and reordered reports, wrong proofs, tokens of other tasks, clocks that jump.
type generator struct {
	rng     *rand.Rand
	wall    task.Time
	lease   task.LeaseTime
	term    uint64
	clients []*client
	sent    []Op // what may be sent again
	late    []Op // what is on its way
	modules int
	proofs  map[string]int // the number of each worker's directory: a new one has a new secret
}

// client is a proposing process (SPEC H4).
type client struct{ process, seq, acked uint64 }

func newGenerator(seed uint64) *generator {
	return &generator{
		rng: rand.New(rand.NewPCG(seed, 0)), wall: 1_700_000_000_000, lease: 1000, term: 1,
		clients: []*client{{process: 1}, {process: 2}, {process: 3}}, proofs: map[string]int{},
	}
}

var (
	ids        = []string{"task-0", "task-1", "task-2", "task-3", "task-4", "task-5", "task-6", "task-7", "task-8", "task-9"}
	behaviors  = []string{"alpha", "beta", "gamma"}
	workers    = []string{"worker-0", "worker-1", "worker-2", "worker-3"}
	errorCodes = []string{
		task.CodeHandlerError, task.CodeTrap, task.CodeTimeout, task.CodeOutOfMemory, task.CodeOutOfFuel, task.CodeCancelled, "mine",
	}
)

func pick[T any](g *generator, from []T) T { return from[g.rng.IntN(len(from))] }

func (g *generator) percent(n int) bool { return g.rng.IntN(100) < n }

// step makes the next entry.
func (g *generator) step(r *Run) Step {
	if !g.percent(15) || !g.onTime(r) {
		g.advance()
	}
	s := Step{Term: g.term, Now: g.wall, Lease: g.lease}
	if g.percent(3) { // a header that goes back: the stamper never does that, the machine must not care
		s.Now -= task.Time(g.rng.IntN(10_000))
	}
	if g.percent(3) {
		s.Lease = max(0, s.Lease-task.LeaseTime(g.rng.IntN(10_000)))
	}
	for i := range replicas {
		if g.percent(5) {
			s.Freeze = append(s.Freeze, i)
		}
		if g.percent(4) {
			s.Thaw = append(s.Thaw, i)
		}
	}
	for range 1 + g.rng.IntN(3) {
		s.Ops = append(s.Ops, g.ops(r)...)
	}
	return s
}

// advance moves the stamper's clocks.
func (g *generator) advance() {
	small := func() int64 { return g.rng.Int64N(400) }
	w := small()
	l := w
	switch n := g.rng.IntN(200); {
	case n < 12:
		w = 500 + g.rng.Int64N(6000)
		l = w
	case n < 18: // the wall clock was set forward
		w = 3_600_000
	case n < 24: // the wall clock was set back: the stamper holds it
		w = 0
	case n < 26: // retention
		w = g.rng.Int64N(15 * 24 * 3_600_000)
	case n < 32: // several entries at one time
		w, l = 0, 0
	case n < 36: // an election
		g.term++
		w = 1000 + g.rng.Int64N(20_000)
		l = g.rng.Int64N(3000)
	}
	g.wall += task.Time(w)
	g.lease += task.LeaseTime(l)
}

// onTime moves the clocks to when the machine wants a Tick, or one millisecond before: where the borders are.
func (g *generator) onTime(r *Run) bool {
	wall, lease := r.Machine().NextTick()
	early := g.rng.Int64N(2)
	w, l := wall-task.Time(early), lease-task.LeaseTime(early)
	moved := false
	if w > g.wall && w < g.wall+20_000 {
		g.wall, moved = w, true
	}
	if l > g.lease && l < g.lease+20_000 && (!moved || g.percent(50)) {
		g.lease, moved = l, true
	}
	return moved
}

// ops makes one command, or the few that a leader's plan is.
func (g *generator) ops(r *Run) []Op {
	switch {
	case len(g.late) > 0 && g.percent(10):
		i := g.rng.IntN(len(g.late))
		o := g.late[i]
		g.late = append(g.late[:i], g.late[i+1:]...)
		return []Op{o}
	case len(g.sent) > 0 && g.percent(8):
		o := pick(g, g.sent)
		if g.percent(30) {
			o = g.origin(o) // the client itself asks again
		}
		return []Op{o}
	case g.percent(15):
		return g.plan(r)
	}
	o := g.command(r)
	if o.Verb != "assign" && o.Verb != "renew" && o.Verb != "tick" && g.percent(70) {
		o = g.origin(o)
	}
	if g.sent = append(g.sent, o); len(g.sent) > 40 {
		g.sent = g.sent[1:]
	}
	if g.percent(6) {
		g.late = append(g.late, o)
		return nil
	}
	return []Op{o}
}

// origin gives o a fresh origin.
func (g *generator) origin(o Op) Op {
	if g.percent(1) { // a process that the machine does not know, or no longer
		o.Process, o.Seq, o.Lowest = 100+g.rng.Uint64N(5), 1+g.rng.Uint64N(3), 1+g.rng.Uint64N(3)
		return o
	}
	if g.percent(1) {
		g.clients[g.rng.IntN(len(g.clients))] = &client{process: 1000 + g.rng.Uint64N(1_000_000)}
	}
	c := pick(g, g.clients)
	c.seq++
	if g.percent(40) {
		c.acked += g.rng.Uint64N(c.seq - c.acked)
	}
	o.Process, o.Seq, o.Lowest = c.process, c.seq, c.acked+1
	return o
}

// plan turns what the machine plans into operations.
func (g *generator) plan(r *Run) []Op {
	var ops []Op
	for _, a := range r.replicas[0].m.Plan(r.free(g.rng.IntN(3)), 1+g.rng.IntN(5)) {
		o := Op{Verb: "assign", NS: shortNS(a.Key.Namespace), ID: a.Key.ID}
		o.Worker, o.Nth = r.symbols.name(a.Session)
		ops = append(ops, o)
	}
	return ops
}

func shortNS(ns string) string {
	if ns == task.DefaultNamespace {
		return ""
	}
	return ns
}

// command makes one command.
func (g *generator) command(r *Run) Op {
	if len(r.model.Behaviors) < 2 && g.percent(50) {
		return g.activate()
	}
	weights := []struct {
		n    int
		make func(*Run) Op
	}{
		{24, g.submit}, {12, g.assign}, {18, g.finish}, {9, g.beat}, {5, g.snooze}, {3, g.giveBack}, {6, g.cancel},
		{2, g.remove}, {7, g.open}, {10, g.renew}, {2, g.close},
		{2, func(*Run) Op { return g.activate() }}, {10, func(*Run) Op { return Op{Verb: "tick"} }},
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
	o := Op{Verb: verb, ID: pick(g, ids)}
	if g.percent(5) {
		o.NS = task.SystemNamespace
	}
	return o
}

func (g *generator) text(what string) *string {
	s := fmt.Sprintf(`{%q:%d}`, what, g.rng.IntN(3))
	if g.percent(10) {
		s = "null"
	}
	return &s
}

func (g *generator) submit(r *Run) Op {
	o := g.task("submit")
	o.Behavior, o.If, o.Priority = pick(g, behaviors), task.IfExists(g.rng.IntN(4)), 4
	if run := r.running(); len(run) > 0 && g.percent(15) { // while it runs: the flag of I3
		t := pick(g, run)
		o.NS, o.ID, o.If = shortNS(t.Namespace), t.ID, task.Resubmit
	}
	if t := r.model.Tasks[o.key()]; t != nil && g.percent(90) {
		o.Behavior = t.Behavior
	}
	if g.percent(2) {
		o.Behavior = "nobody"
	}
	if g.percent(1) {
		o.NS = "no-namespace"
	}
	if g.percent(60) {
		o.Params = g.text("p")
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
	if due := r.due(); len(due) > 0 && g.percent(80) {
		t := pick(g, due)
		o.NS, o.ID = shortNS(t.Namespace), t.ID
	}
	if g.percent(10) {
		o.Age = g.rng.IntN(3)
	}
	g.session(r, &o)
	return o
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
	if g.percent(45) {
		o.Error, o.Permanent = pick(g, errorCodes), g.percent(25)
		return o
	}
	if g.percent(85) {
		o.Result = g.text("r")
	}
	return o
}

func (g *generator) beat(r *Run) Op {
	o := g.token(r, "beat")
	if g.percent(70) {
		o.Progress = g.text("g")
	}
	if g.percent(40) {
		o.Checkpoint = g.text("c")
	}
	return o
}

func (g *generator) snooze(r *Run) Op {
	o := g.token(r, "snooze")
	if g.percent(50) {
		o.At = g.wall + task.Time(g.rng.Int64N(4000)) - 500
	}
	if g.percent(30) {
		o.Checkpoint = g.text("c")
	}
	return o
}

func (g *generator) giveBack(r *Run) Op {
	o := g.token(r, "giveback")
	o.Report = 0
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

func (g *generator) remove(*Run) Op { return g.task("remove") }

func (g *generator) open(r *Run) Op {
	w := pick(g, workers)
	if g.percent(15) {
		g.proofs[w]++ // a worker of the same name with another directory
	}
	o := Op{Verb: "open", Worker: w, Slots: 1 + g.rng.Int64N(4), TTL: task.Millis(2000 + 1000*g.rng.Int64N(9))}
	o.Proof = fmt.Sprintf("%s/%d", w, g.proofs[w])
	if g.percent(60) {
		o.Node = "node-" + w[len(w)-1:]
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

func (g *generator) close(r *Run) Op {
	o := Op{Verb: "close"}
	g.session(r, &o)
	return o
}

func (g *generator) activate() Op {
	o := Op{Verb: "activate"}
	n := g.modules
	if n > 0 && g.percent(35) { // the same again, or back to an older one
		n = g.rng.IntN(n)
	} else {
		g.modules++
	}
	o.Module = fmt.Sprintf("m%d", n)
	// What a module contains depends on its number alone: a version names one policy.
	fixed := &generator{rng: rand.New(rand.NewPCG(uint64(n), 1))}
	for i, b := range behaviors {
		if fixed.percent(60) || n%len(behaviors) == i {
			o.Behaviors = append(o.Behaviors, fixed.policy(b))
		}
	}
	if n%7 == 6 {
		o.NS = task.SystemNamespace
	}
	return o
}

func (g *generator) policy(name string) Policy {
	return Policy{
		Name: name, MaxAttempts: g.rng.Int64N(4), InitialInterval: pick(g, []task.Millis{0, 100, 1000}),
		Multiplier: pick(g, []int64{1000, 1500, 2000}), MaxInterval: pick(g, []task.Millis{800, 3000, 3_600_000}),
		Jitter: pick(g, []int64{0, 10, 50}), MaxLost: 1 + g.rng.Int64N(3),
		KeepSuccess: pick(g, []task.Millis{5000, 3_600_000, 3 * 24 * 3_600_000}),
		KeepFailure: pick(g, []task.Millis{5000, 3_600_000, 14 * 24 * 3_600_000}),
		Required:    g.percent(20),
	}
}
