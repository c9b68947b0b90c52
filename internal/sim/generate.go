package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// generator makes up entries. It looks at the model to make most of them plausible. The other entries are a cluster's
// bad day: repeats, late and reordered reports, wrong proofs, tokens of other tasks, clocks that jump.
type generator struct {
	rng     *rand.Rand
	wall    task.Time
	lease   task.LeaseTime
	term    uint64
	clients []*client
	sent    []Op // what may be sent again
	late    []Op // what is on its way
	modules int
	proofs  map[string]int    // the number of each worker's directory: a new one has a new secret
	hellos  map[string]uint64 // per proof: the number of the last opening
	records int               // of the TaskStore: their data is unique, so that a claim shows what it took
	focus   focus
	parts   []*task.Task // of operations
}

// focus is what a seed does more often than others: rare events need runs in which many things come together.
type focus uint64

const (
	onTasks focus = iota
	onSpaces
	onOperations
	onUpkeep
	onJobs
	focuses
)

// more returns n, or several times as much if the seed's focus is f.
func (g *generator) more(f focus, n int) int {
	if g.focus == f {
		return 4 * n
	}
	return n
}

// client is a proposing process (SPEC H4).
type client struct{ process, seq, acked uint64 }

func newGenerator(seed uint64) *generator {
	return &generator{
		rng: rand.New(rand.NewPCG(seed, 0)), wall: 1_700_000_000_000, lease: 1000, term: 1,
		clients: []*client{{process: 1}, {process: 2}, {process: 3}}, proofs: map[string]int{},
		hellos: map[string]uint64{}, focus: focus(seed) % focuses,
	}
}

var (
	ids        = []string{"task-0", "task-1", "task-2", "task-3", "task-4", "task-5", "task-6", "task-7", "task-8", "task-9"}
	behaviors  = []string{"alpha", "beta", "gamma"} // of modules, mostly
	externals  = []string{"delta", "epsilon"}       // mostly
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
	if g.percent(3) { // a header that goes back: the stamper never makes one, and the machine must not care
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
	g.parts = r.tasks(func(t *task.Task) bool { return t.Role != task.RoleNone })
	for range 1 + g.rng.IntN(3) {
		s.Ops = append(s.Ops, g.ops(r)...)
	}
	s.Ops = importLast(s.Ops)
	for i := range s.Ops {
		o := &s.Ops[i]
		o.ID = r.symbols.symbolic(*o)
		for j := range o.Parts {
			o.Parts[j].ID = r.symbols.symbolic(o.Parts[j].Op)
		}
	}
	return s
}

// importLast leaves at most one import, at the end: nobody knows the IDs of its records before the entry is over.
func importLast(ops []Op) []Op {
	i := slices.IndexFunc(ops, func(o Op) bool { return o.Verb == "import" })
	if i < 0 {
		return ops
	}
	last := ops[i]
	return append(slices.DeleteFunc(slices.Clone(ops), func(o Op) bool { return o.Verb == "import" }), last)
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

// onTime moves the clocks to the time when the machine wants a Tick, or one millisecond before it, because errors hide at such borders.
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

// ops makes one command, or the few commands of a leader's plan.
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
	case g.percent(8):
		return g.keepAlive(r)
	case g.focus == onUpkeep && g.percent(15):
		return g.upkeepAtOnce(r)
	case g.focus == onJobs && g.percent(12):
		return g.jobsAtOnce(r)
	case g.percent(18):
		return g.plan(r)
	}
	o := g.by(r, g.command(r))
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
	if o.Verb == "submit" && g.percent(40) {
		return []Op{o, g.fresh(r, o)}
	}
	return []Op{o}
}

// fresh assigns the task that the submit makes, in the same entry.
func (g *generator) fresh(r *Run, submit Op) Op {
	o := Op{Verb: "assign", NS: submit.NS, ID: submit.ID, Fresh: true}
	if slices.Contains(externals, submit.Behavior) != g.percent(5) {
		g.acceptor(&o)
	} else {
		g.session(r, &o)
	}
	return o
}

// origin gives o a fresh origin.
func (g *generator) origin(o Op) Op {
	if g.percent(8) { // an Idempotency-Key: there are few of them, some with another request
		o.Process, o.Body, o.Seq, o.Lowest = 500+g.rng.Uint64N(10), 1, 1, 1
		if g.percent(15) {
			o.Body = 2
		}
		if g.percent(15) { // a later command of the request, or the first of its second part
			o.Seq = 2
			o.Lowest += g.rng.Uint64N(2)
		}
		return o
	}
	o.Body = 0
	if g.percent(1) { // a process that the machine does not know, or knows no longer
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
		if e := a.External; e != nil {
			o.External, o.Worker, o.Lease, o.At, o.Request = true, e.Worker, e.Lease, e.MaxNotBefore, e.Request
		} else {
			o.Worker, o.Nth = r.symbols.name(a.Session)
		}
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
